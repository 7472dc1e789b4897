"""Which lanes of a Trace are drawn, and which levels of nesting in them.

Where not all has room, each lane shows fewer levels, then fewer lanes are shown: those with a
failure first, then by the time in them. A failed slice keeps its level and those right above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.model import Ids, Slices, Trace

ROOM = 64
"""Levels in all lanes together; a lane takes one more, for its name."""
_LEVELS = (48, 24, 12, 6, 4)
"""How many levels of a lane to show, tried in this order until all lanes have room."""


@dataclass(frozen=True)
class Level:
    """One row of bars."""

    depth: int
    skipped: int
    """How many levels right above it are not shown."""


@dataclass(frozen=True)
class Band:
    """A lane that is drawn."""

    lane: int
    levels: tuple[Level, ...]
    below: int
    """How many levels below the last one are not shown."""


def depths(slices: Slices) -> Ids:
    """How many slices enclose each one."""
    found = np.zeros(len(slices), np.int32)
    for first, last in _lanes(slices):
        # Rows are by begin: what ended before a slice begins stands before it, and does not
        # enclose it; all else that stands before it does.
        ended = np.searchsorted(np.sort(slices.end[first:last]), slices.begin[first:last], "right")
        found[first:last] = np.arange(last - first) - ended
    return found


def bands(slices: Slices, depth: Ids, failed: Sequence[int]) -> tuple[list[Band], list[int]]:
    """The lanes to draw, and those that have no room; `failed` are the rows of the failures, the
    one that matters most first.
    """
    spans = {int(slices.lane[first]): (first, last) for first, last in _lanes(slices)}
    deepest = {lane: int(depth[first:last].max()) for lane, (first, last) in spans.items()}
    failed_depth: dict[int, int] = {}
    for row in failed:
        failed_depth.setdefault(int(slices.lane[row]), int(depth[row]))

    def levels(lane: int, limit: int) -> tuple[Level, ...]:
        return _levels(deepest[lane], limit, failed_depth.get(lane, 0))

    limit = next(
        (n for n in _LEVELS if sum(len(levels(lane, n)) + 1 for lane in spans) <= ROOM),
        _LEVELS[-1],
    )
    duration = slices.duration
    busy = {
        lane: int(duration[first:last][depth[first:last] == 0].sum())
        for lane, (first, last) in spans.items()
    }
    by_weight = sorted(spans, key=lambda n: (n not in failed_depth, -busy[n], n))
    shown: set[int] = set()
    left = ROOM
    for lane in by_weight:
        left -= len(levels(lane, limit)) + 1
        if left < 0 and shown:
            break
        shown.add(lane)
    drawn = []
    for lane in sorted(shown):
        rows = levels(lane, limit)
        drawn.append(Band(lane, rows, deepest[lane] - rows[-1].depth))
    return drawn, [lane for lane in spans if lane not in shown]


def by_process(trace: Trace, drawn: Sequence[Band]) -> Iterator[tuple[Band, str]]:
    """The bands by process, each with the name of its process if that begins with it."""

    def process_of(band: Band) -> int:
        lane = trace.lanes[band.lane]
        process = lane.process if lane.thread is None else trace.threads[lane.thread].process
        return -1 if process is None else process

    last = None
    for band in sorted(drawn, key=lambda band: (process_of(band), band.lane)):
        number = process_of(band)
        name = ""
        if number != last and number >= 0:
            process = trace.processes[number]
            pid = "" if process.pid is None else f" ({process.pid})"
            name = f"{process.name or 'process'}{pid}"
        last = number
        yield band, name


def _levels(deepest: int, limit: int, failed: int) -> tuple[Level, ...]:
    """At most `limit` levels of 0 to `deepest`: the first, and those down to a failed slice."""
    if failed < limit:
        return tuple(Level(depth, 0) for depth in range(min(deepest + 1, limit)))
    head = limit // 2
    tail = range(failed - (limit - head) + 1, failed + 1)
    first = Level(tail[0], tail[0] - head)
    return (
        *(Level(depth, 0) for depth in range(head)),
        first,
        *(Level(depth, 0) for depth in tail[1:]),
    )


def _lanes(slices: Slices) -> list[tuple[int, int]]:
    """First and last row of each lane that has slices."""
    edges = np.flatnonzero(np.diff(slices.lane, prepend=-1)).tolist()
    return list(zip(edges, [*edges[1:], len(slices)]))
