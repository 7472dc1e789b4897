"""Arrows of Chrome JSON between slices: events s, t and f, and the `bind_id` of slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilelang_trace.formats.chrome_json import ids
from tilelang_trace.formats.chrome_json.ids import Id
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.rules import BAD_FLOW, LOOSE_FLOW, REUSED_FLOW

Arrow = tuple["Id | None", ...]
"""What the ends of one arrow share: the id; of s, t and f also category and name."""


@dataclass(frozen=True, slots=True)
class ArrowEnd:
    """Where an arrow starts (s), goes on (t) or ends (f); time in ns."""

    arrow: Arrow
    phase: str
    time: int
    number: int
    thread: tuple[Id, Id]
    row: int = -1
    """The slice, where the event is one."""
    next_slice: bool = False
    """Whether it belongs to the slice that begins next, and not to the one around it."""


class Arrows:
    """Collects the ends of arrows, and joins slices of a builder at the end."""

    def __init__(self, builder: TraceBuilder, tell: Tell) -> None:
        self._builder, self._tell = builder, tell
        self._ends: list[ArrowEnd] = []

    def take_event(
        self,
        number: int,
        event: Mapping[str, Json],
        phase: str,
        time: int,
        labels: tuple[str, str],
        thread: tuple[Id, Id],
    ) -> None:
        """Take an event of the phases s, t and f, with its name and category."""
        if event.get("id") is None and (own := ids.async_id(event)) is not None:
            self._tell_unread(number, "the id is in 'id2'")
            arrow: Arrow = (own[1], *labels)
        else:
            arrow = self._id(number, event.get("id")), *labels
        next_slice = phase == "f" and event.get("bp") != "e"
        self._ends.append(ArrowEnd(arrow, phase, time, number, thread, next_slice=next_slice))

    def take_slice(
        self,
        number: int,
        event: Mapping[str, Json],
        time: int,
        row: int,
        thread: tuple[Id, Id],
    ) -> None:
        """Take a slice that has a `bind_id`."""
        into, out = event.get("flow_in") is True, event.get("flow_out") is True
        phase = "t" if into and out else "s" if out else "f" if into else ""
        arrow = (self._id(number, event["bind_id"]),)
        end = ArrowEnd(arrow, phase, time, number, thread, row)
        if phase:
            self._ends.append(end)
        else:
            self._leave_out(end, "'bind_id' with neither 'flow_in' nor 'flow_out'")

    def _id(self, number: int, value: Json) -> Id | None:
        id_, is_read = ids.flow_id(value)
        if not is_read:
            self._tell_unread(number, f"the id is {ids.shown(value)}")
        return id_

    def _tell_unread(self, number: int, why: str) -> None:
        self._tell(number, BAD_FLOW, f"{why}: kept")

    def points(self, lanes: dict[tuple[Id, Id], int]) -> set[tuple[int, int]]:
        """Lane and time of the ends that are no slices."""
        return {(lanes.get(end.thread, -1), end.time) for end in self._ends if end.row < 0}

    def join(
        self,
        lanes: dict[tuple[Id, Id], int],
        begun: set[int],
        number_of: Callable[[int], int],
    ) -> None:
        """Join the slices, which have their times now; `lanes` are those of the threads, `begun`
        the rows of events B, and `number_of` the number of the event that a row came from.
        """
        of_arrow: dict[Arrow, list[ArrowEnd]] = {}
        for end in self._bound(lanes):
            if end.row < 0:
                self._leave_out(end, f"{end.phase!r} is at no slice")
                continue
            of_arrow.setdefault(end.arrow, []).append(end)
            is_begun, is_before = end.row in begun, end.number < number_of(end.row)
            if self._is_missed(end, is_begun, is_before):
                self._tell_unread(end.number, f"{end.phase!r} is where its slice begins or ends")
        for ends in of_arrow.values():
            self._join(ends)

    def _leave_out(self, end: ArrowEnd, why: str) -> None:
        self._tell(end.number, LOOSE_FLOW, f"{why}: left out")

    def _join(self, ends: list[ArrowEnd]) -> None:
        """Steps and ends come from the last start or step before them, in the order of time."""
        starts = sum(end.phase == "s" for end in ends)
        # Clocks of several processes differ: a single start is the first, whenever it was.
        ends.sort(key=lambda end: (starts == 1 and _RANK[end.phase], end.time, _RANK[end.phase]))
        source: int | None = None
        for end in ends:
            if end.phase == "s":
                if source is not None:
                    done = "starts the same arrow again: taken for a new one"
                    self._tell(end.number, REUSED_FLOW, done)
                source = end.row
            elif source is None:
                self._leave_out(end, f"{end.phase!r} has no start")
            else:
                self._builder.flows.append((source, end.row))
                if end.phase == "t":
                    source = end.row

    def _is_missed(self, end: ArrowEnd, is_begun: bool, is_before: bool) -> bool:
        """Whether Perfetto, which of one time takes first the events E, then X, then all others as
        the file has them, passes by the slice of this end.
        """
        starts = self._builder.begins[end.row] == end.time
        if end.next_slice:
            return starts and not (is_begun and is_before)
        return is_begun and (self._builder.ends[end.row] == end.time or (starts and is_before))

    def _bound(self, lanes: dict[tuple[Id, Id], int]) -> list[ArrowEnd]:
        """All ends, with the rows of their slices where there are any."""
        bound = [end for end in self._ends if end.row >= 0]
        of_lane: dict[int, list[ArrowEnd]] = {}
        for end in self._ends:
            if end.row < 0:
                of_lane.setdefault(lanes.get(end.thread, -1), []).append(end)
        builder = self._builder
        lane = np.array(builder.slice_lanes, np.int32)
        begin, end_ = np.array(builder.begins, np.int64), np.array(builder.ends, np.int64)
        order = np.lexsort((-end_, begin, lane))
        in_order = lane[order]
        for number, ends in of_lane.items():
            first, last = np.searchsorted(in_order, (number, number + 1))
            rows = order[first:last]
            spans = zip(begin[rows].tolist(), end_[rows].tolist(), rows.tolist())
            bound += _bind(list(spans), ends)
        return bound


_RANK = {"s": 0, "t": 1, "f": 2}


def _bind(spans: list[tuple[int, int, int]], ends: list[ArrowEnd]) -> list[ArrowEnd]:
    """The ends with the rows of the slices that they belong to, of those of one lane (begin, end,
    row), sorted: a slice has its begin, and its end only where no other slice is.
    """
    begins = [begin for begin, _, _ in spans]
    bound = []
    around: list[tuple[int, int]] = []
    ended = (-(1 << 63), -1)
    at = 0
    for end in sorted(ends, key=lambda end: end.time):
        if end.next_slice:
            following = bisect_left(begins, end.time)
            bound.append(replace(end, row=spans[following][2] if following < len(spans) else -1))
            continue
        while at < len(spans) and begins[at] <= end.time:
            begin, stop, row = spans[at]
            around.append((max(stop, begin + 1), row))
            at += 1
        while around and around[-1][0] <= end.time:
            ended = max(ended, around.pop())
        just_ended = ended[1] if ended[0] == end.time else -1
        row = around[-1][1] if around else just_ended
        bound.append(replace(end, row=row))
    return bound
