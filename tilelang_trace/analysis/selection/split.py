"""One Trace for each kernel that a Trace shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compiles import compiles, kernels, outermost
from tilelang_trace.analysis.selection.leave_out import leave_out
from tilelang_trace.analysis.selection.subset import columns_of, renumbered, rows_between
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Counters, Instants, Trace


def split_kernels(trace: Trace) -> list[tuple[str, Trace]]:
    """A Trace for each compile that lies in no other one, by begin, with the kernel's name.

    Names are unique: a kernel that is compiled again is `name 2`. Each Trace has what lies in the
    compile, with its times, its thread and process, and the instants and counters of these from its
    begin to its end; the metadata is that of the whole, and `kernel`.
    """
    rows = _rows(trace)
    kernel_of = kernels(trace)
    labels = [kernel_of[row] for row in rows]
    ends = _ends(trace)
    return [
        (name, _of_rows(trace, row, int(ends[row]), label))
        for row, label, name in zip(rows, labels, _unique(labels))
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


def _ends(trace: Trace) -> npt.NDArray[np.int64]:
    """For each row the first one behind all that lie in it."""
    slices = trace.slices
    ends = np.empty(len(slices), np.int64)
    starts = np.flatnonzero(np.diff(slices.lane, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(slices)]):
        begin, end = slices.begin[start:stop], slices.end[start:stop]
        ends[start:stop] = start + np.searchsorted(begin, end)
    return ends


def _of_rows(trace: Trace, start: int, stop: int, kernel: str) -> Trace:
    """The Trace of one slice and all that lies in it, which are the rows from start to stop."""
    begin, end = int(trace.slices.begin[start]), int(trace.slices.end[start])
    lane = int(trace.slices.lane[start])
    parts = replace(
        rows_between(trace, start, stop), metadata={**trace.metadata, "kernel": kernel}, findings=()
    )
    instants = trace.instants
    here = (instants.lane == lane) & (instants.time >= begin) & (instants.time <= end)
    parts = replace(
        parts,
        instants=Instants(
            instants.time[here], instants.name[here], instants.category[here], instants.lane[here]
        ),
        instant_columns=columns_of(trace.instant_arguments.columns, here, renumbered(here)),
    )
    counters = trace.counters
    meanwhile = (counters.time >= begin) & (counters.time <= end)
    parts = replace(
        parts,
        counters=Counters(
            counters.track[meanwhile], counters.time[meanwhile], counters.value[meanwhile]
        ),
    )
    return assemble(_with_one_lane(parts, lane))


def _with_one_lane(parts: Parts, number: int) -> Parts:
    """The parts, all of whose slices and instants are on this lane, without the lanes, threads,
    processes and counters of others.
    """
    lane = parts.lanes[number]
    thread = None if lane.thread is None else parts.threads[lane.thread]
    process = lane.process if thread is None else thread.process

    tracks = [
        number
        for number, track in enumerate(parts.counter_tracks)
        if track.thread in (None, lane.thread) and track.process in (None, process)
    ]
    own_track = np.full(len(parts.counter_tracks) + 1, -1, np.int32)
    own_track[tracks] = np.arange(len(tracks))
    counters, instants = parts.counters, parts.instants
    assert counters is not None and instants is not None
    track = own_track[counters.track]
    return replace(
        parts,
        processes=[] if process is None else [parts.processes[process]],
        threads=[] if thread is None else [replace(thread, process=0)],
        lanes=[replace(lane, thread=_first(lane.thread), process=_first(lane.process))],
        lane=np.zeros_like(parts.lane),
        instants=replace(instants, lane=np.zeros_like(instants.lane)),
        counter_tracks=[
            replace(old, thread=_first(old.thread), process=_first(old.process))
            for old in (parts.counter_tracks[number] for number in tracks)
        ],
        counters=Counters(track[track >= 0], counters.time[track >= 0], counters.value[track >= 0]),
    )


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
