"""The bars of a picture: slices, where they are wide enough to be seen, else several in one bar.

A million slices have no room in a picture. Those that are narrower than some pixels, and stand next
to each other on one level, become one bar that says how many they are. The width is the smallest
with which the picture stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.model import Ids, Mask, Slices

_MOST_BARS = 900
_MOST_CHARACTERS = 60_000
"""Of the names in all bars."""
_NARROW = tuple(1.5 * 2**n for n in range(12))
"""Widths in pixels below which bars are merged, tried in this order."""


@dataclass(frozen=True)
class Bar:
    """A slice, or several next to each other."""

    row: int
    """Of the slice, or of the first one."""
    count: int
    depth: int
    lane: int
    begin: int
    """ns, as `end`."""
    end: int
    longest: int
    """Row of the longest of them."""
    failed: int
    """How many of them failed."""


def bars(
    slices: Slices,
    depth: Ids,
    wanted: Mask,
    alone: Sequence[int],
    failed: Mask,
    name_length: Ids,
    ns_per_pixel: float,
) -> list[Bar]:
    """The bars for the wanted slices. Those in `alone` are never merged; `name_length` has the
    characters of the name of each.
    """
    rows = np.flatnonzero(wanted)
    rows = rows[np.lexsort((slices.begin[rows], depth[rows], slices.lane[rows]))]
    on_its_own = np.zeros(len(slices), np.bool_)
    on_its_own[list(alone)] = True
    first = np.empty(0, np.int64)
    for narrow in _NARROW:
        first = _firsts(slices, depth, rows, on_its_own[rows], narrow * ns_per_pixel)
        names = int(name_length[rows[first]].sum())
        if len(first) <= _MOST_BARS and names <= _MOST_CHARACTERS:
            break
    return _collected(slices, depth, rows, first, failed)


def _firsts(
    slices: Slices, depth: Ids, rows: npt.NDArray[np.int64], alone: Mask, narrow: float
) -> npt.NDArray[np.int64]:
    """Where in `rows` each bar begins."""
    begin, end = slices.begin[rows], slices.end[rows]
    merges = ((end - begin) < narrow) & ~alone
    new = np.ones(len(rows), np.bool_)
    new[1:] = (
        ~(merges[1:] & merges[:-1])
        | (np.diff(depth[rows]) != 0)
        | (np.diff(slices.lane[rows]) != 0)
        | (begin[1:] - end[:-1] >= narrow)
    )
    return np.flatnonzero(new)


def _collected(
    slices: Slices,
    depth: Ids,
    rows: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    failed: Mask,
) -> list[Bar]:
    if not len(rows):
        return []
    count = np.diff(first, append=len(rows))
    duration = slices.duration
    failures = np.add.reduceat(failed[rows].astype(np.int64), first)
    found = []
    for start, many, fails in zip(first.tolist(), count.tolist(), failures.tolist()):
        inside = rows[start : start + many]
        longest = int(inside[int(np.argmax(duration[inside]))])
        row = int(inside[0])
        found.append(
            Bar(
                row=row,
                count=many,
                depth=int(depth[row]),
                lane=int(slices.lane[row]),
                begin=int(slices.begin[row]),
                end=int(slices.end[inside[-1]]),
                longest=longest,
                failed=fails,
            )
        )
    return found
