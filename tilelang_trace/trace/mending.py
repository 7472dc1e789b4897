"""Slices of a lane that don't nest -> slices that do, on as many lanes as that takes.

Each slice is looked at by itself, in the order of time: for lanes of files of other tools, of which
`nesting` finds no parents.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilelang_trace.trace.model import Ids, Ints
from tilelang_trace.trace.rules import (
    EMPTY_SLICE,
    NEGATIVE_DURATION,
    OVERLAP,
    ROUNDING,
    SHIFTED,
    Rule,
)

ROUNDING_NS = 1000
"""A child that sticks out of its parent by no more than this was rounded to microseconds, and is
cut to fit, unless that took more than half of it.
"""

_TRIES = 4
"""So many lanes are tried whose last nanoseconds turn out to be taken."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What was done to one slice."""

    index: int
    rule: Rule
    done: str
    other: int = -1
    """The slice that it overlaps."""


@dataclass(frozen=True)
class Mended:
    """One lane made well-formed: per slice its new times and its lane (0 is the old one)."""

    begin: Ints
    end: Ints
    lane: Ids
    mends: list[Mend]


class _Open:
    __slots__ = ("begin", "end", "index", "spread")

    def __init__(self, begin: int, end: int, spread: bool, index: int) -> None:
        self.begin, self.end, self.spread, self.index = begin, end, spread, index

    def is_over(self, time: int) -> bool:
        return self.spread or self.end <= time


class _Place(NamedTuple):
    """Where a slice fits into a lane."""

    lane: int
    under: int
    """How many open slices of the lane are around it."""
    begin: int
    end: int
    is_rounded: bool = False
    """Whether it would begin inside the slice before it, by a rounding."""


class _Lanes:
    """Lanes, and the open slices of each, outermost first, while time goes on.

    The room of a lane is the end of its innermost open slice, and infinite if none is open. A tree
    over the rooms finds the first lane with room for a slice in logarithmic time: leaf k stands at
    `_size + k`, and each node has the most of the two below it. Leaves behind the last lane have
    room for anything: new lanes.
    """

    def __init__(self) -> None:
        self.stacks: list[list[_Open]] = []
        self._size = 1
        self._tree = [math.inf, math.inf]
        self._ends: list[tuple[int, int]] = []
        """A heap of when which lane has a slice that ends."""

    def _first(self, needed: int) -> int:
        """The first lane that has so much room."""
        if self._tree[1] < needed:
            self._grow()
        node = 1
        while node < self._size:
            node = 2 * node + (self._tree[2 * node] < needed)
        return node - self._size

    def _grow(self) -> None:
        rooms = self._tree[self._size :]
        self._size *= 2
        self._tree = [math.inf] * (2 * self._size)
        for lane, room in enumerate(rooms):
            self._set_room(lane, room)

    def _set_room(self, lane: int, room: float) -> None:
        node = self._size + lane
        self._tree[node] = room
        while node := node // 2:
            self._tree[node] = max(self._tree[2 * node], self._tree[2 * node + 1])

    def _update(self, lane: int) -> None:
        stack = self.stacks[lane]
        around = [slice_ for slice_ in stack[-2:] if not slice_.spread]
        self._set_room(lane, around[-1].end if around else math.inf)

    def advance(self, time: int) -> None:
        """Take out what has ended until then."""
        while self._ends and self._ends[0][0] <= time:
            _, lane = heapq.heappop(self._ends)
            stack = self.stacks[lane]
            while stack and stack[-1].end <= time:
                stack.pop()
            self._update(lane)

    def _fit(self, lane: int, start: int, stop: int, excess: int, step: int = 0) -> _Place | None:
        stack = self.stacks[lane]
        # From the innermost slice outwards: what is over, or ends so little behind the start that
        # both were read from one time, is before this slice. What starts inside an empty slice,
        # which has been given its 1 ns, starts after it.
        at, under, is_rounded = start, len(stack), False
        while under:
            around = stack[under - 1]
            is_rounded_up = at < around.end <= min(start + step, stop - 1)
            if not (around.is_over(at) or is_rounded_up):
                break
            is_rounded = is_rounded or (is_rounded_up and not around.spread)
            under -= 1
            at = max(at, around.end)
        if under:
            at = max(at, stack[under - 1].begin)
        until = max(stop, at + 1)
        if under and until > stack[under - 1].end:
            room = stack[under - 1].end
            if at >= room or until - room > excess:
                return None
            until = room
        return _Place(lane, under, at, until, is_rounded)

    def place(self, start: int, stop: int, excess: int, step: int) -> _Place:
        """Where a slice fits, if up to `excess` ns of its end may be cut; in the first lane also
        `step` ns of its begin.
        """
        place = self._fit(0, start, stop, excess, step) if self.stacks else None
        if place is not None:
            return place
        hidden = []
        for _ in range(_TRIES):
            lane = self._first(max(stop, start + 1) - excess)
            if lane == len(self.stacks):
                break
            place = self._fit(lane, start, stop, excess)
            if place is not None:
                break
            hidden.append(lane)  # empty slices take its last nanoseconds
            self._set_room(lane, -math.inf)
        for lane in hidden:
            self._update(lane)
        if place is None:
            place = _Place(len(self.stacks), 0, start, max(stop, start + 1))
            self.stacks.append([])
        return place

    def put(self, place: _Place, spread: bool, index: int) -> None:
        """Put a slice there; `spread`: it was empty, and encloses nothing."""
        stack = self.stacks[place.lane]
        del stack[place.under :]
        stack.append(_Open(place.begin, place.end, spread, index))
        if place.lane >= self._size:
            self._grow()
        heapq.heappush(self._ends, (place.end, place.lane))
        self._update(place.lane)


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


