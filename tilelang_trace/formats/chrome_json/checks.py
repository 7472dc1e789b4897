"""What of Chrome JSON events Perfetto would not show as meant, though we read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tilelang_trace.formats import envelope
from tilelang_trace.formats.chrome_json import times
from tilelang_trace.formats.chrome_json.ids import shown
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.nesting import too_deep
from tilelang_trace.trace.rules import (
    COARSE_TIME,
    COLOUR,
    NEGATIVE_TIME,
    ODD_NUMBER,
    SHIFTED,
    TOO_DEEP,
)

THREAD_TIMES = ("tts", "tdur")
"""Times of a thread's own clock."""

_TIMES = ("ts", "dur", *THREAD_TIMES)
"""What Perfetto takes for a number in any event."""


class Checks:
    """Looks at events of other tools, one by one."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._has_colour = False

    def event(self, number: int, event: Mapping[str, Json], phase: str, ts: times.Exact) -> None:
        """Look at an event that is read."""
        whole, _ = ts
        if whole < 0:
            self._tell(number, NEGATIVE_TIME, f"'ts' is {shown(event['ts'])}: kept")
        elif whole > envelope.EXACT_NS and event["ts"].__class__ is not int:
            time, theirs = times.nanoseconds(ts), times.as_perfetto_reads(event["ts"])
            if theirs is not None and theirs != time:
                done = f"read exactly, {abs(theirs - time)} ns off in Perfetto"
                self._tell(number, COARSE_TIME, done)
        if "cname" in event and not self._has_colour:
            self._has_colour = True
            self._tell(number, COLOUR, f"{shown(event['cname'])} is left out")
        self.numbers(number, event, phase)

    def numbers(self, number: int, event: Mapping[str, Json], phase: str) -> None:
        """Look at what has to be a number, whether it is read or not."""
        for key in _TIMES:
            value = event.get(key, 0)
            if value.__class__ is float or value.__class__ is int or times.is_plain(value):
                continue
            if not (phase == "X" and key == "dur" and times.exact(value) is None):  # told anyway
                self._tell(number, ODD_NUMBER, f"{key!r} is {shown(value)}")

    def depth(self, builder: TraceBuilder, number_of: Callable[[int], int]) -> None:
        """Look at how deep slices are; `number_of` is the number of the event of a row."""
        columns = (builder.slice_lanes, builder.begins, builder.ends)
        for row in too_deep(*map(np.array, columns)).tolist():
            self._tell(number_of(row), TOO_DEEP, "kept")

    def begins(
        self, builder: TraceBuilder, begun: Sequence[int], number_of: Callable[[int], int]
    ) -> None:
        """Look for slices of X events that begin with what is around them: that Perfetto puts them
        first, where it is the row of a B (`begun`).
        """
        if not begun:
            return
        is_begun = np.zeros(len(builder.begins), bool)
        is_begun[begun] = True
        lane, begin, end = map(np.array, (builder.slice_lanes, builder.begins, builder.ends))
        order = np.lexsort((-end, begin, lane))
        outer, inner = order[:-1], order[1:]
        is_first = (lane[outer] == lane[inner]) & (begin[outer] == begin[inner])
        for row in inner[is_first & is_begun[outer] & ~is_begun[inner]].tolist():
            self._tell(number_of(row), SHIFTED, "nested as the times and the file say")
