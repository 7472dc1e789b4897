"""Limits for input that may come from a stranger: no file takes more than so much time or memory.

What is beyond a limit is refused, in one line that says which limit, and how to set it higher: the
environment variable `TILELANG_TRACE_LIMITS`, as in `unpacked_bytes=8GiB,nesting=1000`; or `using`,
in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from tilelang_trace.errors import UserError

VARIABLE = "TILELANG_TRACE_LIMITS"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True)
class Limits:
    """How much a file may be. Sizes are in bytes, lengths in characters."""

    file_bytes: int = 4 << 30
    """Of a file as it lies on the disk."""
    unpacked_bytes: int = 2 << 30
    """Of all that comes out of one compressed file, or of one archive."""
    unpacked_times: int = 250
    """What is larger than 256 MiB may be so many times as large as it is compressed: traces shrink
    to a tenth or a fiftieth, bombs to a thousandth.
    """
    members: int = 10_000
    """Files in an archive."""
    nesting: int = 400
    """Levels of lists and objects in one value of JSON, or of messages in protobuf."""
    text: int = 64 << 20
    """Of one string."""
    tracks: int = 1_000_000
    """Processes, threads, lanes and counters together."""


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current() -> Limits:
    """The limits that are in force here. Raises UserError if the variable can't be read."""
    limits = _limits.get()
    if limits is None:
        limits = read(os.environ.get(VARIABLE, ""))
        _limits.set(limits)
    return limits


@contextmanager
def using(limits: Limits) -> Iterator[None]:
    """Put other limits in force, for this thread and block."""
    token = _limits.set(limits)
    try:
        yield
    finally:
        _limits.reset(token)


def read(text: str) -> Limits:
    """The usual limits with those that the text sets. Raises UserError."""
    names = [field.name for field in fields(Limits)]
    limits = Limits()
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = map(str.strip, part.partition("="))
        digits = value.rstrip("KMGiB")
        unit = _UNITS.get(value[len(digits) :])
        if name not in names or unit is None or not digits.isdecimal():
            raise UserError(
                f"{VARIABLE}: {part!r} sets no limit: there is {', '.join(names)}, each with a "
                "whole number behind =, also as 8GiB or 5M"
            )
        limits = replace(limits, **{name: int(digits) * unit})
    return limits


def exceeded(what: str, name: str) -> UserError:
    """The error for a file in which something (`what`, in words) is beyond the limit `name`."""
    most = getattr(current(), name)
    return UserError(f"refused: {what}, the most is {most}; to allow more: {VARIABLE}={name}=...")
