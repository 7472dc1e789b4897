"""Slices from begin and end events: one stack a lane, with times that only grow.

`OpenSlices` goes from event to event; `paired` takes all of many lanes at once. Ends that say what
they end are another matter: `named_ends` here, for JSON, and `formats.pftrace.named_ends`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Ids, Ints, Mask


class InOrder:
    """The begins and ends of one lane, whose slices are in a builder, while they are read in order.

    Times are made true on the way: an event is never earlier than the one before it, and a slice
    lasts at least 1 ns, so that siblings that a coarse clock gave one time stay siblings.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self.moved = 0
        """By how much the last event was moved, ns."""
        self._time: int | None = None
        """Time of the last event, ns; a trace may begin below zero."""

    def _begun(self, time: int) -> int:
        """When what begins then really does."""
        begun = time if self._time is None else max(time, self._time)
        self.moved, self._time = begun - time, begun
        return begun

    def _end(self, row: int, time: int) -> None:
        """Let a slice end then, or as soon as it can."""
        ended = self._begun(max(time, self._builder.begins[row] + 1))
        self.moved = ended - time
        self._builder.ends[row] = ended


class OpenSlices(InOrder):
    """The open slices of one lane, of which an end ends the innermost."""

    def __init__(self, builder: TraceBuilder, lane: int) -> None:
        super().__init__(builder)
        self._lane = lane
        self.rows: list[int] = []
        """Rows of the open slices in the builder, outermost first."""

    def begin(self, time: int, name: str, category: str) -> int:
        """Open a slice; returns its row in the builder."""
        begun = self._begun(time)
        row = self._builder.slice(self._lane, begun, begun + 1, name, category)
        self.rows.append(row)
        return row

    def end(self, time: int) -> int | None:
        """Close the innermost open slice; returns its row, None if none is open."""
        if not self.rows:
            return None
        row = self.rows.pop()
        self._end(row, time)
        return row


@dataclass(frozen=True)
class Pairs:
    """The slices of many begin and end events, in the order of their begins."""

    begin: Ints
    end: Ints
    """1 ns after the begin where there is no end."""
    is_open: Mask
    """Whether there is no end."""
    of_event: Ids
    """Which slice an event begins or ends: -1 for an end where none is open."""


def paired(lane: Ids, time: Ints, begins: Mask) -> Pairs:
    """What `OpenSlices` makes of events: those of a lane stand together, in the order of time.

    The level of a begin is that of its slice, and so is that of an end. Among the events of one
    level begins and ends take turns, so that an end belongs to the begin before it. That holds for
    lanes in which each end has a begin and no time has to be mended; the others are walked.
    """
    count = len(time)
    # Half of the memory of NumPy's usual integers: these are the longest columns of all.
    slice_number = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    first = np.flatnonzero(np.diff(lane, prepend=lane[:1] - 1))
    lane_number = np.repeat(np.arange(len(first), dtype=np.int32), np.diff(first, append=count))
    step = np.where(begins, np.int8(1), np.int8(-1))
    depth = np.cumsum(step, dtype=np.int32)
    before = depth[first] - step[first]
    level = depth - before[lane_number] - begins
    del depth, step
    stray = lane_number[level < 0]

    # Small integers are sorted in linear time.
    level -= level.min(initial=0)
    small = np.uint16 if level.max(initial=0) < 1 << 16 else np.int32
    by_level = np.argsort(level.astype(small), kind="stable")
    del level
    opening, closing = by_level[:-1], by_level[1:]
    is_pair = begins[opening] & ~begins[closing] & (lane_number[opening] == lane_number[closing])
    opening, closing = opening[is_pair], closing[is_pair]
    del by_level, is_pair
    pairs = Pairs(
        time[begins],
        time[begins] + 1,
        np.ones(np.count_nonzero(begins), np.bool_),
        np.where(begins, slice_number, np.int32(-1)),
    )
    pairs.of_event[closing] = slice_number[opening]
    pairs.end[slice_number[opening]] = time[closing]
    pairs.is_open[slice_number[opening]] = False
    empty = lane_number[closing[time[closing] <= time[opening]]]
    for number in sorted({*stray.tolist(), *empty.tolist()}):
        stop = first[number + 1] if number + 1 < len(first) else count
        _walk(slice(int(first[number]), int(stop)), time, begins, slice_number, pairs)
    return pairs


def _walk(events: slice, time: Ints, begins: Mask, slice_number: Ids, pairs: Pairs) -> None:
    """Put the slices of one lane right, event by event."""
    first = int(slice_number[events.start]) + (not begins[events.start])
    scratch = TraceBuilder()
    stack = OpenSlices(scratch, 0)
    found: list[int] = []
    for at, is_begin in zip(time[events].tolist(), begins[events].tolist()):
        row = stack.begin(at, "", "") if is_begin else stack.end(at)
        found.append(-1 if row is None else first + row)
    pairs.of_event[events] = found
    slices = slice(first, first + len(scratch.begins))
    pairs.begin[slices] = scratch.begins
    pairs.end[slices] = scratch.ends
    pairs.is_open[slices] = False
    pairs.is_open[[first + row for row in stack.rows]] = True
