"""Which slice encloses which: parents from times, by a few NumPy operations for a whole lane.

Lanes whose slices don't nest are mended first: `mending`.
"""

from __future__ import annotations

import numpy as np

from tilelang_trace.trace.model import Ids, Ints

DEEPEST = 512
"""Slices above one another that Perfetto shows in their place."""


def nest(begin: Ints, end: Ints) -> Ids | None:
    """Parents of the slices of one lane, sorted by begin and then the longer first; None if they
    don't nest.

    A slice's depth is the number of earlier slices less those that ended before it began. If the
    slices nest, its parent is the last one before it that is one level higher.
    """
    count = len(begin)
    if np.any(end <= begin):
        return None
    depth = np.arange(count) - np.searchsorted(np.sort(end), begin, side="right")
    by_depth = np.argsort(depth, kind="stable")
    levels = np.split(by_depth, np.flatnonzero(np.diff(depth[by_depth])) + 1)
    parent = np.full(count, -1, np.int32)
    for upper, lower in zip(levels, levels[1:]):
        parent[lower] = upper[np.searchsorted(upper, lower) - 1]
    nested = np.flatnonzero(parent >= 0)
    if np.any(end[nested] > end[parent[nested]]):
        return None
    return parent


def too_deep(lane: Ids, begin: Ints, end: Ints) -> Ids:
    """The rows, in any order, that have `DEEPEST` slices or more around them."""
    found = [np.empty(0, np.int32)]
    order = np.lexsort((-end, begin, lane)).astype(np.int32)
    starts = np.flatnonzero(np.diff(lane[order], prepend=-1)) if len(lane) else order
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(lane)]):
        if stop - start > DEEPEST:
            rows = order[start:stop]
            over = np.searchsorted(np.sort(end[rows]), begin[rows], side="right")
            found.append(rows[np.arange(len(rows)) - over >= DEEPEST])
    return np.concatenate(found)
