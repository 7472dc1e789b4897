"""Where the clock of each side of a comparison stands still, so that what is matched starts
together.

A side that is ahead waits: right before the next matched slice begins, its clock stops until the
other side is there too. Everything that is open on that side at that moment lasts longer by the
pause, all else keeps its length, and no time gets shorter. So slices that nested still nest, and
what happened at one time on two threads of a side still does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.model import Ints, Trace


@dataclass(frozen=True, eq=False)
class Clock:
    """A clock that starts at zero, `origin`, and pauses now and then."""

    origin: int
    pauses: Ints
    """When it stops, ns after the origin, ascending."""
    behind: Ints
    """How far it is behind in all before each of the pauses, and after the last one."""

    @classmethod
    def steady(cls, origin: int) -> Clock:
        """One that never pauses."""
        return cls(origin, np.empty(0, np.int64), np.zeros(1, np.int64))

    def begins(self, times: Ints) -> Ints:
        """What it shows when something begins at these times: a pause then is over already."""
        since = times - self.origin
        shown: Ints = since + self.behind[np.searchsorted(self.pauses, since, "right")]
        return shown

    def ends(self, times: Ints) -> Ints:
        """What it shows when something ends at these times: a pause then is still to come."""
        since = times - self.origin
        shown: Ints = since + self.behind[np.searchsorted(self.pauses, since, "left")]
        return shown


def start_of(trace: Trace) -> int:
    """The time of the first thing in a Trace, ns."""
    columns = (trace.slices.begin, trace.instants.time, trace.counters.time)
    return min((int(column.min()) for column in columns if len(column)), default=0)


def paused(pairs: Mapping[int, int], base: Trace, new: Trace) -> tuple[Clock, Clock]:
    """A clock for each side, by which these pairs of slices (rows) begin at one time.

    Where the order of the two sides differs (a pass that moved, threads that took turns in another
    way), the slices that keep the longest common order count, and the others lie where they lie.
    """
    rows = np.array(list(pairs.items()), np.int64).reshape(-1, 2)
    starts = start_of(base), start_of(new)
    times = {
        (begin, other)
        for begin, other in zip(
            (base.slices.begin[rows[:, 0]] - starts[0]).tolist(),
            (new.slices.begin[rows[:, 1]] - starts[1]).tolist(),
        )
    }
    at = np.array(_common_order(times), np.int64).reshape(-1, 2)
    # From one to the next, both sides take as long as the slower one.
    together = np.cumsum(np.diff(at, axis=0, prepend=0).max(axis=1))
    clocks = [
        Clock(start, own, np.concatenate([[0], together - own])) for start, own in zip(starts, at.T)
    ]
    return clocks[0], clocks[1]


def _common_order(times: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of these pairs of times that can be had so that both grow from pair to pair."""
    # Of pairs with one first time the later second ones come first, so that only one can be taken.
    ordered = sorted(times, key=lambda pair: (pair[0], -pair[1]))
    last_of: list[int] = []
    """For each length of a row of pairs, the index of the pair that the best one ends with."""
    smallest: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(ordered):
        length = bisect_left(smallest, second)
        before.append(last_of[length - 1] if length else -1)
        if length == len(smallest):
            smallest.append(second)
            last_of.append(index)
        else:
            smallest[length], last_of[length] = second, index
    chosen = []
    index = last_of[-1] if last_of else -1
    while index >= 0:
        chosen.append(ordered[index])
        index = before[index]
    return chosen[::-1]
