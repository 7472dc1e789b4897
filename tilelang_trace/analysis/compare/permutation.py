"""Which columns of times differ between the first runs and the others: a permutation test.

If nothing has changed, it does not matter which runs are called base and which new. So the labels
are dealt anew in all ways, or in a random `_MOST` of them where there are more, and a difference
counts if at most `LEVEL` of the deals give any column so large a one. That is the max-T method of
Westfall and Young: however many columns there are, however they depend on each other and whatever
their distribution, at most `LEVEL` of comparisons find anything that is not there. What it takes
for granted is that the runs of both sides could have come in any order.

The statistic is the difference of the mean logarithms through the spread within the sides. In
logarithms one run in which everything was slow does little harm, and a pass of a second weighs as
much as one of a millisecond; of several statistics tried it found most (t of plain, of clipped and
of logarithmic times, medians).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

LEVEL = Fraction(1, 20)

_MOST = 4000
_LEAST_SPREAD = 0.03
"""As a part of the time. Few runs often agree by chance: that must not make them precise."""
_SMALLEST_NS = 10_000
"""Added to each time: by so much all passes vary, those of a few µs too."""
_BLOCK = 100
"""Deals, and columns, that are worked on at once: few enough to stay in the processor's cache, and
for a matrix product without threads, which would wait for each other on a busy machine.
"""

Floats: TypeAlias = NDArray[np.float64]


def can_tell(base: int, new: int) -> bool:
    """Whether there are enough runs for a difference at this level."""
    # With as many on both sides each deal has its mirror image, with a difference of the same size.
    return LEVEL * math.comb(base + new, base) >= (2 if base == new else 1)


def least_runs() -> int:
    """Runs that each side must have, with as many on the other."""
    return next(runs for runs in range(1, 100) if can_tell(runs, runs))


def logarithms(times: NDArray[Any]) -> Floats:
    """What times are compared as."""
    result: Floats = np.log(times + float(_SMALLEST_NS))
    return result


def differing(logs: Floats, base: int) -> Floats:
    """For each column 1 if the runs (rows) from `base` on are longer than those before, -1 if they
    are shorter, 0 if that can't be told.
    """
    logs = logs - logs.mean(axis=0)
    deals = _deals(len(logs), base)
    found = _statistic(deals[:1], logs, base)[0]
    sizes = np.abs(found) * (1 - 1e-9)  # rounding breaks no tie
    reached = len(deals) - np.searchsorted(np.sort(_largest(deals, logs, base)), sizes)
    told = reached * LEVEL.denominator <= len(deals) * LEVEL.numerator
    result: Floats = np.where(told, np.sign(found), 0.0)
    return result


def _largest(deals: Floats, logs: Floats, base: int) -> Floats:
    """The largest difference of any column, for each deal."""
    largest = np.zeros(len(deals))
    for start in range(0, len(deals), _BLOCK):
        some = slice(start, start + _BLOCK)
        for column in range(0, logs.shape[1], _BLOCK):
            sizes = _statistic(deals[some], logs[:, column : column + _BLOCK], base)
            np.maximum(largest[some], np.abs(sizes).max(axis=1), out=largest[some])
    return largest


def _deals(runs: int, base: int) -> Floats:
    """A row for each way to call `base` of the runs base, with ones for these; first the real one.

    The random ones are the same each time.
    """
    if math.comb(runs, base) <= _MOST:
        chosen = np.array(list(combinations(range(runs), base)))
    else:
        chosen = np.random.default_rng(0).random((_MOST, runs)).argsort(axis=1)[:, :base]
        chosen[0] = np.arange(base)
    deals = np.zeros((len(chosen), runs))
    np.put_along_axis(deals, chosen, 1.0, axis=1)
    return deals


def _statistic(deals: Floats, logs: Floats, base: int) -> Floats:
    """For each deal and column; the columns have the mean 0."""
    new = len(logs) - base
    # As the mean of all is 0, the sum of the others is minus this one.
    delta: Floats = deals @ (logs * -(1 / base + 1 / new))
    spread = delta * delta  # in place from here on: these are large
    spread *= -base * new / (base + new)
    spread += (logs * logs).sum(axis=0)
    np.maximum(spread, 0, out=spread)
    spread /= base + new - 2
    np.sqrt(spread, out=spread)
    spread += _LEAST_SPREAD
    delta /= spread
    return delta
