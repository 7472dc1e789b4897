"""Reads `hidden`: what was left out of a Trace, on the slices around it and in the metadata."""

from __future__ import annotations

from collections.abc import Mapping

from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

HIDDEN = "hidden"
"""Argument of the slice nearest around what was left out; metadata for what had none around it."""


def hidden_passes(trace: Trace) -> tuple[int, int]:
    """How many passes were left out of a Trace, and their time."""
    told = [hidden_of(value) for value in trace.arguments.values(HIDDEN).values()]
    told.append(hidden_of(trace.metadata.get(HIDDEN)))
    return sum(count for count, _ in told), sum(ns for _, ns in told)


def hidden_of(value: Json) -> tuple[int, int]:
    """`count` and `ns` of a `hidden` value, 0 for what is none."""
    # In a file of another tool anything may stand there.
    if not isinstance(value, Mapping):
        return 0, 0
    return _number(value.get("count")), _number(value.get("ns"))


def _number(value: Json) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else 0
