"""The times of repeated runs in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilelang_trace.analysis.compare.compared_pass import (
    Ns,
    exact,
)


@dataclass(frozen=True)
class Spread:
    """What the times of one pass, or of the whole, were over the runs of a side."""

    runs: int
    mean_ns: Ns
    median_ns: Ns
    least_ns: int
    most_ns: int

    @property
    def range_ns(self) -> int:
        """From the least to the most."""
        return self.most_ns - self.least_ns


def spread(runs: Sequence[int]) -> Spread:
    """Of at least one run: `OneSide.self_runs`, `OneSide.inclusive_runs`, `Totals.base_runs`."""
    ordered = sorted(runs)
    middle = Fraction(ordered[(len(runs) - 1) // 2] + ordered[len(runs) // 2], 2)
    mean = Fraction(sum(runs), len(runs))
    return Spread(len(runs), exact(mean), exact(middle), ordered[0], ordered[-1])
