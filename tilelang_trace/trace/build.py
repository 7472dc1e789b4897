"""How a Trace is collected: `TraceBuilder` takes slices row by row, or many rows at once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tilelang_trace import limits
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.collect import ArgumentCollector, StringTable, extend
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import (
    Counters,
    CounterTrack,
    Instants,
    Lane,
    Process,
    Thread,
    Trace,
)
from tilelang_trace.trace.rules import Rule

Owned = TypeVar("Owned", Lane, CounterTrack)


class TraceBuilder:
    """Collects a Trace, row by row or many rows at once; what readers, the pass-event log and tests
    use.

    Slices may come in any order; of slices with equal times on one lane the first that came is the
    parent.
    """

    def __init__(self) -> None:
        self.limits = limits.current()
        self.strings = StringTable(limits=self.limits)
        self.processes: list[Process] = []
        self.threads: list[Thread] = []
        self.lanes: list[Lane] = []
        self.counter_tracks: list[CounterTrack] = []
        self.metadata: dict[str, Json] = {}
        self.findings = Findings()
        self.place: Callable[[int], str] | None = None
        self.begins = array("q")
        self.ends = array("q")
        self.names = array("i")
        self.categories = array("i")
        self.slice_lanes = array("i")
        self.arguments = ArgumentCollector(self.strings)
        self.flows: list[tuple[int, int]] = []
        self._instants = array("q"), array("i"), array("i"), array("i")
        """Time, name, category and lane of each."""
        self.instant_arguments = ArgumentCollector(self.strings)
        self._counters = array("i"), array("q"), array("d")
        """Track, time and value of each."""

    def process(self, name: str, pid: int | None = None) -> int:
        """Add a process; returns its id."""
        self._check("tracks", len(self.processes), 1)
        self.processes.append(Process(name, pid))
        return len(self.processes) - 1

    def thread(self, process: int, name: str, tid: int | None = None) -> int:
        """Add a thread of a process; returns its id. It has no lane yet."""
        self._check("tracks", len(self.threads), 1)
        self.threads.append(Thread(process, name, tid))
        return len(self.threads) - 1

    def lane(self, lane: Lane) -> int:
        """Add a lane; returns its id."""
        self._check("tracks", len(self.lanes), 1)
        self.lanes.append(lane)
        return len(self.lanes) - 1

    def slice(
        self,
        lane: int,
        begin: int,
        end: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json] | None = None,
    ) -> int:
        """Add a slice (times in ns); returns its row here. `ends[row]` may be set later."""
        row = len(self.begins)
        if row >= self.limits.events:
            self._check("events", row, 1)
        self.begins.append(begin)
        self.ends.append(end)
        self.names.append(self.strings.id(name))
        self.categories.append(self.strings.id(category))
        self.slice_lanes.append(lane)
        if arguments:
            self.arguments.add(row, arguments)
        return row

    def slices(
        self,
        lanes: npt.ArrayLike,
        begins: npt.ArrayLike,
        ends: npt.ArrayLike,
        names: npt.ArrayLike,
        categories: npt.ArrayLike,
    ) -> int:
        """Add many slices, as columns (times in ns, texts as ids of `strings`); returns the row of
        the first.
        """
        row = len(self.begins)
        self._check("events", row, np.size(begins))
        extend(self.begins, begins)
        extend(self.ends, ends)
        extend(self.names, names)
        extend(self.categories, categories)
        extend(self.slice_lanes, lanes)
        return row

    def instant(
        self,
        lane: int,
        time: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json] | None = None,
    ) -> None:
        """Add an event without a duration (time in ns)."""
        times, names, categories, lanes = self._instants
        self._check("events", len(times), 1)
        if arguments:
            self.instant_arguments.add(len(times), arguments)
        times.append(time)
        names.append(self.strings.id(name))
        categories.append(self.strings.id(category))
        lanes.append(lane)

    def instants(
        self,
        lanes: npt.ArrayLike,
        times: npt.ArrayLike,
        names: npt.ArrayLike,
        categories: npt.ArrayLike,
    ) -> int:
        """Add many events without a duration, as `slices`; returns the row of the first."""
        row = len(self._instants[0])
        self._check("events", row, np.size(times))
        known_times, known_names, known_categories, known_lanes = self._instants
        extend(known_times, times)
        extend(known_names, names)
        extend(known_categories, categories)
        extend(known_lanes, lanes)
        return row

    def counter(self, track: int, time: int, value: float) -> None:
        """Add a counter value (time in ns)."""
        tracks, times, values = self._counters
        self._check("events", len(times), 1)
        tracks.append(track)
        times.append(time)
        values.append(value)

    def counters(self, track: int, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Add many values of one counter (times in ns)."""
        known_tracks, known_times, known_values = self._counters
        self._check("events", len(known_times), np.size(times))
        extend(known_tracks, np.full(np.shape(times), track))
        extend(known_times, times)
        extend(known_values, values)

    def arrange(self, processes: Sequence[int], threads: Sequence[int]) -> None:
        """Put the processes and threads, given by their ids, in this order; lanes stand in the
        order of their processes and threads then, those of no process first.
        """
        of_process = {old: new for new, old in enumerate(processes)}
        of_thread = {old: new for new, old in enumerate(threads)}
        self.processes = [self.processes[old] for old in processes]
        self.threads = [
            replace(self.threads[old], process=of_process[self.threads[old].process])
            for old in threads
        ]

        def owned(row: Owned) -> Owned:
            thread = None if row.thread is None else of_thread[row.thread]
            process = None if row.process is None else of_process[row.process]
            return replace(row, thread=thread, process=process)

        def place(lane: int) -> tuple[int, int]:
            row = self.lanes[lane]
            if row.thread is not None:
                return self.threads[row.thread].process, row.thread
            return -1 if row.process is None else row.process, len(threads)

        self.counter_tracks = [owned(track) for track in self.counter_tracks]
        self.lanes = [owned(lane) for lane in self.lanes]
        order = sorted(range(len(self.lanes)), key=place)
        self.lanes = [self.lanes[old] for old in order]
        new = np.empty(len(order), np.int32)
        new[order] = np.arange(len(order), dtype=np.int32)
        of_instants = self._instants[3]
        for column in (self.slice_lanes, of_instants):
            column[:] = array("i", new[np.array(column, np.int32)].tobytes())

    def _check(self, limit: str, known: int, more: int) -> None:
        """Raises UserError if there are more of something than there may be."""
        if known + more > getattr(self.limits, limit):
            raise limits.exceeded(f"too many {limit}", limit)

    def finding(self, place: str | Callable[[], str], rule: Rule, done: str) -> None:
        """Tell of something in the input that was not as it should be."""
        self.findings.add(place, rule, done)

    def build(self) -> Trace:
        """The Trace of all that was added."""
        self._check("tracks", len(self.counter_tracks), 0)
        self._check("events", len(self.flows), 0)
        times, *ids = self._instants
        counters = self._counters
        return assemble(
            Parts(
                self.processes,
                self.threads,
                self.lanes,
                self.strings.texts(),
                np.array(self.begins, np.int64),
                np.array(self.ends, np.int64),
                np.array(self.names, np.int32),
                np.array(self.categories, np.int32),
                np.array(self.slice_lanes, np.int32),
                self.arguments.columns(),
                Instants(np.array(times, np.int64), *(np.array(c, np.int32) for c in ids)),
                self.instant_arguments.columns(),
                self.counter_tracks,
                Counters(
                    np.array(counters[0], np.int32),
                    np.array(counters[1], np.int64),
                    np.array(counters[2], np.float64),
                ),
                np.array(self.flows, np.int32).reshape(-1, 2),
                self.metadata,
                self.findings,
                self.place,
            )
        )
