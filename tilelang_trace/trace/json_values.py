"""JSON values as a Trace holds them: what every format can write, in one order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tilelang_trace.limits import DEEPEST, exceeded

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""

_CONTAINERS = (dict, list)


def storable(value: Json, deepest: int = DEEPEST) -> Json:
    """A value that every format can hold, with the keys of objects in order.

    Lone surrogates become U+FFFD, and integers that 64 bits can't hold become text. Raises
    UserError for a value of more levels.
    """
    if isinstance(value, str):
        return value if is_utf8(value) else _without_surrogates(value)
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    if not deepest:
        raise exceeded("a value of more levels", "nesting")
    if isinstance(value, dict):
        clean = {}
        keys = storable_keys(value)
        for key in sorted(keys):
            clean[key] = storable(value[keys[key]], deepest - 1)
        return clean
    items = []
    for item in value:
        items.append(storable(item, deepest - 1))
    return items


def levels(value: Json) -> int:
    """How deep lists and objects lie in each other: 1 of one that holds none."""
    found, layer = 0, [value] if isinstance(value, _CONTAINERS) else []
    while layer:
        found += 1
        layer = [
            part
            for whole in layer
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, _CONTAINERS)
        ]
    return found


def storable_keys(keys: Iterable[str]) -> dict[str, str]:
    """The keys of an object as every format can hold them, each with the key that it stands for.
    Two that differ in lone surrogates alone stay two.
    """
    found: dict[str, str] = {}
    odd = []
    for key in keys:
        if is_utf8(key):
            found[key] = key
        else:
            odd.append(key)
    counts: dict[str, int] = {}
    for key in sorted(odd):
        name = clean = _without_surrogates(key)
        while name in found:
            counts[clean] = counts.get(clean, 1) + 1
            name = f"{clean} {counts[clean]}"
        found[name] = key
    return found


def is_utf8(text: str) -> bool:
    """Whether a text has no lone surrogates, which UTF-8 has no bytes for."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
