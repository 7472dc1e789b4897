"""Several Traces as the threads of one process, each on a clock of its own.

Viewers order processes each in its own way (Perfetto v52 by the number of their slices), but the
threads of one process all alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.stretch import Clock
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.collect import ArgumentCollector, StringTable
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import (
    Column,
    Counters,
    CounterTrack,
    Ids,
    Instants,
    Ints,
    Lane,
    Process,
    Thread,
    Trace,
)

_Table: TypeAlias = "list[npt.NDArray[Any]]"


@dataclass(frozen=True)
class Placed:
    """A Trace in the joint one: its rows and lanes are numbered on from these."""

    trace: Trace
    first_row: int
    first_lane: int


class JointTrace:
    """Collects Traces and further rows, which stand in the order in which they are added."""

    def __init__(self) -> None:
        self._strings = StringTable()
        self.arguments = ArgumentCollector(self._strings)
        """Further arguments of rows that were added."""
        self._threads: list[Thread] = []
        self._lanes: list[Lane] = []
        self._slices: list[_Table] = []
        self._columns: list[Column] = []
        self._instants: list[_Table] = []
        self._instant_columns: list[Column] = []
        self._counter_tracks: list[CounterTrack] = []
        self._counters: list[_Table] = []
        self._flows: list[Ids] = [np.empty((0, 2), np.int32)]

    def add_trace(
        self, label: str, trace: Trace, clock: Clock, without: Collection[str] = ()
    ) -> Placed:
        """Add all that a Trace has, but for the arguments of these names. The names of its threads
        begin with the label.
        """
        slices, instants, counters = trace.slices, trace.instants, trace.counters
        placed = Placed(trace, _rows_in(self._slices), len(self._lanes))
        text = np.array([self._strings.id(text) for text in trace.strings], np.int32)
        columns = [column for column in trace.arguments.columns if column.name not in without]
        self._counter_tracks += _counter_tracks(label, trace, len(self._threads))
        self._add_threads(label, trace)
        self._columns += _moved(columns, placed.first_row, text)
        self._instant_columns += _moved(
            trace.instant_arguments.columns, _rows_in(self._instants), text
        )
        self._slices.append(
            [
                clock.begins(slices.begin),
                clock.ends(slices.end),
                text[slices.name],
                text[slices.category],
                slices.lane + np.int32(placed.first_lane),
            ]
        )
        self._instants.append(
            [
                clock.begins(instants.time),
                text[instants.name],
                text[instants.category],
                instants.lane + np.int32(placed.first_lane),
            ]
        )
        first_track = len(self._counter_tracks) - len(trace.counter_tracks)
        self._counters.append(
            [counters.track + np.int32(first_track), clock.begins(counters.time), counters.value]
        )
        self.add_flows(trace.flows + np.int32(placed.first_row))
        return placed

    def add_row(self, name: str) -> int:
        """Add a thread; returns its lane."""
        self._threads.append(Thread(0, name))
        self._lanes.append(Lane(len(self._threads) - 1))
        return len(self._lanes) - 1

    def add_slices(
        self, lane: int, begin: Ints, end: Ints, names: Sequence[str], categories: Sequence[str]
    ) -> Ids:
        """Add slices to a lane; returns their rows."""
        first = _rows_in(self._slices)
        ids = [np.array([self._strings.id(t) for t in texts]) for texts in (names, categories)]
        self._slices.append([begin, end, *ids, np.full(len(begin), lane)])
        return np.arange(first, first + len(begin), dtype=np.int32)

    def add_flows(self, rows: Ids) -> None:
        """Add arrows, pairs of rows. Perfetto loses those that lead back in time; v52 also those
        that lead back in the file, between slices that begin at one time.
        """
        self._flows.append(rows)

    def times(self) -> tuple[Ints, Ints]:
        """Begin and end of all slices so far."""
        begin, end, *_ = _concatenated(self._slices)
        return begin, end

    def lane_name(self, lane: int) -> str:
        """The name of a lane's thread, and its own."""
        thread = self._lanes[lane].thread
        name = "" if thread is None else self._threads[thread].name
        return f"{name} {self._lanes[lane].name}".strip()

    def build(self, process: str, metadata: dict[str, Json]) -> Trace:
        """All of it, in a process of this name."""
        begin, end, name, category, lane = _concatenated(self._slices)
        return assemble(
            Parts(
                [Process(process)],
                self._threads,
                self._lanes,
                self._strings.texts(),
                begin,
                end,
                name,
                category,
                lane,
                [*self._columns, *self.arguments.columns()],
                Instants(*_concatenated(self._instants)),
                self._instant_columns,
                self._counter_tracks,
                Counters(*_concatenated(self._counters)),
                np.concatenate(self._flows),
                metadata,
            )
        )

    def _add_threads(self, label: str, trace: Trace) -> None:
        """The threads and lanes of a Trace; a lane without a thread becomes one."""
        first = len(self._threads)
        for thread in trace.threads:
            name = _named(trace, thread.process, thread.name or f"thread {thread.tid}")
            self._threads.append(Thread(0, f"{label}: {name}"))
        for lane in trace.lanes:
            if lane.thread is None:
                self.add_row(f"{label}: {_named(trace, lane.process, lane.name)}")
            else:
                self._lanes.append(Lane(first + lane.thread, name=lane.name))


def _rows_in(tables: list[_Table]) -> int:
    return sum(len(table[0]) for table in tables)


def _concatenated(tables: list[_Table]) -> _Table:
    return [np.concatenate(columns) for columns in zip(*tables)]


def _moved(columns: Sequence[Column], first: int, text: Ids) -> Iterator[Column]:
    """Columns with their rows and texts as they are numbered in the joint Trace."""
    for column in columns:
        values = text[column.values] if column.type == "string" else column.values
        yield replace(column, rows=column.rows + np.int32(first), values=values)


def _named(trace: Trace, process: int | None, name: str) -> str:
    """The name of a thread or row, with that of its process where there are several."""
    if process is None or len(trace.processes) < 2:
        return name
    pid = trace.processes[process].pid
    return f"{trace.processes[process].name}{'' if pid is None else f' {pid}'} / {name}"


def _counter_tracks(label: str, trace: Trace, first_thread: int) -> Iterator[CounterTrack]:
    """The counters of a Trace. Those of a process go to its first thread, so that they stand with
    it.
    """
    shown = [lane.thread for lane in trace.lanes if lane.thread is not None]
    for track in trace.counter_tracks:
        thread = track.thread
        process = track.process if thread is None else trace.threads[thread].process
        name = f"{label}: {_named(trace, process, track.name)}"
        if thread is None:
            own = (t for t in shown if process in (None, trace.threads[t].process))
            thread = next(own, None)
        if thread is None:
            yield replace(track, name=name, process=0)
        else:
            yield replace(track, name=name, thread=first_thread + thread, process=None)
