"""What a comparison shows, chosen once for all outputs: which rows, in which order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tilelang_trace.analysis.compare.comparison import ComparedPass, Comparison, Ns, OneSide
from tilelang_trace.reports.compare.adding_up import size
from tilelang_trace.reports.compare.choice import By, Choice
from tilelang_trace.trace.arguments import FAILED

_Which = Literal["base", "new"]


@dataclass(frozen=True)
class Row:
    """One compared pass, or several added up."""

    name: str
    """Of the pass, the phase or the kernel; empty where a pass is in none."""
    passes: tuple[ComparedPass, ...]
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
            and all(p.change == "matched" and status(p.base) == status(p.new) for p in self.passes)
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
        return tuple(
            p
            for p in self.comparison.passes
            if (status(p.base) == FAILED) != (status(p.new) == FAILED)
        )


def make_report(comparison: Comparison, choice: Choice) -> CompareReport:
    """Choose what to show of a comparison."""
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
    return bool(row.passes) and all(entry.change == "not_reached" for entry in row.passes)


def _one_by_one(comparison: Comparison) -> list[Row]:
    places = [(entry.kernel, entry.phase, entry.path) for entry in comparison.passes]
    alike = Counter(places)
    seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    rows = []
    for entry, place in zip(comparison.passes, places):
        seen[place] += 1
        rows.append(
            Row(
                name=entry.name,
                passes=(entry,),
                base_ns=entry.base.inclusive_ns if entry.base else None,
                new_ns=entry.new.inclusive_ns if entry.new else None,
                base_self_ns=entry.base.self_ns if entry.base else 0,
                new_self_ns=entry.new.self_ns if entry.new else 0,
                base_self_runs=entry.base.self_runs if entry.base else (),
                new_self_runs=entry.new.self_runs if entry.new else (),
                path=entry.path,
                number=seen[place] if alike[place] > 1 else 0,
            )
        )
    return rows


def _by_name(comparison: Comparison) -> list[Row]:
    groups = _grouped(comparison, lambda entry: entry.name)
    outermost = {
        "base": _outermost(comparison.passes, "base"),
        "new": _outermost(comparison.passes, "new"),
    }

    def inclusive(name: str, which: _Which) -> Ns | None:
        runs = [side for entry in groups[name] if (side := _side(entry, which))]
        return _sum(s.inclusive_ns for s in runs if id(s) in outermost[which]) if runs else None

    return _rows(groups, inclusive)


def _outermost(passes: Iterable[ComparedPass], which: _Which) -> set[int]:
    """The sides (by id) of the passes that lie in no other one of the same name: a run inside a run
    of its name is no further time.
    """
    there = {entry.path for entry in passes if _side(entry, which)}
    found = set()
    for entry in passes:
        around = entry.path[:-1]
        if (side := _side(entry, which)) and not any(
            name == entry.name and entry.path[: depth + 1] in there
            for depth, name in enumerate(around)
        ):
            found.add(id(side))
    return found


def _by_phase(comparison: Comparison) -> list[Row]:
    groups = _grouped(comparison, lambda entry: entry.phase)
    return _rows(groups, lambda phase, which: _self(groups[phase], which))


def _by_kernel(comparison: Comparison) -> list[Row]:
    groups = _grouped(comparison, lambda entry: entry.kernel)
    times: defaultdict[tuple[str, _Which], list[Ns]] = defaultdict(list)
    for kernel in comparison.kernels:
        groups.setdefault(kernel.name, [])
        if kernel.base_row is not None:
            times[kernel.name, "base"].append(kernel.base_ns)
        if kernel.new_row is not None:
            times[kernel.name, "new"].append(kernel.new_ns)

    def inclusive(name: str, which: _Which) -> Ns | None:
        known = times.get((name, which))
        return _sum(known) if known else _self(groups[name], which)

    return _rows(groups, inclusive)


_ROWS: dict[By, Callable[[Comparison], list[Row]]] = {
    "pass": _by_name,
    "phase": _by_phase,
    "kernel": _by_kernel,
    "path": _one_by_one,
}


def _grouped(
    comparison: Comparison, key: Callable[[ComparedPass], str]
) -> dict[str, list[ComparedPass]]:
    groups: defaultdict[str, list[ComparedPass]] = defaultdict(list)
    for entry in comparison.passes:
        groups[key(entry)].append(entry)
    return dict(groups)


def _rows(
    groups: dict[str, list[ComparedPass]], inclusive: Callable[[str, _Which], Ns | None]
) -> list[Row]:
    return [
        Row(
            name=name,
            passes=tuple(passes),
            base_ns=inclusive(name, "base"),
            new_ns=inclusive(name, "new"),
            base_self_ns=_self(passes, "base") or 0,
            new_self_ns=_self(passes, "new") or 0,
            base_self_runs=_self_runs(passes, "base"),
            new_self_runs=_self_runs(passes, "new"),
        )
        for name, passes in groups.items()
    ]


def _self(passes: Iterable[ComparedPass], which: _Which) -> Ns | None:
    times = [side.self_ns for entry in passes if (side := _side(entry, which))]
    return _sum(times) if times else None


def _self_runs(passes: Iterable[ComparedPass], which: _Which) -> tuple[int, ...]:
    runs = [side.self_runs for entry in passes if (side := _side(entry, which))]
    return tuple(map(sum, zip(*runs)))


def _side(entry: ComparedPass, which: _Which) -> OneSide | None:
    return entry.base if which == "base" else entry.new


def _sum(values: Iterable[Ns]) -> Ns:
    total: Ns = 0
    for value in values:
        total += value
    return total
