"""What a comparison shows, chosen once for all outputs: which rows, in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tilelang_trace.analysis.compare.compared_pass import ComparedPass, Ns, OneSide, exact
from tilelang_trace.analysis.compare.compared_passes import (
    ComparedPasses,
    SideColumns,
    Time,
    Which,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.analysis.compare.texts import Texts, in_common
from tilelang_trace.reports.compare.adding_up import size
from tilelang_trace.reports.compare.choice import By, Choice
from tilelang_trace.trace.arguments import FAILED
from tilelang_trace.trace.model import Ints, Mask

SIDES: tuple[Which, ...] = ("base", "new")


@dataclass(frozen=True)
class Row:
    """One compared pass, or several added up."""

    name: str
    """Of the pass, the phase or the kernel; empty where a pass is in none."""
    passes: ComparedPasses
    base_ns: Ns | None
    """Inclusive time; None if that side has none of them. Of a phase it is the time of its passes,
    of a kernel that of its compiles.
    """
    new_ns: Ns | None
    base_self_ns: Ns
    new_self_ns: Ns
    base_self_runs: tuple[int, ...]
    """Self time in each run; empty if that side has none of them."""
    new_self_runs: tuple[int, ...]
    path: tuple[str, ...] = ()
    """Of the one pass, if the row is one."""
    number: int = 0
    """Of the one pass among those with its kernel, phase and path, from 1; 0 if it is the only one.
    """

    @property
    def self_delta_ns(self) -> Ns:
        """Change of the self time."""
        return self.new_self_ns - self.base_self_ns

    @property
    def delta_ns(self) -> Ns:
        """Change of the inclusive time; a missing side counts as 0."""
        return (self.new_ns or 0) - (self.base_ns or 0)

    @property
    def ratio(self) -> float | None:
        """New inclusive time through base; None unless both sides have it."""
        return quotient(self.base_ns, self.new_ns)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing differs."""
        return (
            not self.self_delta_ns
            and not self.delta_ns
            and bool((self.passes.is_change("matched") & self.passes.ended_alike()).all())
        )


@dataclass(frozen=True)
class LeftOut:
    """The rows that are not shown, added up."""

    rows: int
    unchanged: int
    """How many of them."""
    base_self_ns: Ns
    new_self_ns: Ns

    @property
    def self_delta_ns(self) -> Ns:
        """Change of their self time."""
        return self.new_self_ns - self.base_self_ns


@dataclass(frozen=True)
class CompareReport:
    """A comparison, and what is shown of it."""

    comparison: Comparison
    choice: Choice
    rows: tuple[Row, ...]
    """Most changed self time first; behind them what one side did not reach after a failure."""
    left_out: LeftOut

    @property
    def failed_on_one_side(self) -> tuple[ComparedPass, ...]:
        """The passes that failed on one side only."""
        passes = self.comparison.columns
        return tuple(passes[passes.base.status.are(FAILED) != passes.new.status.are(FAILED)])


def make_report(comparison: Comparison, choice: Choice) -> CompareReport:
    """Choose what to show of a comparison."""
    if choice.by == "path":
        return _one_by_one(comparison, choice)
    found = _ROWS[choice.by](comparison)
    ordered = sorted(found, key=lambda row: (_is_behind_failure(row), -size(row.self_delta_ns)))
    shown: list[Row] = []
    left_out: list[Row] = []
    for row in ordered:
        wanted = max(row.base_ns or 0, row.new_ns or 0) >= choice.min_ns
        wanted &= choice.unchanged or not row.is_unchanged
        full = choice.top is not None and len(shown) >= choice.top
        (shown if wanted and not full else left_out).append(row)
    return CompareReport(
        comparison=comparison,
        choice=choice,
        rows=tuple(shown),
        left_out=LeftOut(
            rows=len(left_out),
            unchanged=sum(row.is_unchanged for row in left_out),
            base_self_ns=_sum(row.base_self_ns for row in left_out),
            new_self_ns=_sum(row.new_self_ns for row in left_out),
        ),
    )


def quotient(base: Ns | None, new: Ns | None) -> float | None:
    """New through base; None where that says nothing."""
    return None if new is None or not base else float(Fraction(new) / Fraction(base))


def status(side: OneSide | None) -> str:
    """How a pass ended on one side; empty where it is missing."""
    return "" if side is None else side.status


def _is_behind_failure(row: Row) -> bool:
    return bool(row.passes) and bool(row.passes.is_change("not_reached").all())


def _one_by_one(comparison: Comparison, choice: Choice) -> CompareReport:
    """A row for each pass; only those that are shown are made."""
    passes = comparison.columns
    deltas, _ = passes.deltas("own")
    inclusive, _ = passes.deltas("inclusive")
    unchanged = (deltas == 0) & (inclusive == 0)
    unchanged &= passes.is_change("matched") & passes.ended_alike()
    wanted = np.zeros(len(passes), np.bool_)
    for side in (passes.base, passes.new):
        wanted |= side.sums("inclusive") >= choice.min_ns * side.runs
    if not choice.unchanged:
        wanted &= ~unchanged
    order = np.lexsort((-np.abs(deltas), passes.is_change("not_reached")))
    places = order[wanted[order]][: choice.top]
    left_out = np.ones(len(passes), np.bool_)
    left_out[places] = False
    numbers = _numbers(passes)
    return CompareReport(
        comparison=comparison,
        choice=choice,
        rows=tuple(_of_one(passes, place, int(numbers[place])) for place in places.tolist()),
        left_out=LeftOut(
            rows=int(left_out.sum()),
            unchanged=int(unchanged[left_out].sum()),
            base_self_ns=_mean_of(passes.base, "own", left_out),
            new_self_ns=_mean_of(passes.new, "own", left_out),
        ),
    )


