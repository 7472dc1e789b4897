"""Begins and ends of slices in Chrome JSON (phases B and E): which belong together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import NamedTuple

from tilelang_trace.formats.chrome_json.async_slices import AsyncEvent, AsyncSlices
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.named_ends import NamedSlices
from tilelang_trace.trace.rules import END_WITHOUT_BEGIN, NEVER_ENDED, SHIFTED


class BeginOrEnd(NamedTuple):
    """One of these events; its time in ns."""

    time: int
    number: int
    row: int
    """The row of what begins here, -1 for an end."""
    name: str
    category: str
    arguments: dict[str, Json]


_Key = tuple[Hashable, int, str]
"""What an end and its begin share if they are at one time: the thread or id, the time, the name."""


class BeginsAndEnds:
    """Collects begins and ends, and gives the slices of a builder their ends and arguments."""

    def __init__(self, builder: TraceBuilder, tell: Tell) -> None:
        self._builder, self._tell = builder, tell
        self._in_lanes: dict[int, list[BeginOrEnd]] = {}
        self._arguments: dict[int, dict[str, Json]] = {}
        """Arguments of the slices; of one name the end's counts."""
        self._early: dict[_Key, deque[BeginOrEnd | AsyncEvent]] = {}
        """Ends with no begin before them: it may come later, at the same time."""
        self._late: dict[int, _Key] = {}
        """Rows that begin so."""

    def take(self, lane: int, event: BeginOrEnd) -> None:
        """Take an event of a thread, in the order of the file."""
        self._in_lanes.setdefault(lane, []).append(event)

    def rows(self) -> list[int]:
        """The rows of what begins on threads."""
        return [each.row for events in self._in_lanes.values() for each in events if each.row >= 0]

    def pair(self, asynchronous: AsyncSlices, number_of: Callable[[int], int]) -> None:
        """Pair those of each thread, and the async ones, in the order of time; `number_of` is the
        number of the event that a row came from.
        """
        last_times = [max(event.time for event in events) for events in self._in_lanes.values()]
        last_times.append(asynchronous.last_time() or 0)
        last = max((*self._builder.ends, *last_times))
        left: list[tuple[int, str]] = []
        for lane, events in self._in_lanes.items():
            events.sort(key=attrgetter("time"))
            slices = NamedSlices(self._builder)
            for event in events:
                found: int | None = event.row
                if event.row >= 0:
                    slices.begin(event.row, event.time, event.name, event.category)
                else:
                    found = slices.end(event.time, event.name, event.category)
                    if slices.was_passed and found is not None:
                        done = "begins when what is around it ends: comes after it"
                        self._tell(number_of(found), SHIFTED, done)
                self._paired(lane, event, found, 0 if found is None else slices.moved)
            left += slices.finish(last)
        asynchronous.pair(lambda event, row, moved: self._paired(event.group, event, row, moved))
        left += asynchronous.close(last)
        left = [(row, done) for row, done in left if not self._is_ended_early(row)]
        for early in self._early.values():
            for end in early:
                self._tell(end.number, END_WITHOUT_BEGIN, "left out")
        for row, done in left:
            self._tell(number_of(row), NEVER_ENDED, done)
        for row, arguments in self._arguments.items():
            self._builder.arguments.add(row, arguments)

    def _paired(
        self, where: Hashable, event: BeginOrEnd | AsyncEvent, row: int | None, moved: int
    ) -> None:
        """What a begin or end belongs to, and by how much it was moved to come after others."""
        if row is None:
            self._early.setdefault((where, event.time, event.name), deque()).append(event)
            return
        if event.row >= 0 and self._early:
            key = where, event.time, event.name
            if key in self._early:
                self._late[row] = key
        if moved:
            self._tell(event.number, SHIFTED, f"moved by {moved} ns")
        self._arguments.setdefault(row, {}).update(event.arguments)

    def _is_ended_early(self, row: int) -> bool:
        """Whether what else never ended has its end in front of it, at the same time: some tools
        sort events by time alone. It lasts no time, then.
        """
        early = self._early.get(self._late[row]) if row in self._late else None
        if not early:
            return False
        end = early.popleft()
        self._builder.ends[row] = self._builder.begins[row]
        self._tell(end.number, SHIFTED, "taken for the end of what begins behind it")
        self._arguments[row].update(end.arguments)
        return True
