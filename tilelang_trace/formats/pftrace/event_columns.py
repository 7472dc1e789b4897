"""Track events as they are read from packets, before anybody knows which lane they belong to."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.track_keys import TrackKey
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace.collect import ArgumentCollector, StringTable, extend
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids

FARTHEST = 2**63 - 1
"""The last time, ns: Perfetto takes those behind it for negative ones."""

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
"""The kinds of events, as TrackEvent counts them."""
COMPLETE, POINT = 5, 6
"""A whole slice; a moment at which an arrow begins or ends, and nothing else is."""

JOINS, ENDS, LEAVES, PASSES, ARRIVES, ARRIVES_NEXT = range(6)
"""What a step of a flow does: begin it or go on; go on and end it; begin it (only once); go on; go
on, for the last time or not; the same, at the next slice.
"""

FlowKey: TypeAlias = "int | tuple[int, str, str]"
"""A flow by its id; those of older events have a category and a name besides."""


@dataclass(frozen=True)
class StackEvents:
    """Where the events of one stack stand in the order of `EventColumns.by_stack`."""

    stack: int
    first: int
    stop: int


class EventColumns:
    """The events of a file. They may be added in any order: `numbers`, those of the packets, say
    how they stood in the file. The row of an event is its place in these columns.
    """

    def __init__(self, strings: StringTable) -> None:
        self.strings = strings
        self.numbers = array("q")
        self.times = array("q")
        """As they stand in the file, on `clocks`."""
        self.clocks = array("i")
        self.kinds = array("b")
        self.names = array("i")
        self.categories = array("i")
        self.tracks = array("i")
        self.keys: dict[TrackKey, int] = {}
        """The number of each track."""
        self.arguments = ArgumentCollector(strings)
        self.flows: list[tuple[int, FlowKey, int]] = []
        """Steps of flows: row, flow, what it does."""
        self.values = array("i"), array("i"), array("d"), array("i")
        """Values of counters: row, track, value, and the state of the sequence."""
        self.durations = array("i"), array("q")
        """Of whole slices: row, ns."""

    def __len__(self) -> int:
        return len(self.times)

    def add(
        self,
        number: int,
        time: int,
        clock: int,
        kind: int,
        track: TrackKey,
        name: str = "",
        category: str = "",
        arguments: Mapping[str, Json] | None = None,
    ) -> int:
        """Add one event; returns its row."""
        row = len(self)
        self.numbers.append(number)
        self.times.append(time)
        self.clocks.append(clock)
        self.kinds.append(kind)
        self.tracks.append(self.track(track))
        self.names.append(self.strings.id(name))
        self.categories.append(self.strings.id(category))
        if arguments:
            self.arguments.add(row, arguments)
        return row

    def add_value(self, row: int, track: TrackKey, value: float, state: int) -> None:
        """Add a value of a counter at the time of an event."""
        rows, tracks, values, states = self.values
        rows.append(row)
        tracks.append(self.track(track))
        values.append(value)
        states.append(state)

    def add_duration(self, row: int, duration: int) -> None:
        """Say how long a whole slice takes, ns."""
        self.durations[0].append(row)
        self.durations[1].append(duration)

    def add_many(self, *columns: Any) -> int:
        """Add many events: packets, times, clocks, kinds, tracks by their numbers here, names and
        categories as ids. Returns the row of the first.
        """
        row = len(self)
        known = (self.numbers, self.times, self.clocks, self.kinds, self.tracks)
        for column, more in zip((*known, self.names, self.categories), columns):
            extend(column, more)
        return row

    def track(self, key: TrackKey) -> int:
        """The number of a track here."""
        return self.keys.setdefault(key, len(self.keys))

    def column(self, column: array[Any]) -> Any:
        """One of the columns for NumPy, without a copy: no more events can be added then."""
        return np.frombuffer(column, column.typecode)

    def by_stack(self, rows: Ints, times: Ints, stacks: Ids) -> tuple[Ints, list[StackEvents]]:
        """These rows, which are ascending, stack by stack, as the stacks appear in the file, each
        in the order of time; of equal times in that of the file. `times` and `stacks` are those of
        all rows.
        """
        numbers: Ints = self.column(self.numbers)
        order: Ints = rows
        if np.any(numbers[1:] < numbers[:-1]):
            order = order[np.argsort(numbers[order], kind="stable")]
        its_stacks = stacks[order]
        count = int(its_stacks.max(initial=-1)) + 1
        if count > 1:
            first = np.zeros(count, np.int64)
            first[its_stacks[::-1]] = np.arange(len(its_stacks))[::-1]  # of several the last stays
            rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
            # Small integers are sorted in linear time.
            small = np.uint16 if count < 1 << 16 else np.int64
            ranks: npt.NDArray[Any] = rank.astype(small)[its_stacks]
            if np.any(ranks[1:] < ranks[:-1]):
                by_rank = np.argsort(ranks, kind="stable")
                order, its_stacks = order[by_rank], its_stacks[by_rank]
        starts = np.flatnonzero(np.diff(its_stacks, prepend=its_stacks[:1] - 1)).tolist()
        parts = [
            StackEvents(int(its_stacks[start]), start, stop)
            for start, stop in zip(starts, [*starts[1:], len(order)])
        ]
        for part in parts:
            its_rows = order[part.first : part.stop]
            its_times = times[its_rows]
            if np.any(its_times[1:] < its_times[:-1]):
                order[part.first : part.stop] = its_rows[np.argsort(its_times, kind="stable")]
        return order, parts
