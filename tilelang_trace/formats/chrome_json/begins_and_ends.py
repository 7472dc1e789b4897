"""Begins and ends of slices in Chrome JSON (phases B and E): which belong together."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from tilelang_trace.formats.chrome_json.async_slices import AsyncSlices
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


class BeginsAndEnds:
    """Collects begins and ends, and gives the slices of a builder their ends and arguments."""

    def __init__(self, builder: TraceBuilder, tell: Tell) -> None:
        self._builder, self._tell = builder, tell
        self._in_lanes: dict[int, list[BeginOrEnd]] = {}
        self._arguments: dict[int, dict[str, Json]] = {}
        """Arguments of the slices; of one name the end's counts."""

    def take(self, lane: int, event: BeginOrEnd) -> None:
        """Take an event of a thread, in the order of the file."""
        self._in_lanes.setdefault(lane, []).append(event)

    def pair(self, asynchronous: AsyncSlices, number_of: Callable[[int], int]) -> None:
        """Pair those of each thread, and the async ones, in the order of time; `number_of` is the
        number of the event that a row came from.
        """
        last_times = [max(event.time for event in events) for events in self._in_lanes.values()]
        last_times.append(asynchronous.last_time() or 0)
        last = max((*self._builder.ends, *last_times))
        left: list[tuple[int, str]] = []
        for events in self._in_lanes.values():
            events.sort(key=attrgetter("time"))
            slices = NamedSlices(self._builder)
            for time, number, row, name, category, arguments in events:
                found: int | None = row
                if row >= 0:
                    slices.begin(row, time, name, category)
                else:
                    found = slices.end(time, name, category)
                moved = 0 if found is None else slices.moved
                self._paired(number, found, moved, arguments)
            left += slices.finish(last)
        asynchronous.pair(
            lambda event, row, moved: self._paired(event.number, row, moved, event.arguments)
        )
        left += asynchronous.close(last)
        for row, done in left:
            self._tell(number_of(row), NEVER_ENDED, done)
        for row, arguments in self._arguments.items():
            self._builder.arguments.add(row, arguments)

    def _paired(self, number: int, row: int | None, moved: int, arguments: dict[str, Json]) -> None:
        """What a begin or end belongs to, and by how much it was moved to come after others."""
        if row is None:
            self._tell(number, END_WITHOUT_BEGIN, "left out")
            return
        if moved:
            self._tell(number, SHIFTED, f"moved by {moved} ns")
        self._arguments.setdefault(row, {}).update(arguments)
