"""Which slice encloses which: parents from times, and the mending of lanes whose slices don't nest.

`nest` is a few NumPy operations and takes every well-formed lane; `mend` walks one lane slice by
slice and is called only for lanes that break the rules (files of other tools).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.findings import (
    EMPTY_SLICE,
    NEGATIVE_DURATION,
    OVERLAP,
    ROUNDING,
    SHIFTED,
    Rule,
)
from tilelang_trace.trace.model import Ids, Ints

ROUNDING_NS = 1000
"""A child that sticks out of its parent by no more than this was rounded to microseconds, and is
cut to fit.
"""


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


@dataclass(frozen=True)
class Mended:
    """One lane made well-formed: per slice its new times and its lane (0 is the old one)."""

    begin: Ints
    end: Ints
    lane: Ids
    mends: list[tuple[int, Rule, str]]
    """What was done: (index of the slice, rule, what was done)."""


class _Open:
    __slots__ = ("begin", "end", "spread")

    def __init__(self, begin: int, end: int, spread: bool) -> None:
        self.begin, self.end, self.spread = begin, end, spread

    def is_over(self, time: int) -> bool:
        return self.spread or self.end <= time


def _mending_order(begin: Ints, end: Ints) -> list[int]:
    """By begin; of equal ones the empty slices that the file has first, then the longer, then the
    other empty ones.
    """
    empty = end <= begin
    first_full: dict[int, int] = {}
    for i in np.flatnonzero(~empty).tolist():
        first_full.setdefault(int(begin[i]), i)

    def key(i: int) -> tuple[int, int, int, int]:
        at = int(begin[i])
        if empty[i]:
            return at, 0 if i < first_full.get(at, i + 1) else 2, 0, i
        return at, 1, -int(end[i]), i

    return sorted(range(len(begin)), key=key)


def mend(begin: Ints, end: Ints) -> Mended:
    """Make the slices of one lane, given in the file's order, nest or be disjoint.

    Empty slices get 1 ns, and what would start inside them starts after them; a child that is too
    long by a rounding is cut to its parent; what truly overlaps moves to a further lane.
    """
    begins, ends = begin.copy(), end.copy()
    lanes = np.zeros(len(begin), np.int32)
    mends: list[tuple[int, Rule, str]] = []
    stacks: list[list[_Open]] = [[]]

    for i in _mending_order(begin, end):
        start, stop, empty = int(begin[i]), int(end[i]), bool(end[i] <= begin[i])
        if stop < start:
            mends.append((i, NEGATIVE_DURATION, f"lasted {stop - start} ns, given 1 ns"))
        elif stop == start:
            mends.append((i, EMPTY_SLICE, "lasted 0 ns, given 1 ns"))
        number = 0
        for number, stack in enumerate(stacks):  # noqa: B007 - the lane that the loop stops at
            while stack and stack[-1].end <= start:
                stack.pop()
            # What starts inside an empty slice, which has been given its 1 ns, starts after it.
            at, open_count = start, len(stack)
            while open_count and stack[open_count - 1].is_over(at):
                open_count -= 1
                at = max(at, stack[open_count].end)
            parent = stack[open_count - 1] if open_count else None
            if parent is not None:
                at = max(at, parent.begin)
            until = max(stop, at + 1)
            if parent is None or until <= parent.end:
                break
            if at < parent.end and until - parent.end <= ROUNDING_NS:
                mends.append((i, ROUNDING, f"cut by {until - parent.end} ns to its parent"))
                until = parent.end
                break
        else:
            number, at, until, open_count = len(stacks), start, max(stop, start + 1), 0
            stacks.append([])
        if number:
            mends.append((i, OVERLAP, f"moved to lane {number + 1}"))
        if at > start and not empty:
            mends.append((i, SHIFTED, f"moved by {at - start} ns behind an empty slice"))
        del stacks[number][open_count:]
        stacks[number].append(_Open(at, until, empty))
        begins[i], ends[i], lanes[i] = at, until, number
    return Mended(begins, ends, lanes, mends)