def _step(time: int) -> int:
    """How far from each other two times may be read that are one, ns: a double holds microseconds
    since 1970 in steps of 250 ns.
    """
    return math.ceil(math.ulp(time / 1000) * 1000)


def mend(begin: Ints, end: Ints) -> Mended:
    """Make the slices of one lane, given in the file's order, nest or be disjoint.

    Empty slices get 1 ns, and what would start inside them starts after them; a child that is too
    long by a rounding is cut to its parent, one that is too early moves behind the one before; what
    truly overlaps moves to the first further lane that has room for it. Takes O(n log n) for n
    slices, however they overlap.
    """
    begins, ends = begin.copy(), end.copy()
    numbers = np.zeros(len(begin), np.int32)
    mends: list[Mend] = []
    lanes = _Lanes()

    for i in _mending_order(begin, end):
        start, stop, empty = int(begin[i]), int(end[i]), bool(end[i] <= begin[i])
        if stop < start:
            mends.append(Mend(i, NEGATIVE_DURATION, f"lasted {stop - start} ns, given 1 ns"))
        elif stop == start:
            mends.append(Mend(i, EMPTY_SLICE, "lasted 0 ns, given 1 ns"))
        lanes.advance(start)
        step = _step(start)
        excess = 0 if empty else max(step, min(ROUNDING_NS, (stop - start) // 2))
        place = lanes.place(start, stop, excess, step)
        if place.end < stop:
            mends.append(Mend(i, ROUNDING, f"cut by {stop - place.end} ns to its parent"))
        if place.lane:
            other = lanes.stacks[0][-1].index
            mends.append(Mend(i, OVERLAP, f"moved to lane {place.lane + 1}", other))
        if place.begin > start and not empty:
            rule = ROUNDING if place.is_rounded else SHIFTED
            done = f"begin moved by {place.begin - start} ns, behind what is before it"
            mends.append(Mend(i, rule, done))
        lanes.put(place, empty, i)
        begins[i], ends[i], numbers[i] = place.begin, place.end, place.lane
    return Mended(begins, ends, numbers, mends)
