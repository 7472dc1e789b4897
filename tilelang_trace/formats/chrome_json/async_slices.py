"""Async slices of Chrome JSON (phases b, e and n): what one thread begins and another ends.

Those of one category and id nest in each other. They stand on rows that have the name of the first
of them, below the process where it began; what is over makes room for the next id, so that there
are as many rows as slices at one time. That is how Perfetto groups them.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from tilelang_trace.formats.chrome_json.ids import Id
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Lane
from tilelang_trace.trace.named_ends import NamedSlices


@dataclass(frozen=True, slots=True)
class AsyncEvent:
    """One of these events; times in ns."""

    time: int
    number: int
    phase: str
    name: str
    category: str
    group: tuple[Id, ...]
    """What it shares with those that it nests with."""
    process: int
    row: int
    """The row of what begins here in the builder, -1 for an end."""
    arguments: dict[str, Json]


@dataclass(slots=True)
class _Group:
    """What has one category and id."""

    slices: NamedSlices
    rows: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """When something of it was open, in order."""
    lanes: list[int] = field(default_factory=list)
    """The place among the rows of its name for each of these times."""


class AsyncSlices:
    """Collects async events, and puts their slices onto lanes of a builder at the end."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._events: list[AsyncEvent] = []
        self._groups: dict[tuple[Id, ...], _Group] = {}

    def take(self, event: AsyncEvent) -> None:
        """Take an event, in the order of the file."""
        self._events.append(event)

    def last_time(self) -> int | None:
        """The time of the last event, None if there is none."""
        return max((event.time for event in self._events), default=None)

    def pair(self, ended: Callable[[AsyncEvent, int | None, int], None]) -> None:
        """Pair begins and ends; tells for each of them its slice, and by how much it was moved."""
        self._events.sort(key=attrgetter("time"))
        for event in self._events:
            group = self._groups.get(event.group)
            if group is None:
                group = self._groups[event.group] = _Group(NamedSlices(self._builder))
            slices = group.slices
            if event.phase == "b":
                slices.begin(event.row, event.time, event.name, event.category)
                group.rows.append(event.row)
                ended(event, event.row, slices.moved)
            elif event.phase == "e":
                row = slices.end(event.time, event.name, event.category)
                ended(event, row, 0 if row is None else slices.moved)

    def close(self, last: int) -> list[tuple[int, str]]:
        """What never ended, as `NamedSlices.finish`; it ends at the time `last`."""
        return [left for group in self._groups.values() for left in group.slices.finish(last)]

    def stand_on_lanes(self) -> None:
        """Make lanes for all that was taken, after all have begun and ended."""
        builder = self._builder
        of_name: dict[tuple[int, str], list[_Group]] = {}
        named: set[tuple[Id, ...]] = set()
        for event in self._events:
            group = self._groups[event.group]
            if event.group not in named and (group.rows or event.phase == "n"):
                named.add(event.group)
                of_name.setdefault((event.process, event.name), []).append(group)
        first: dict[int, int] = {}
        for (process, name), groups in of_name.items():
            start = len(builder.lanes)
            for k in range(_arrange(groups, builder)):
                number = f" lane {k + 1}" if k else ""
                builder.lane(Lane(process=process, name=f"{name}{number}"))
            for group in groups:
                first[id(group)] = start
                self._place(group, start)
        for event in self._events:
            if event.phase == "n":
                group = self._groups[event.group]
                at = bisect_right(group.spans, (event.time, 1 << 63)) - 1
                inside = at >= 0 and event.time <= group.spans[at][1]
                lane = first[id(group)] + (group.lanes[at] if inside else 0)
                builder.instant(lane, event.time, event.name, event.category, event.arguments)

    def _place(self, group: _Group, start: int) -> None:
        for row in group.rows:
            at = bisect_right(group.spans, (self._builder.begins[row], 1 << 63)) - 1
            self._builder.slice_lanes[row] = start + group.lanes[at]


def _arrange(groups: list[_Group], builder: TraceBuilder) -> int:
    """Give each time of each group the first lane that is free then; returns how many it takes."""
    spans = []
    for group in groups:
        for row in sorted(group.rows, key=builder.begins.__getitem__):
            begin, end = builder.begins[row], builder.ends[row]
            if group.spans and begin < group.spans[-1][1]:
                group.spans[-1] = group.spans[-1][0], max(group.spans[-1][1], end)
            else:
                group.spans.append((begin, end))
        group.lanes = [0] * len(group.spans)
        spans += [(begin, end, group, k) for k, (begin, end) in enumerate(group.spans)]
    spans.sort(key=lambda span: span[0])
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    count = 0
    for begin, end, group, k in spans:
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, count = count, count + 1
        heapq.heappush(busy, (end, lane))
        group.lanes[k] = lane
    return max(count, 1)
