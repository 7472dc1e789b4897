"""Compares two compiles, or two sets of repeated ones: Traces -> a Comparison.

The first run of a side is its reference: statuses, what is around the passes and the first
divergence are told of it. Times are those of all runs, and a pass that is missing in a run took no
time in it. So the means add up: self-time deltas and the change of the time between passes make the
delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tilelang_trace.analysis.compare.align import Alignment, align
from tilelang_trace.analysis.compare.comparison import (
    Change,
    ComparedKernel,
    ComparedPass,
    Comparison,
    Side,
    Totals,
    exact,
)
from tilelang_trace.analysis.compare.context_changes import context_changes
from tilelang_trace.analysis.compare.divergence import first_divergence
from tilelang_trace.analysis.compare.endings import not_reached
from tilelang_trace.analysis.compare.forest import Forest, Merged, merge
from tilelang_trace.analysis.compare.sides import AllRuns, all_runs, mean
from tilelang_trace.trace.arguments import ERROR_STATUSES
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.model import Trace


def compare_traces(
    base: Sequence[Trace],
    new: Sequence[Trace],
    base_names: Sequence[str],
    new_names: Sequence[str],
) -> Comparison:
    """Align two sides, each of one run or more, and add up what changed. Verdicts are `unknown`."""
    if not base or not new:
        raise ValueError("a side of a comparison needs at least one run")
    old, young = all_runs(base), all_runs(new)
    has_failed = [_has_failed(side) for side in (old, young)]
    found = align(old.forest, young.forest, by_time=has_failed[0] == has_failed[1])
    moved = {b for b, how in found.how.items() if how == "moved"}
    both = merge(young.forest, old.forest, found.new_of, moved)
    changes = _changes(old, young, found)
    passes = _passes(old, young, both, changes)
    kernels = _kernels(old, young, both)
    return Comparison(
        base=_side(old, base_names),
        new=_side(young, new_names),
        total=_totals(old, young),
        passes=tuple(passes),
        kernels=tuple(kernels),
        context_changes=tuple(context_changes(old, young, found.new_of)),
        first_divergence=first_divergence(old, young, passes),
        notes=(*_notes_on_kernels(kernels, both, old, young), *_notes_on_runs(old, young)),
    )


def _has_failed(side: AllRuns) -> bool:
    return any(status in ERROR_STATUSES for status in side.runs[0].statuses)


def _side(side: AllRuns, names: Sequence[str]) -> Side:
    first = side.runs[0]
    return Side(
        names=tuple(names),
        passes=sum(kind == "pass" for kind in first.forest.kinds),
        failed=tuple(first.trace.name(failure.row) for failure in failures(first.trace)),
    )


def _totals(base: AllRuns, new: AllRuns) -> Totals:
    def by_kind(side: AllRuns) -> dict[str, Fraction]:
        found: dict[str, Fraction] = {}
        for run in side.runs:
            for kind, ns in run.between_by_kind.items():
                found[kind] = found.get(kind, Fraction(0)) + Fraction(ns, len(side.runs))
        return found

    old, young = by_kind(base), by_kind(new)
    base_runs = tuple(run.total_ns for run in base.runs)
    new_runs = tuple(run.total_ns for run in new.runs)
    changes = {
        kind: exact(young.get(kind, Fraction(0)) - old.get(kind, Fraction(0)))
        for kind in {**old, **young}
    }
    return Totals(
        base_ns=mean(base_runs),
        new_ns=mean(new_runs),
        base_between_ns=exact(sum(old.values(), Fraction(0))),
        new_between_ns=exact(sum(young.values(), Fraction(0))),
        between_by_kind={kind: ns for kind, ns in changes.items() if ns},
        base_runs=base_runs,
        new_runs=new_runs,
    )


def _changes(base: AllRuns, new: AllRuns, found: Alignment) -> tuple[list[Change], list[Change]]:
    """What became of each node of base, and of each of new."""
    of_base: list[Change] = ["removed"] * len(base.forest)
    of_new: list[Change] = ["added"] * len(new.forest)
    for b, n in enumerate(found.new_of):
        if n >= 0:
            of_base[b] = of_new[n] = found.how.get(b, "matched")
    moved = {b for b, how in found.how.items() if how == "moved"}
    for n in not_reached(base, new, found.new_of, moved):
        of_new[n] = "not_reached"
    for b in not_reached(new, base, found.base_of, {found.new_of[b] for b in moved}):
        of_base[b] = "not_reached"
    return of_base, of_new


def _passes(
    base: AllRuns, new: AllRuns, both: Merged, changes: tuple[list[Change], list[Change]]
) -> list[ComparedPass]:
    around_base, around_new = _Around(base.forest), _Around(new.forest)
    found = []
    for n, b in zip(both.first, both.second):
        side, around, node = (new, around_new, n) if n >= 0 else (base, around_base, b)
        if side.forest.kinds[node] != "pass":
            continue
        kernel = around.kernel[node] or _kernel_of_trace(side)
        found.append(
            ComparedPass(
                change=changes[0][b] if n < 0 else changes[1][n],
                path=around.path[node],
                phase=side.forest.labels[node],
                kernel=kernel,
                base=base.one_side(b) if b >= 0 else None,
                new=new.one_side(n) if n >= 0 else None,
            )
        )
    return found


class _Around:
    """What stands around the nodes of a forest."""

    def __init__(self, forest: Forest) -> None:
        self.path: list[tuple[str, ...]] = []
        """Names of the passes around it, and its own if it is one."""
        self.kernel: list[str] = []
        """Name of the nearest kernel around it."""
        for name, kind, parent in zip(forest.names, forest.kinds, forest.parents):
            path = self.path[parent] if parent >= 0 else ()
            kernel = self.kernel[parent] if parent >= 0 else ""
            self.path.append((*path, name) if kind == "pass" else path)
            self.kernel.append(name if kind == "kernel" else kernel)


def _kernel_of_trace(side: AllRuns) -> str:
    kernel = side.runs[0].trace.metadata.get("kernel")
    return kernel if isinstance(kernel, str) else ""


def _kernels(base: AllRuns, new: AllRuns, both: Merged) -> list[ComparedKernel]:
    found = []
    for n, b in zip(both.first, both.second):
        side, node = (new, n) if n >= 0 else (base, b)
        if side.forest.kinds[node] != "kernel":
            continue
        found.append(
            ComparedKernel(
                name=side.forest.names[node],
                base_row=base.rows[b][0] if b >= 0 else None,
                new_row=new.rows[n][0] if n >= 0 else None,
                base_ns=mean(base.inclusive[b]) if b >= 0 else 0,
                new_ns=mean(new.inclusive[n]) if n >= 0 else 0,
                base_status=base.status[b] if b >= 0 else "",
                new_status=new.status[n] if n >= 0 else "",
            )
        )
    return found


def _notes_on_kernels(
    kernels: Sequence[ComparedKernel], both: Merged, base: AllRuns, new: AllRuns
) -> list[str]:
    notes = []
    in_base = sum(kind == "kernel" for kind in base.forest.kinds)
    in_new = sum(kind == "kernel" for kind in new.forest.kinds)
    if in_base != in_new:
        notes.append(f"kernels: {in_base} in base, {in_new} in new")
    for n, b in zip(both.first, both.second):
        if n < 0 or b < 0 or new.forest.kinds[n] != "kernel":
            continue
        old, young = base.forest.names[b], new.forest.names[n]
        if old != young:
            notes.append(f"kernel {old} of base is compared with kernel {young} of new")
    return notes


def _notes_on_runs(base: AllRuns, new: AllRuns) -> list[str]:
    return [
        f"{called}: run {number} has other passes than run 1: {count} differ"
        for called, side in (("base", base), ("new", new))
        for number, count in enumerate(side.differing(), 1)
        if count
    ]
