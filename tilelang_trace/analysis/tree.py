"""The slices as a tree for printing: a line a slice, short ones hidden and accounted for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, sum_by
from tilelang_trace.analysis.columns import largest
from tilelang_trace.analysis.counted import counted
from tilelang_trace.analysis.runs import Places
from tilelang_trace.analysis.summary import OTHER
from tilelang_trace.trace.arguments import KINDS
from tilelang_trace.trace.model import Trace

LONGEST = 200
"""So many slices a tree shows when nobody says how short a slice must be to be hidden."""


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
    detail: str
    """What another tool says that it was about; else empty."""
    lane: int
    thread: str
    hidden: Hidden
    """The slices below this one that are not shown, unless they are below a deeper line."""


@dataclass(frozen=True)
class Tree:
    """The lines of all threads, and what they leave out."""

    lines: tuple[TreeLine, ...]
    min_ns: int | None
    """Slices shorter than this are hidden; None if all but the `LONGEST` ones are."""
    hidden: Hidden


def tree(trace: Trace, min_ns: int | None = None) -> Tree:
    """The tree of the slices that count of at least `min_ns`; by default of the `LONGEST` ones."""
    slices, duration = trace.slices, trace.slices.duration
    in_total = counted(trace)
    if min_ns is None:
        # Of equal times the first: a slice as long as its parent stands after it.
        shown = np.zeros(len(slices), np.bool_)
        rows = np.flatnonzero(in_total)
        shown[rows[largest(duration[rows], LONGEST)]] = True
    else:
        shown = in_total & (duration >= min_ns)
    short = in_total & ~shown
    # A slice is no shorter than those in it: what is hidden are whole branches.
    above = nearest_above(slices.parent, shown)
    branch = short & (slices.parent == above)
    hidden_count = sum_by(above[short] + 1, short[short].astype(np.int64), len(slices) + 1)
    hidden_ns = sum_by(above[branch] + 1, duration[branch], len(slices) + 1)

    origin = int(slices.begin[in_total].min()) if in_total.any() else 0
    places = Places(trace)
    depth: dict[int, int] = {}
    lines = []
    for row in np.flatnonzero(shown).tolist():
        depth[row] = depth.get(int(slices.parent[row]), -1) + 1
        lines.append(
            TreeLine(
                depth=depth[row],
                name=trace.name(row),
                kind=KINDS[places.kinds[row]] if places.kinds[row] >= 0 else OTHER,
                start_ns=int(slices.begin[row]) - origin,
                inclusive_ns=int(duration[row]),
                status=places.status(row),
                detail=places.detail(row),
                lane=int(slices.lane[row]),
                thread=places.thread(int(slices.lane[row])),
                hidden=Hidden(int(hidden_count[row + 1]), int(hidden_ns[row + 1])),
            )
        )
    return Tree(tuple(lines), min_ns, Hidden(int(short.sum()), int(duration[branch].sum())))
