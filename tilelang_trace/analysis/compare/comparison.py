"""What `compare` finds between two compiles: the passes of both, aligned, and where the time went.

The numbers are integer nanoseconds where each side is one run; with repeats they are means, which
need not be whole. They add up exactly: the self-time deltas of all passes and the change of the
time between passes make the delta of the total (the words of `analysis.summary`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

Ns: TypeAlias = "int | Fraction"
"""Nanoseconds: of one run, or the exact mean of several."""


def exact(ns: Fraction) -> Ns:
    """As an int if it is whole."""
    return ns.numerator if ns.denominator == 1 else ns


Change: TypeAlias = Literal["matched", "added", "removed", "renamed", "moved", "not_reached"]
"""What became of a pass. `renamed` is an offer: another name in the same place; `moved` runs
elsewhere; `not_reached` stands behind the failure that ended the other side.
"""

Verdict: TypeAlias = Literal["slower", "faster", "same", "unknown"]


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
    """Names of the passes around it, outermost first, and its own; those of `new` if it has one."""
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


@dataclass(frozen=True)
class Totals:
    """The time of both compiles (see `analysis.summary` for the words)."""

    base_ns: Ns
    new_ns: Ns
    base_between_ns: Ns
    """Time outside of passes."""
    new_between_ns: Ns
    between_by_kind: Mapping[str, Ns] = field(default_factory=dict)
    """Change of the time between passes, by the kind of slice that it was spent in."""
    base_runs: tuple[int, ...] = ()
    """The whole of each run; empty if they are not known."""
    new_runs: tuple[int, ...] = ()
    verdict: Verdict = "unknown"

    @property
    def delta_ns(self) -> Ns:
        """Change of the whole."""
        return self.new_ns - self.base_ns

    @property
    def between_delta_ns(self) -> Ns:
        """Change of the time between passes."""
        return self.new_between_ns - self.base_between_ns


@dataclass(frozen=True)
class ComparedKernel:
    """A kernel (a compile) on both sides, or on one of them."""

    name: str
    base_row: int | None
    """Row of the compile in the first base run (see `analysis.compiles`)."""
    new_row: int | None
    base_ns: Ns
    new_ns: Ns
    base_status: str
    new_status: str


@dataclass(frozen=True)
class ContextChange:
    """Something around the passes that differs: an option, a version, the target."""

    what: str
    """`opt_level`, `config tir.disable_vectorize`, `version of tvm`, `target of gemm`, ..."""
    base: str
    new: str
    """Texts; empty where that side has no such thing."""


@dataclass(frozen=True)
class Divergence:
    """The first place in which the two compiles differ."""

    kind: Literal["ir", "passes", "failure"]
    path: tuple[str, ...]
    """The pass, with those around it."""
    detail: str
    """What differs there, in words."""
    diff: str = ""
    """For `ir`: the unified diff of the printed modules after the pass, capped; empty without their
    text.
    """
    caution: str = ""
    """Why the difference may mean nothing (TVM's own disorder), if it may."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    names: tuple[str, ...]
    """The files, or what else the person called the runs."""
    passes: int
    """Passes of the first run."""
    failed: tuple[str, ...]
    """Names of the passes that failed in the first run."""


@dataclass(frozen=True)
class Comparison:
    """Two compiles, or two sets of repeated ones, side by side."""

    base: Side
    new: Side
    total: Totals
    passes: tuple[ComparedPass, ...]
    """In the order in which they ran, the new side's where both have one."""
    kernels: tuple[ComparedKernel, ...]
    context_changes: tuple[ContextChange, ...]
    first_divergence: Divergence | None
    notes: tuple[str, ...] = ()
    """What the reader must know: different numbers of kernels, a cold first run, too few runs."""
