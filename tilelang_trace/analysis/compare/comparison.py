"""What `compare` finds between two compiles: the passes of both, aligned, and where the time went.

The numbers are integer nanoseconds where each side is one run; with repeats they are means, which
need not be whole. They add up exactly: the self-time deltas of all passes and the change of the
time between passes make the delta of the total (the words of `analysis.summary`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tilelang_trace.analysis.compare.compared_pass import ComparedPass, Ns, Verdict
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses


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
    passes: Sequence[ComparedPass]
    """In the order in which they ran, the new side's where both have one."""
    kernels: tuple[ComparedKernel, ...]
    context_changes: tuple[ContextChange, ...]
    first_divergence: Divergence | None
    notes: tuple[str, ...] = ()
    """What the reader must know: different numbers of kernels, a cold first run, too few runs."""
    of_all_categories: bool = False
    """There is no pass on either side: `passes` are the slices of another tool."""

    @property
    def nouns(self) -> tuple[str, str]:
        """What one of `passes` is called, and several."""
        return ("slice", "slices") if self.of_all_categories else ("pass", "passes")

    @property
    def columns(self) -> ComparedPasses:
        """The passes, where all of them are worked on at once."""
        assert isinstance(self.passes, ComparedPasses)
        return self.passes

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", ComparedPasses.of(self.passes))
