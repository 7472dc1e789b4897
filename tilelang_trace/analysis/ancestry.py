"""Who stands above whom, for all slices at once: what summaries and trees are made of.

A recording may have a million slices, so nothing here walks them one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.model import Ids, Ints, Mask, Slices


def nearest_above(parent: Ids, wanted: Mask) -> Ids:
    """For each slice its nearest enclosing slice that is wanted, -1 if there is none.

    Each round doubles how far a slice has looked up, so the rounds are as many as the binary
    digits of the longest chain of unwanted slices.
    """
    above = parent.copy()
    seeking = np.flatnonzero(~wanted[above] & (above >= 0)) if len(above) else above
    while len(seeking):
        # Read all before writing: a slice that looks through another must see where that one stood.
        above[seeking] = further = above[above[seeking]]
        seeking = seeking[(further >= 0) & ~wanted[further]]
    return above


def outermost_of_name(slices: Slices, rows: npt.NDArray[np.int64]) -> Mask:
    """Which of these rows lie in no other one of the same name, directly or through others.

    The slices of a lane nest or are disjoint. So, among those of one name and lane by their begin,
    a slice lies in an earlier one exactly if it begins before the latest end so far.
    """
    rows_by_name = np.argsort(slices.name[rows], kind="stable")
    ordered = rows[rows_by_name]
    name, lane = slices.name[ordered], slices.lane[ordered]
    new_group = (np.diff(name, prepend=-1) != 0) | (np.diff(lane, prepend=-1) != 0)
    group = np.cumsum(new_group)
    begin, end = slices.begin[ordered], slices.end[ordered]
    # One running maximum for all groups: each has its own range of times.
    first = int(begin.min(initial=0))
    span = int(end.max(initial=0)) - first + 1
    if span * (int(group[-1]) + 1 if len(group) else 1) < 2**63:
        begin, end = (times - first + group * span for times in (begin, end))
    else:
        times, rank = np.unique(np.concatenate([begin, end]), return_inverse=True)
        begin, end = rank.reshape(2, -1) + group * len(times)
    latest_end = np.maximum.accumulate(end)
    outermost = np.empty(len(rows), np.bool_)
    outermost[rows_by_name] = new_group | (begin >= np.roll(latest_end, 1))
    return outermost


def sum_by(group: npt.NDArray[Any], values: Ints, count: int) -> Ints:
    """The exact sum of the values of each group 0 to `count` (`np.bincount` adds floats)."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums


def time_below(above: Ids, duration: Ints, counted: Mask) -> Ints:
    """For each slice the time of the counted slices whose `above` it is."""
    inner = np.flatnonzero(counted & (above >= 0))
    return sum_by(above[inner], duration[inner], len(above))
