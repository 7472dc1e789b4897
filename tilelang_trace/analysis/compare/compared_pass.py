"""One pass of a comparison, with both its sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

Ns: TypeAlias = "int | Fraction"
"""Nanoseconds: of one run, or the exact mean of several."""

Change: TypeAlias = Literal["matched", "added", "removed", "renamed", "moved", "not_reached"]
"""What became of a pass. `renamed` is an offer: another name in the same place; `moved` runs
elsewhere; `not_reached` stands behind the failure that ended the other side.
"""
CHANGES: tuple[Change, ...] = get_args(Change)

Verdict: TypeAlias = Literal["slower", "faster", "same", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def exact(ns: Fraction) -> Ns:
    """As an int if it is whole."""
    return ns.numerator if ns.denominator == 1 else ns


def mean(runs: Sequence[int]) -> Ns:
    """The exact mean, an int if it is whole."""
    return runs[0] if len(runs) == 1 else exact(Fraction(sum(runs), len(runs)))


@dataclass(frozen=True)
class OneSide:
    """A pass on one side: its row in each run of that side, and its times."""

    name: str
    rows: tuple[int | None, ...]
    """Its row in the Trace of each run; None in a run that has no such pass."""
    status: str
    """Of the first run that has it."""
    inclusive_ns: Ns
    self_ns: Ns
    inclusive_runs: tuple[int, ...]
    """Inclusive time in each run, 0 where it is missing."""
    self_runs: tuple[int, ...]
    error: str = ""
    """First line of the error in the run that `status` is of, if it failed there."""

    @property
    def first_row(self) -> int | None:
        """Its row in the first run."""
        return self.rows[0]


@dataclass(frozen=True)
class ComparedPass:
    """One run of a pass on both sides, or on one of them."""

    change: Change
    path: tuple[str, ...]
    """Names of the passes around it, outermost first, and its own; those of `new` if it has one. Of
    very many around it the nearest (see `Paths`).
    """
    phase: str
    kernel: str
    base: OneSide | None
    new: OneSide | None
    verdict: Verdict = "unknown"

    @property
    def name(self) -> str:
        """The name of the pass: that on the new side, if it is there."""
        return self.path[-1]

    @property
    def delta_ns(self) -> Ns:
        """Change of the inclusive time; a missing side counts as 0."""
        return _time(self.new, "inclusive_ns") - _time(self.base, "inclusive_ns")

    @property
    def self_delta_ns(self) -> Ns:
        """Change of the self time; a missing side counts as 0."""
        return _time(self.new, "self_ns") - _time(self.base, "self_ns")

    @property
    def ratio(self) -> float | None:
        """New inclusive time through base; None unless both sides have it."""
        if self.base is None or self.new is None or not self.base.inclusive_ns:
            return None
        return float(Fraction(self.new.inclusive_ns) / Fraction(self.base.inclusive_ns))


def _time(side: OneSide | None, which: Literal["inclusive_ns", "self_ns"]) -> Ns:
    if side is None:
        return 0
    return side.inclusive_ns if which == "inclusive_ns" else side.self_ns
