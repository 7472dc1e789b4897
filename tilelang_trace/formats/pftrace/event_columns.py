"""Track events as they are read from packets, before anybody knows which lane they belong to."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace.collect import ArgumentCollector, StringTable, extend
from tilelang_trace.trace.json_values import Json

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4


@dataclass(frozen=True)
class TrackEvents:
    """Where the events of one track stand in `EventColumns.order`."""

    uuid: int
    first: int
    stop: int


class EventColumns:
    """The events of a file. They may be added in any order: `number`, that of the packet, says how
    they stood in the file. The row of an event is its place in these columns.
    """

    def __init__(self, strings: StringTable) -> None:
        self.strings = strings
        self._numbers = array("q")
        self.times = array("q")
        self.kinds = array("b")
        self.names = array("i")
        self.categories = array("i")
        self.tracks = array("i")
        self._uuids: dict[int, int] = {}
        """The number of each track."""
        self.arguments = ArgumentCollector(strings)
        self.flows: list[tuple[int, int, bool]] = []
        """Steps of flows: row, flow, whether it ends there."""
        self.values = array("i"), array("d")
        """Values of counters: row, value. Where there is none it is 0."""

    def __len__(self) -> int:
        return len(self.times)

    def add(
        self,
        number: int,
        time: int,
        kind: int,
        uuid: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json],
        flows: Iterable[tuple[int, bool]],
        value: float,
    ) -> None:
        """Add one event."""
        row = len(self)
        self._numbers.append(number)
        self.times.append(time)
        self.kinds.append(kind)
        self.tracks.append(self.track(uuid))
        self.names.append(self.strings.id(name))
        self.categories.append(self.strings.id(category))
        self.arguments.add(row, arguments)
        self.flows.extend((row, flow, ends) for flow, ends in flows)
        if value:
            self.values[0].append(row)
            self.values[1].append(value)

    def add_many(
        self, numbers: Ints, times: Ints, kinds: Ints, tracks: Ints, names: Ints, categories: Ints
    ) -> int:
        """Add many events: tracks by their numbers here, texts by their ids. Returns the row of the
        first.
        """
        row = len(self)
        extend(self._numbers, numbers)
        extend(self.times, times)
        extend(self.kinds, kinds)
        extend(self.tracks, tracks)
        extend(self.names, names)
        extend(self.categories, categories)
        return row

    def track(self, uuid: int) -> int:
        """The number of a track here."""
        return self._uuids.setdefault(uuid, len(self._uuids))

    def by_track(self) -> tuple[Ints, list[TrackEvents]]:
        """The rows track by track, as the tracks appear in the file, each in the order of time; of
        equal times in that of the file.
        """
        tracks = np.array(self.tracks)
        order = np.arange(len(self))
        numbers = np.array(self._numbers)
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
        uuids = list(self._uuids)
        if len(uuids) > 1:
            tracks = tracks[order]
            first = np.zeros(len(uuids), np.int64)
            first[tracks[::-1]] = np.arange(len(tracks))[::-1]  # of several, the last one stays
            rank = np.argsort(np.argsort(first))
            # Small integers are sorted in linear time.
            ranks = rank[tracks].astype(np.uint16 if len(uuids) < 1 << 16 else np.int64)
            if np.any(ranks[1:] < ranks[:-1]):
                by_rank = np.argsort(ranks, kind="stable")
                order, tracks = order[by_rank], tracks[by_rank]
        starts = np.flatnonzero(np.diff(tracks, prepend=-1)).tolist()
        parts = [
            TrackEvents(uuids[tracks[start]], start, stop)
            for start, stop in zip(starts, [*starts[1:], len(order)])
        ]
        times = np.array(self.times)
        for part in parts:
            rows = order[part.first : part.stop]
            its_times = times[rows]
            if np.any(its_times[1:] < its_times[:-1]):
                order[part.first : part.stop] = rows[np.argsort(its_times, kind="stable")]
        return order, parts
