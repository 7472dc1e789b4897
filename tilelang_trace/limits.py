"""Limits for input that may come from a stranger: no file takes more than so much time or memory.

What is beyond a limit is refused, in one line that says which limit, and how to set it higher: the
environment variable `TILELANG_TRACE_LIMITS`, as in `unpacked_bytes=8GiB,members=20K`, the same
behind `--limits`, or `using` in Python. The defaults are far above the traces that people make.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from tilelang_trace.errors import UserError

VARIABLE = "TILELANG_TRACE_LIMITS"

DEEPEST = 90
"""The most that `nesting` can be, so that every format can hold the value: the library of protobuf
reads 100 levels, of which a packet has some around it, and orjson writes 254.
"""
_MOST_ROWS = 2**31 - 1
"""A Trace numbers its rows in 32 bits."""

_MOST_BYTES = 1 << 62
_MOST = dict.fromkeys(("events", "strings", "tracks"), _MOST_ROWS) | {"nesting": DEEPEST}

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_VALUE = re.compile(rf"([0-9]{{1,18}})({'|'.join(_UNITS)})")


@dataclass(frozen=True)
class Limits:
    """How much an input may be: whole numbers from 1. Raises UserError for anything else.

    The docstrings of the fields are the rows of the table in README.md.
    """

    file_bytes: int = 4 << 30
    """Of a file as it lies on the disk."""
    unpacked_bytes: int = 4 << 30
    """Of all that comes out of one compressed file, of one archive, or of the compressed packets of
    one file.
    """
    unpacked_times: int = 250
    """What is larger than 256 MiB may be so many times as large as it is compressed."""
    members: int = 10_000
    """Files in an archive."""
    nesting: int = DEEPEST
    """Levels of lists and objects in one argument."""
    text: int = 64 << 20
    """Characters of one name or text."""
    strings: int = 20_000_000
    """Different names and texts."""
    events: int = 100_000_000
    """Slices; instants; values of counters; flows: so many of each."""
    tracks: int = 1_000_000
    """Processes; threads; lanes; counters: so many of each."""

    def __post_init__(self) -> None:
        """Check the values."""
        for field in fields(self):
            value, most = getattr(self, field.name), _MOST.get(field.name, _MOST_BYTES)
            if type(value) is not int or not 1 <= value <= most:
                raise UserError(f"limit {field.name}={value}: a whole number from 1 to {most}")


UNLIMITED = Limits(**{f.name: _MOST.get(f.name, _MOST_BYTES) for f in fields(Limits)})
"""For what is no input."""

_in_force: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current() -> Limits:
    """The limits that are in force here. Raises UserError if the variable can't be read."""
    return _in_force.get() or read(os.environ.get(VARIABLE, ""))


@contextmanager
def using(limits: Limits) -> Iterator[None]:
    """Put other limits in force, for this thread and block:

    with limits.using(limits.Limits(unpacked_bytes=8 << 30)):
        trace = tilelang_trace.read("large.json.gz")
    """
    token = _in_force.set(limits)
    try:
        yield
    finally:
        _in_force.reset(token)


@lru_cache(maxsize=8)
def read(text: str) -> Limits:
    """The usual limits with those that the text sets. Raises UserError."""
    names = [field.name for field in fields(Limits)]
    limits = Limits()
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = map(str.strip, part.partition("="))
        found = _VALUE.fullmatch(value)
        if name not in names or found is None:
            raise UserError(
                f"{VARIABLE}: {part!r} sets no limit: there is {', '.join(names)}, each with a "
                "whole number behind =, also as 8GiB or 5M"
            )
        limits = replace(limits, **{name: int(found[1]) * _UNITS[found[2]]})
    return limits


def exceeded(what: str, name: str) -> UserError:
    """The error for an input in which something (`what`, in words: "a text of 80 MiB") is beyond
    the limit `name`.
    """
    most = getattr(current(), name)
    text = f"refused: {what}, the most is {shown(name, most)}"
    if 2 * most <= _MOST.get(name, _MOST_BYTES):
        text += f"; to allow more: {VARIABLE}={name}={shown(name, 2 * most, '')}"
    return UserError(text)


def shown(name: str, value: int, space: str = " ") -> str:
    """A limit in words: `4 GiB`, `20,000`. Without a space it can be read again."""
    if not name.endswith("_bytes"):
        return f"{value:,}" if space else str(value)
    unit = next(u for u in ("GiB", "MiB", "KiB", "") if value % _UNITS[u] == 0)
    return f"{value // _UNITS[unit]}{space}{unit or (space and 'bytes')}"