def _of_one(passes: ComparedPasses, place: int, number: int) -> Row:
    entry = passes[place]
    return Row(
        name=entry.name,
        passes=passes[place : place + 1],
        base_ns=entry.base.inclusive_ns if entry.base else None,
        new_ns=entry.new.inclusive_ns if entry.new else None,
        base_self_ns=entry.base.self_ns if entry.base else 0,
        new_self_ns=entry.new.self_ns if entry.new else 0,
        base_self_runs=entry.base.self_runs if entry.base else (),
        new_self_runs=entry.new.self_runs if entry.new else (),
        path=entry.path,
        number=number,
    )


def _numbers(passes: ComparedPasses) -> Ints:
    """The number of each pass among those with its kernel, phase and path; 0 if it is alone."""
    (phase,), _ = in_common(passes.phase)
    (kernel,), _ = in_common(passes.kernel)
    order = np.lexsort((kernel, phase, passes.path))
    columns = np.stack([passes.path, phase, kernel])[:, order]
    is_first = np.ones(len(passes), np.bool_)
    is_first[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=len(passes))
    rank = np.arange(len(passes)) - np.repeat(starts, counts) + 1
    numbers = np.empty(len(passes), np.int64)
    numbers[order] = np.where(np.repeat(counts, counts) > 1, rank, 0)
    return numbers


def _mean_of(side: SideColumns, time: Time, which: Mask | None = None) -> Ns:
    """The mean time of these passes in a run, added up."""
    sums = side.sums(time)
    return exact(Fraction(int((sums if which is None else sums[which]).sum()), side.runs))


def _by_name(comparison: Comparison) -> list[Row]:
    passes = comparison.columns
    groups = _grouped(passes, passes.names())
    times = {which: passes.side(which).sums("inclusive") for which in SIDES}
    spans = passes.paths.spans()
    for which in SIDES:
        times[which][~_outermost(passes, which, spans)] = 0

    def inclusive(name: str, which: Which) -> Ns | None:
        group, side = groups[name], passes.side(which)
        if not side.there[group].any():
            return None
        return exact(Fraction(int(times[which][group].sum()), side.runs))

    return _rows(passes, groups, inclusive)


def _outermost(passes: ComparedPasses, which: Which, spans: tuple[Ints, Ints]) -> Mask:
    """Which passes lie in no other one of the same name on this side: a run inside a run of its
    name is no further time. `spans` are those of the paths.
    """
    there = np.zeros(len(passes.paths.name) + 1, np.bool_)
    there[passes.path[passes.side(which).there]] = True
    first, behind = spans
    # In a walk through the paths of one name, a path lies in an earlier one if one of them ends
    # behind it; each name has places of its own.
    own = np.array(passes.paths.name, np.int64) * (len(first) + 1)
    order = np.argsort(own + first)
    ends = np.where(there[:-1], own + behind, 0)[order]
    latest = np.maximum.accumulate(np.concatenate([[0], ends]))[:-1]
    inside = np.zeros(len(first), np.bool_)
    inside[order] = (own + first)[order] < latest
    outermost: Mask = ~inside[passes.path]
    return outermost


def _by_phase(comparison: Comparison) -> list[Row]:
    passes = comparison.columns
    groups = _grouped(passes, passes.phase)
    return _rows(passes, groups, lambda phase, which: _self(passes.side(which)[groups[phase]]))


def _by_kernel(comparison: Comparison) -> list[Row]:
    passes = comparison.columns
    groups = _grouped(passes, passes.kernel)
    times: defaultdict[tuple[str, Which], list[Ns]] = defaultdict(list)
    for kernel in comparison.kernels:
        groups.setdefault(kernel.name, np.empty(0, np.int64))
        if kernel.base_row is not None:
            times[kernel.name, "base"].append(kernel.base_ns)
        if kernel.new_row is not None:
            times[kernel.name, "new"].append(kernel.new_ns)

    def inclusive(name: str, which: Which) -> Ns | None:
        known = times.get((name, which))
        return _sum(known) if known else _self(passes.side(which)[groups[name]])

    return _rows(passes, groups, inclusive)


_ROWS: dict[By, Callable[[Comparison], list[Row]]] = {
    "pass": _by_name,
    "phase": _by_phase,
    "kernel": _by_kernel,
}


_Groups = dict[str, Ints]
"""Places of passes, by what they have in common."""


def _grouped(passes: ComparedPasses, keys: Texts) -> _Groups:
    """The passes of each key, in the order of the first ones."""
    (numbers,), texts = in_common(keys)
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    groups = np.split(order, starts[1:]) if len(order) else []
    groups.sort(key=lambda group: int(group[0]))
    return {texts[numbers[group[0]]]: group for group in groups}


def _rows(
    passes: ComparedPasses, groups: _Groups, inclusive: Callable[[str, Which], Ns | None]
) -> list[Row]:
    rows = []
    for name, group in groups.items():
        own = passes[group]
        rows.append(
            Row(
                name=name,
                passes=own,
                base_ns=inclusive(name, "base"),
                new_ns=inclusive(name, "new"),
                base_self_ns=_self(own.base) or 0,
                new_self_ns=_self(own.new) or 0,
                base_self_runs=_self_runs(own.base),
                new_self_runs=_self_runs(own.new),
            )
        )
    return rows


def _self(side: SideColumns) -> Ns | None:
    return _mean_of(side, "own") if side.there.any() else None


def _self_runs(side: SideColumns) -> tuple[int, ...]:
    return tuple(side.own.sum(axis=1).tolist()) if side.there.any() else ()


def _sum(values: Iterable[Ns]) -> Ns:
    total: Ns = 0
    for value in values:
        total += value
    return total
