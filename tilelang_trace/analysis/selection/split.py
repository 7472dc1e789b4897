"""One Trace for each kernel that a Trace shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tilelang_trace.analysis.compiles import compiles, kernels, outermost
from tilelang_trace.analysis.selection.leave_out import leave_out
from tilelang_trace.analysis.selection.subset import Ranges, Rows, with_own_strings
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Counters, Ids, Instants, Ints, Trace


def split_kernels(trace: Trace) -> list[tuple[str, Trace]]:
    """A Trace for each compile that lies in no other one, by begin, with the kernel's name.

    Names are unique: a kernel that is compiled again is `name 2`. Each Trace has what lies in the
    compile, with its times, its thread and process, and the instants and counters of these from its
    begin to its end; the metadata is that of the whole, and `kernel`.
    """
    rows = np.array(_rows(trace), np.int64)
    if not len(rows):
        return []
    kernel_of = kernels(trace)
    labels = [kernel_of[row] for row in rows.tolist()]
    pieces = _Pieces(trace, rows, _ends(trace)[rows])
    return [
        (name, assemble(pieces.parts(number, label)))
        for number, (label, name) in enumerate(zip(labels, _unique(labels)))
    ]


def outside_kernels(trace: Trace) -> Trace | None:
    """What is in no Trace of `split_kernels`; None if there is no pass among it."""
    inside = np.zeros(len(trace.slices), np.bool_)
    ends = _ends(trace)
    for row in _rows(trace):
        inside[row : ends[row]] = True
    if not (~inside & trace.is_kind(PASS)).any():
        return None
    # What encloses a kernel says what is missing in it; the others are missed by nobody here.
    return replace(leave_out(trace, inside), metadata=trace.metadata)


def _rows(trace: Trace) -> list[int]:
    rows = compiles(trace)
    found: list[int] = rows[outermost(trace, rows)].tolist()
    return found


def _ends(trace: Trace) -> Rows:
    """For each row the first one behind all that lie in it."""
    slices = trace.slices
    ends = np.empty(len(slices), np.int64)
    starts = np.flatnonzero(np.diff(slices.lane, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(slices)]):
        begin, end = slices.begin[start:stop], slices.end[start:stop]
        ends[start:stop] = start + np.searchsorted(begin, end)
    return ends


class _Pieces:
    """The parts of a Trace in each of some rows, with all that lies in it. What one costs does not
    grow with the others.
    """

    def __init__(self, trace: Trace, rows: Rows, ends: Rows) -> None:
        self._trace = trace
        self._rows, self._ends = rows, ends
        slices, instants, counters = trace.slices, trace.instants, trace.counters
        self._columns = Ranges(trace.arguments.columns, rows, ends)
        lane, begin, end = slices.lane[rows], slices.begin[rows], slices.end[rows]
        self._from = _places(instants.lane, instants.time, lane, begin, "left")
        self._to = _places(instants.lane, instants.time, lane, end, "right")
        self._instant_columns = Ranges(trace.instant_arguments.columns, self._from, self._to)
        self._tracks = np.searchsorted(counters.track, np.arange(len(trace.counter_tracks) + 1))
        self._tracks_of: dict[tuple[int | None, int | None], list[int]] = {}
        for number, track in enumerate(trace.counter_tracks):
            self._tracks_of.setdefault((track.thread, track.process), []).append(number)
        order = np.argsort(rows)
        source, target = (
            order[np.searchsorted(rows[order], trace.flows[:, side], "right") - 1]
            for side in (0, 1)
        )
        within = (source == target) & (trace.flows >= rows[source, None]).all(axis=1)
        within &= (trace.flows < ends[source, None]).all(axis=1)
        own = np.flatnonzero(within)[np.argsort(source[within], kind="stable")]
        self._flows = trace.flows[own]
        self._flows_from = np.searchsorted(source[own], np.arange(len(rows) + 1))

    def parts(self, number: int, kernel: str) -> Parts:
        """Those of one of the rows, on one lane, with nothing of other lanes, threads, processes
        and counters.
        """
        trace, slices, instants = self._trace, self._trace.slices, self._trace.instants
        start, stop = int(self._rows[number]), int(self._ends[number])
        here = slice(int(self._from[number]), int(self._to[number]))
        lane = trace.lanes[int(slices.lane[start])]
        thread = None if lane.thread is None else trace.threads[lane.thread]
        process = lane.process if thread is None else thread.process
        flows = self._flows[self._flows_from[number] : self._flows_from[number + 1]]
        tracks = sorted(
            track
            for owner in {(t, p) for t in (None, lane.thread) for p in (None, process)}
            for track in self._tracks_of.get(owner, ())
        )
        times = int(slices.begin[start]), int(slices.end[start])
        return with_own_strings(
            Parts(
                processes=[] if process is None else [trace.processes[process]],
                threads=[] if thread is None else [replace(thread, process=0)],
                lanes=[replace(lane, thread=_first(lane.thread), process=_first(lane.process))],
                strings=trace.strings,
                begin=slices.begin[start:stop],
                end=slices.end[start:stop],
                name=slices.name[start:stop],
                category=slices.category[start:stop],
                lane=np.zeros(stop - start, np.int32),
                columns=self._columns.columns(number),
                instants=Instants(
                    instants.time[here],
                    instants.name[here],
                    instants.category[here],
                    np.zeros(here.stop - here.start, np.int32),
                ),
                instant_columns=self._instant_columns.columns(number),
                counter_tracks=[
                    replace(old, thread=_first(old.thread), process=_first(old.process))
                    for old in map(trace.counter_tracks.__getitem__, tracks)
                ],
                counters=self._counters(tracks, *times),
                flows=flows - np.int32(start),
                metadata={**trace.metadata, "kernel": kernel},
            )
        )

    def _counters(self, tracks: Sequence[int], begin: int, end: int) -> Counters:
        """The values of these tracks from begin to end."""
        counters = self._trace.counters
        places = []
        for track in tracks:
            first, last = self._tracks[track : track + 2].tolist()
            times = counters.time[first:last]
            places.append(first + np.arange(*np.searchsorted(times, (begin, end + 1)).tolist()))
        where = np.concatenate([np.empty(0, np.int64), *places])
        numbers = np.repeat(np.arange(len(tracks), dtype=np.int32), list(map(len, places)))
        return Counters(numbers, counters.time[where], counters.value[where])


def _places(lanes: Ids, times: Ints, lane: Ids, time: Ints, side: Literal["left", "right"]) -> Rows:
    """Where in a table that is sorted by lane and time each of some times on a lane is."""
    found = np.empty(len(lane), np.int64)
    order = np.argsort(lane, kind="stable")
    starts = np.flatnonzero(np.diff(lane[order], prepend=-1))
    for some in np.split(order, starts[1:]):
        if len(some):
            first, last = np.searchsorted(lanes, (lane[some[0]], lane[some[0]] + 1)).tolist()
            found[some] = first + np.searchsorted(times[first:last], time[some], side)
    return found


def _first(number: int | None) -> int | None:
    """The new number of the only thread, or process, that is left."""
    return None if number is None else 0


def _unique(names: Sequence[str]) -> list[str]:
    """The names, each once: one that was there before gets the next number that is free."""
    taken = set(names)
    numbers: dict[str, int] = {}
    unique = []
    for name in names:
        own = name
        if name in numbers:
            while own in taken:
                numbers[name] += 1
                own = f"{name} {numbers[name]}"
            taken.add(own)
        numbers.setdefault(name, 1)
        unique.append(own)
    return unique
