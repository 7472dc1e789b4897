"""Slices from begin and end events: one stack a lane, with times that only grow."""

from __future__ import annotations

from tilelang_trace.trace.build import TraceBuilder


class OpenSlices:
    """The open slices of one lane, in a builder, while its begin and end events are read in order.

    Times are made true on the way: an event is never earlier than the one before it, and a slice
    lasts at least 1 ns, so that siblings that a coarse clock gave one time stay siblings.
    """

    def __init__(self, builder: TraceBuilder, lane: int) -> None:
        self._builder = builder
        self._lane = lane
        self.rows: list[int] = []
        """Rows of the open slices in the builder, outermost first."""
        self.moved = 0
        """By how much the last event was moved, ns."""
        self._time: int | None = None
        """Time of the last event, ns; a trace may begin below zero."""

    def begin(self, time: int, name: str, category: str) -> int:
        """Open a slice; returns its row in the builder."""
        begun = self._not_before(time)
        self.moved = begun - time
        row = self._builder.slice(self._lane, begun, begun + 1, name, category)
        self.rows.append(row)
        return row

    def end(self, time: int) -> int | None:
        """Close the innermost open slice; returns its row, None if none is open."""
        if not self.rows:
            return None
        row = self.rows.pop()
        ended = self._not_before(max(time, self._builder.begins[row] + 1))
        self._builder.ends[row] = ended
        self.moved = ended - time
        return row

    def _not_before(self, time: int) -> int:
        if self._time is not None and time < self._time:
            time = self._time
        self._time = time
        return time
