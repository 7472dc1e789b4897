"""The slices as a tree for printing: a line a slice, in order of time, short ones hidden and accounted for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above, sum_by
from tilelang_trace.analysis.runs import thread_of
from tilelang_trace.analysis.summary import OTHER, on_threads
from tilelang_trace.trace.arguments import OK, kind_of
from tilelang_trace.trace.model import Trace

LINES = 200
"""Lines of a tree when nobody says how short a slice must be to be hidden."""


@dataclass(frozen=True)
class Hidden:
    """Slices that were left out: how many, and the time of the outermost ones of them."""

    count: int
    ns: int


@dataclass(frozen=True)
class TreeLine:
    """One slice of the tree."""

    depth: int
    """0 is the top of a thread."""
    name: str
    kind: str
    """`other` for slices of other tools."""
    start_ns: int
    """Since the earliest slice of the Trace began."""
    inclusive_ns: int
    status: str
    lane: int
    thread: str
    hidden: Hidden
    """The slices below this one that are not shown, unless they are below a deeper line."""


@dataclass(frozen=True)
class Tree:
    """The lines of all threads, and what they leave out."""

    lines: tuple[TreeLine, ...]
    min_ns: int
    """Slices shorter than this are hidden."""
    hidden: Hidden


def tree(trace: Trace, min_ns: int | None = None) -> Tree:
    """The tree of the slices on threads that last at least `min_ns`; of the `LINES` longest ones by default."""
    slices, duration = trace.slices, trace.slices.duration
    counted = on_threads(trace)
    if min_ns is None:
        min_ns = _min_ns_for(duration[counted], LINES)
    shown = counted & (duration >= min_ns)
    short = counted & ~shown
    # A slice is no shorter than those in it: what is shown is a tree, what is hidden are whole branches.
    above = nearest_above(slices.parent, shown)
    branch = short & (slices.parent == above)
    hidden_count = sum_by(above[short] + 1, short[short].astype(np.int64), len(slices) + 1)
    hidden_ns = sum_by(above[branch] + 1, duration[branch], len(slices) + 1)

    origin = int(slices.begin[counted].min()) if counted.any() else 0
    statuses = trace.arguments.values("status")
    depth: dict[int, int] = {}
    lines = []
    for row in np.flatnonzero(shown).tolist():
        depth[row] = depth.get(int(slices.parent[row]), -1) + 1
        lines.append(
            TreeLine(
                depth=depth[row],
                name=trace.name(row),
                kind=kind_of(trace.category(row)) or OTHER,
                start_ns=int(slices.begin[row]) - origin,
                inclusive_ns=int(duration[row]),
                status=str(statuses.get(row, OK)),
                lane=int(slices.lane[row]),
                thread=thread_of(trace, int(slices.lane[row])),
                hidden=Hidden(int(hidden_count[row + 1]), int(hidden_ns[row + 1])),
            )
        )
    return Tree(tuple(lines), min_ns, Hidden(int(short.sum()), int(duration[branch].sum())))


def _min_ns_for(durations: npt.NDArray[np.int64], lines: int) -> int:
    """The least time that at most so many slices reach; 0 if there are no more than that."""
    if len(durations) <= lines:
        return 0
    longest_hidden = len(durations) - lines - 1
    return int(np.partition(durations, longest_hidden)[longest_hidden]) + 1
