"""Ids in Chrome JSON events: of processes and threads, of arrows and of async slices."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.rules import TEXT_ID, WIDE_ID, Rule

Id: TypeAlias = "int | str"

_WIDEST = 2**32
"""Perfetto takes pids and tids below this as they are."""
_INT64 = range(-(2**63), 2**63)
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]+", re.ASCII)


def text(value: Json) -> str:
    """A value as text: as it is, or as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def shown(value: Json) -> str:
    """A value in a message."""
    if value is None:
        return "missing"
    whole = text(value)
    return repr(whole if len(whole) <= 60 else f"{whole[:57]}...")


def row_id(value: Json) -> Id | None:
    """A pid or tid, so that different ones differ; None if there is none."""
    if value is None or value.__class__ is int or value.__class__ is str:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return text(value)


def row_number(id_: Id) -> int | None:
    """A pid or tid as a number that a Trace can hold."""
    return id_ if isinstance(id_, int) and id_ in _INT64 else None


def misread(value: Json) -> Rule | None:
    """The rule that a pid or tid breaks."""
    if isinstance(value, str):
        return TEXT_ID
    id_ = row_id(value)
    fits = id_ is None or (isinstance(id_, int) and 0 <= id_ < _WIDEST)
    return None if fits else WIDE_ID


def async_id(event: Mapping[str, Json]) -> tuple[str, Id] | None:
    """Whether the id of an async event is of one process (`local`) or of all (`global`), and the
    id; None if it has none. The key `id` counts before `id2`, as in Perfetto.
    """
    scope, value = _id_of(event)
    id_ = row_id(value)
    return None if id_ is None else (scope, id_)


def is_async_id_read(event: Mapping[str, Json]) -> bool:
    """Whether Perfetto takes the id of an async event for one: text, or a number of 64 bits."""
    _, value = _id_of(event)
    return value.__class__ is str or (value.__class__ is int and value in _INT64)


def _id_of(event: Mapping[str, Json]) -> tuple[str, Json]:
    if event.get("id") is not None:
        return "global", event["id"]
    both = event.get("id2")
    if isinstance(both, dict):
        for scope in ("global", "local"):
            if both.get(scope) is not None:
                return scope, both[scope]
    return "", None


def flow_id(value: Json) -> tuple[Id | None, bool]:
    """The id of an arrow, text as the hexadecimal number that Perfetto reads it as; and whether
    Perfetto does (text of more than 64 bits is one id for it).
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value % 2**64, value in _INT64
    if isinstance(value, str) and _HEX.fullmatch(value):
        id_ = int(value, 16)
        return id_, id_ < 2**64
    return row_id(value), False
