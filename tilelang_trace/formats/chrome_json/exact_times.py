"""Times that a double can't hold to the nanosecond, as their digits."""

from __future__ import annotations

import re
from typing import Any

import orjson

from tilelang_trace.trace.json_values import Json

EXACT_US = float(2**42)
"""Doubles below this are less than a nanosecond apart, as microseconds."""
_KEYS = ("ts", "dur")
_TIME = re.compile(rb'("(?:ts|dur)"\s*:\s*)(-?[0-9][0-9.eE+-]*)')


def with_exact_times(text: bytes, events: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The events that this text says, those times that are no integers and far from 0 as texts of
    the digits that stand there.
    """
    if not any(is_rounded(event.get(key)) for key in _KEYS for event in events):
        return events
    try:
        digits = orjson.loads(b"[%b]" % _TIME.sub(rb'\1"\2"', text))
    except orjson.JSONDecodeError:  # no good JSON, and not mended before
        return events
    for event, as_text in zip(events, digits):
        for key in _KEYS:
            if is_rounded(event.get(key)):
                event[key] = as_text[key]
    return events


def is_rounded(time: Any) -> bool:
    """Whether a time, in microseconds, is a double that may not be what the file says."""
    return time.__class__ is float and not -EXACT_US < time < EXACT_US
