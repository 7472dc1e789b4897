"""Both sides of a comparison and their differences as one Trace: Comparison, Traces -> Trace.

It has one process, and in it the threads of base, those of new, and the rows of differences.
Viewers order processes each in its own way (by the number of their slices, for one), but the
threads of one process all alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.comparison import COMPARISON, ComparedPass, Comparison, Side
from tilelang_trace.analysis.compare.differences import (
    Difference,
    differences,
    milliseconds,
    numbers,
    smallest_shown,
)
from tilelang_trace.analysis.compare.stretch import Clock, paused, start_of
from tilelang_trace.trace.arguments import DIFFERENCE
from tilelang_trace.trace.build import ArgumentCollector, Parts, StringTable, assemble
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import (
    Column,
    Counters,
    CounterTrack,
    Ids,
    Instants,
    Lane,
    Process,
    Thread,
    Trace,
)

Align: TypeAlias = Literal["start", "passes"]
"""Where both sides begin together: only at the start, or at each matched pass."""

COMPARE = "compare"
"""Argument of matched passes, and of those on one side: what became of them."""

RECORDED = "recorded"
"""Argument of slices that were moved: when they began (ns after the compile's start) and how long
they really took.
"""


def side_by_side(
    comparison: Comparison,
    base: Trace,
    new: Trace,
    *,
    align: Align = "start",
    min_ns: int | None = None,
) -> Trace:
    """A Trace of base, new and their difference, each side from zero.

    `base` and `new` are the first run of each side. A difference lies in time where the pass lies
    in new, in a row for each thread of it; what is in base only has a row of its own. Changes of
    less than `min_ns` are left out (see `differences`), by default of less than a thousandth of the
    longer compile; the name of the row says it.
    """
    if align == "passes":
        clocks = paused(comparison, base, new)
    else:
        clocks = Clock.steady(start_of(base)), Clock.steady(start_of(new))
    floor = smallest_shown(comparison) if min_ns is None else min_ns
    join = _Join(align == "passes")
    sides = join.side("base", base, clocks[0]), join.side("new", new, clocks[1])
    join.compare(comparison, *sides)
    join.differences(differences(comparison, floor), floor, *sides)
    return assemble(
        join.parts(
            f"{_called('base', comparison.base)}, {_called('new', comparison.new)}, {DIFFERENCE}",
            {
                COMPARISON: {
                    "align": align,
                    "min_ns": floor,
                    "base": {"names": list(comparison.base.names), **_about(base)},
                    "new": {"names": list(comparison.new.names), **_about(new)},
                }
            },
        )
    )


def _called(label: str, side: Side) -> str:
    runs = len(side.names)
    first = side.names[0].replace("\\", "/").rpartition("/")[2] if side.names else ""
    return f"{label}: {first}" + (f" (first of {runs} runs)" if runs > 1 else "")


def _about(trace: Trace) -> dict[str, Json]:
    """What the one process can't say of a side: its own processes, and its metadata."""
    processes = [{"name": p.name, "pid": p.pid} for p in trace.processes]
    threads = [{"name": t.name, "tid": t.tid, "process": t.process} for t in trace.threads]
    return {"processes": processes, "threads": threads, "metadata": dict(trace.metadata)}


@dataclass(frozen=True)
class _Joined:
    """A side in the joint Trace: where its rows, threads and lanes begin there."""

    trace: Trace
    clock: Clock
    first_row: int
    first_lane: int

    def row(self, of_side: int | None) -> int | None:
        return None if of_side is None else of_side + self.first_row


class _Join:
    """Collects the parts of the joint Trace: first base, then new, then the differences.

    In this order arrows lead forward in the file, which Perfetto v52 needs where both of their ends
    are at one time.
    """

    def __init__(self, tell_recorded: bool) -> None:
        self._tell_recorded = tell_recorded
        self._strings = StringTable()
        self._threads: list[Thread] = []
        self._lanes: list[Lane] = []
        self._counter_tracks: list[CounterTrack] = []
        self._slices: list[list[npt.NDArray[Any]]] = []
        """Begin, end, name, category and lane of the slices, part by part."""
        self._columns: list[Column] = []
        self._arguments = ArgumentCollector(self._strings)
        self._instants: list[list[npt.NDArray[Any]]] = []
        self._instant_columns: list[Column] = []
        self._counters: list[list[npt.NDArray[Any]]] = []
        self._flows: list[Ids] = []
        self._rows = 0
        self._number_of_instants = 0

    # -------------------------------------------------------------------------------- the sides

    def side(self, label: str, trace: Trace, clock: Clock) -> _Joined:
        """Add all that a side has."""
        text = np.array([self._strings.id(text) for text in trace.strings], np.int32)
        joined = _Joined(trace, clock, self._rows, len(self._lanes))
        first_thread = len(self._threads)
        self._add_threads(label, trace)
        slices, instants, counters = trace.slices, trace.instants, trace.counters
        self._add_slices(
            clock.begins(slices.begin),
            clock.ends(slices.end),
            text[slices.name],
            text[slices.category],
            slices.lane + joined.first_lane,
        )
        self._columns += self._moved(trace.arguments.columns, joined.first_row, text)
        if self._tell_recorded:
            self._add_recorded(joined)
        self._instants.append(
            [
                clock.begins(instants.time),
                text[instants.name],
                text[instants.category],
                instants.lane + joined.first_lane,
            ]
        )
        self._instant_columns += self._moved(
            trace.instant_arguments.columns, self._number_of_instants, text
        )
        self._number_of_instants += len(instants)
        self._counters.append(
            [
                counters.track + len(self._counter_tracks),
                clock.begins(counters.time),
                counters.value,
            ]
        )
        self._counter_tracks += _counter_tracks(label, trace, first_thread)
        self._flows.append(trace.flows + joined.first_row)
        return joined

    def _add_threads(self, label: str, trace: Trace) -> None:
        """The threads and lanes of a side; a lane without a thread becomes one."""
        first = len(self._threads)
        for thread in trace.threads:
            name = _named(trace, thread.process, thread.name or f"thread {thread.tid}")
            self._threads.append(Thread(0, f"{label}: {name}"))
        for lane in trace.lanes:
            if lane.thread is not None:
                self._lanes.append(Lane(first + lane.thread, name=lane.name))
            else:
                self._add_row(f"{label}: {_named(trace, lane.process, lane.name)}")

    def _add_row(self, name: str) -> int:
        """Add a thread with one lane; returns the lane."""
        self._threads.append(Thread(0, name))
        self._lanes.append(Lane(len(self._threads) - 1))
        return len(self._lanes) - 1

    def _add_slices(self, *columns: npt.NDArray[Any]) -> None:
        self._slices.append(list(columns))
        self._rows += len(columns[0])

    def _add_recorded(self, side: _Joined) -> None:
        slices = side.trace.slices
        begins = (slices.begin - side.clock.origin).tolist()
        for row, (begin, ns) in enumerate(zip(begins, slices.duration.tolist()), side.first_row):
            self._arguments.add(row, {RECORDED: {"begin_ns": begin, "ns": ns}})

    @staticmethod
    def _moved(columns: Sequence[Column], first: int, text: Ids) -> Iterator[Column]:
        """The columns of a side, with its rows and texts as they are numbered here."""
        for column in columns:
            if column.name in (COMPARE, RECORDED):  # of a comparison that is compared again
                continue
            values = text[column.values] if column.type == "string" else column.values
            yield replace(column, rows=column.rows + np.int32(first), values=values)

    # ------------------------------------------------------------------------- what is compared

    def compare(self, comparison: Comparison, base: _Joined, new: _Joined) -> None:
        """Put the numbers on the passes of both sides, and arrows from base to new."""
        arrows = []
        for entry in comparison.passes:
            rows = _rows(entry, base, new)
            for row in rows:
                if row is not None:
                    self._arguments.add(row, {COMPARE: numbers(entry)})
            if None not in rows:
                arrows.append(rows)
        self._flows.append(np.array(arrows, np.int32).reshape(-1, 2))

    def differences(
        self, shown: Sequence[Difference], floor: int, base: _Joined, new: _Joined
    ) -> None:
        """Add the rows of differences, and arrows to them from new (from base, if only there)."""
        found: dict[int, list[tuple[Difference, int]]] = {}
        """Per lane of a side the differences that lie in time as their passes there."""
        begin, end, _, _, lane_of = _concatenated(self._slices)
        for difference in shown:
            base_row, new_row = _rows(difference.entry, base, new)
            row = base_row if new_row is None else new_row
            if row is not None:
                found.setdefault(int(lane_of[row]), []).append((difference, row))
        title = f"{DIFFERENCE} ≥ {milliseconds(floor)}"
        if not found:
            self._no_difference(title, begin, end)
        # Those of new come first: what is in base only stands below.
        for lane in sorted(found, key=lambda lane: (lane < new.first_lane, lane)):
            is_base = lane < new.first_lane
            several = sum((other < new.first_lane) == is_base for other in found) > 1
            name = f"{DIFFERENCE}, only in base" if is_base else title
            if several:
                thread = self._lanes[lane].thread
                assert thread is not None
                name += f": {self._threads[thread].name} {self._lanes[lane].name}".rstrip()
            self._add_differences(self._add_row(name), found[lane], begin, end)

    def _add_differences(
        self,
        lane: int,
        shown: list[tuple[Difference, int]],
        begin: npt.NDArray[Any],
        end: npt.NDArray[Any],
    ) -> None:
        # In the order of the rows: of slices at equal times the first is the parent.
        shown.sort(key=lambda item: item[1])
        rows = np.array([row for _, row in shown], np.int64)
        own = np.arange(self._rows, self._rows + len(rows))
        for number, (difference, _) in zip(own.tolist(), shown):
            self._arguments.add(number, {COMPARE: numbers(difference.entry)})
        texts = [(difference.name, difference.category) for difference, _ in shown]
        self._add_slices(
            begin[rows],
            end[rows],
            np.array([self._strings.id(name) for name, _ in texts], np.int32),
            np.array([self._strings.id(category) for _, category in texts], np.int32),
            np.full(len(rows), lane, np.int32),
        )
        self._flows.append(np.stack([rows, own], axis=1).astype(np.int32))

    def _no_difference(self, title: str, begin: npt.NDArray[Any], end: npt.NDArray[Any]) -> None:
        """Without a slice the row would not be shown, and nobody would know why."""
        if len(begin):
            name, category = self._strings.id(f"no {title}"), self._strings.id(f"{DIFFERENCE},same")
            columns = (begin.min(), end.max(), name, category, self._add_row(title))
            self._add_slices(*(np.array([value]) for value in columns))

    def parts(self, process: str, metadata: dict[str, Json]) -> Parts:
        """All of it."""
        begin, end, name, category, lane = _concatenated(self._slices)
        return Parts(
            [Process(process)],
            self._threads,
            self._lanes,
            self._strings.texts(),
            begin,
            end,
            name,
            category,
            lane,
            [*self._columns, *self._arguments.columns()],
            Instants(*_concatenated(self._instants)),
            self._instant_columns,
            self._counter_tracks,
            Counters(*_concatenated(self._counters)),
            np.concatenate(self._flows),
            metadata,
        )


def _concatenated(parts: list[list[npt.NDArray[Any]]]) -> list[npt.NDArray[Any]]:
    return [np.concatenate(columns) for columns in zip(*parts)]


def _rows(entry: ComparedPass, base: _Joined, new: _Joined) -> tuple[int | None, int | None]:
    """The rows of a pass in the joint Trace, None where the first run of a side has no such pass."""
    return (
        base.row(entry.base.rows[0] if entry.base else None),
        new.row(entry.new.rows[0] if entry.new else None),
    )


def _named(trace: Trace, process: int | None, name: str) -> str:
    """The name of a thread or row, with that of its process where a side has several."""
    if process is None or len(trace.processes) < 2:
        return name
    pid = trace.processes[process].pid
    number = "" if pid is None else f" {pid}"
    return f"{trace.processes[process].name}{number} / {name}"


def _counter_tracks(label: str, trace: Trace, first_thread: int) -> Iterator[CounterTrack]:
    """The counters of a side. Those of a process go to its first thread, so that they stand with
    it.
    """
    shown = [lane.thread for lane in trace.lanes if lane.thread is not None]
    for track in trace.counter_tracks:
        thread = track.thread
        process = track.process if thread is None else trace.threads[thread].process
        name = f"{label}: {_named(trace, process, track.name)}"
        if thread is None:
            of_process = (t for t in shown if process in (None, trace.threads[t].process))
            thread = next(of_process, None)
        if thread is None:
            yield replace(track, name=name, process=0)
        else:
            yield replace(track, name=name, thread=first_thread + thread, process=None)
