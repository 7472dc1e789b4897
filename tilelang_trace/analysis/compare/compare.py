"""Compares two compiles, or two sets of repeated ones: Traces -> a Comparison.

The first run of a side is its reference: statuses, what is around the passes and the first
divergence are told of it. Times are those of all runs, and a pass that is missing in a run took no
time in it. So the means add up: self-time deltas and the change of the time between passes make the
delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.align import Alignment, align
from tilelang_trace.analysis.compare.compared_pass import (
    CHANGES,
    VERDICTS,
    Change,
    exact,
    mean,
)
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses
from tilelang_trace.analysis.compare.comparison import (
    ComparedKernel,
    Comparison,
    Side,
    Totals,
)
from tilelang_trace.analysis.compare.context_changes import context_changes
from tilelang_trace.analysis.compare.divergence import first_divergence
from tilelang_trace.analysis.compare.endings import not_reached
from tilelang_trace.analysis.compare.forest import Merged, itself_or_above, merge
from tilelang_trace.analysis.compare.paths import Paths
from tilelang_trace.analysis.compare.sides import AllRuns, all_runs
from tilelang_trace.analysis.compare.texts import Texts, in_common
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
        passes=passes,
        kernels=tuple(kernels),
        context_changes=tuple(context_changes(old, young, found.new_of)),
        first_divergence=first_divergence(old, young, passes),
        notes=(*_notes_on_kernels(both, old, young), *_notes_on_runs(old, young)),
        of_all_categories=all(run.of_all_categories for run in (*old.runs, *young.runs)),
    )


def _has_failed(side: AllRuns) -> bool:
    return any(status in ERROR_STATUSES for status in side.runs[0].statuses.used())


def _side(side: AllRuns, names: Sequence[str]) -> Side:
    first = side.runs[0]
    return Side(
        names=tuple(names),
        passes=int(first.forest.is_pass.sum()),
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


_Codes = npt.NDArray[np.int8]


def _changes(base: AllRuns, new: AllRuns, found: Alignment) -> tuple[_Codes, _Codes]:
    """What became of each node of base, and of each of new: places in `CHANGES`."""
    of_base = np.full(len(base.forest), _code("removed"), np.int8)
    of_new = np.full(len(new.forest), _code("added"), np.int8)
    of_base[found.new_of >= 0] = of_new[found.base_of >= 0] = _code("matched")
    for b, how in found.how.items():
        of_base[b] = of_new[found.new_of[b]] = _code(how)
    moved = {b for b, how in found.how.items() if how == "moved"}
    of_new[[*not_reached(base, new, found.new_of, moved)]] = _code("not_reached")
    moved = {int(found.new_of[b]) for b in moved}
    of_base[[*not_reached(new, base, found.base_of, moved)]] = _code("not_reached")
    return of_base, of_new


def _code(change: Change) -> int:
    return CHANGES.index(change)


def _passes(
    base: AllRuns, new: AllRuns, both: Merged, changes: tuple[_Codes, _Codes]
) -> ComparedPasses:
    is_pass = _of_shown(both, base.forest.is_pass, new.forest.is_pass)
    both = Merged(both.first[is_pass], both.second[is_pass], both.parents[is_pass])
    paths, (new_paths, base_paths) = Paths.of([new.forest, base.forest])

    def texts(of_base: Texts, of_new: Texts) -> Texts:
        (old, young), strings = in_common(of_base, of_new)
        return Texts(_of_shown(both, old, young), strings)

    return ComparedPasses(
        change=_of_shown(both, *changes),
        verdict=np.full(len(both.first), VERDICTS.index("unknown"), np.int8),
        path=_of_shown(both, base_paths, new_paths),
        paths=paths,
        phase=texts(base.forest.labels, new.forest.labels),
        kernel=texts(_kernels_around(base), _kernels_around(new)),
        base=base.columns(both.second),
        new=new.columns(both.first),
    )


def _of_shown(
    both: Merged, of_base: npt.NDArray[np.generic], of_new: npt.NDArray[np.generic]
) -> npt.NDArray[Any]:
    """The value of each node of both, on the new side if it has one."""
    if not len(of_base) or not len(of_new):
        return of_new[both.first] if len(of_new) else of_base[both.second]
    return np.where(both.first >= 0, of_new[both.first], of_base[both.second])


def _kernels_around(side: AllRuns) -> Texts:
    """Name of the nearest kernel around each node."""
    names = side.forest.names
    kernel = itself_or_above(side.forest.parents, side.forest.kinds.are("kernel"))
    strings = [*names.strings, _kernel_of_trace(side)]
    ids = np.where(kernel >= 0, names.ids[kernel], len(names.strings)) if len(names) else kernel
    # An empty name says as little as none.
    empty = np.array([not text for text in strings], np.bool_)
    return Texts(np.where(empty[ids], len(names.strings), ids).astype(np.int32), strings)


def _kernel_of_trace(side: AllRuns) -> str:
    kernel = side.runs[0].trace.metadata.get("kernel")
    return kernel if isinstance(kernel, str) else ""


def _kernels(base: AllRuns, new: AllRuns, both: Merged) -> list[ComparedKernel]:
    is_kernel = _of_shown(both, base.forest.kinds.are("kernel"), new.forest.kinds.are("kernel"))
    old, young = base.columns(both.second[is_kernel]), new.columns(both.first[is_kernel])
    return [
        ComparedKernel(
            name=new_name or base_name,
            base_row=rows[0] if rows[0] >= 0 else None,
            new_row=rows[1] if rows[1] >= 0 else None,
            base_ns=mean(base_runs),
            new_ns=mean(new_runs),
            base_status=base_status,
            new_status=new_status,
        )
        for base_name, new_name, *rows, base_runs, new_runs, base_status, new_status in zip(
            old.names,
            young.names,
            old.rows[0].tolist(),
            young.rows[0].tolist(),
            old.inclusive.T.tolist(),
            young.inclusive.T.tolist(),
            old.status,
            young.status,
        )
    ]


def _notes_on_kernels(both: Merged, base: AllRuns, new: AllRuns) -> list[str]:
    notes = []
    in_base, in_new = (int(side.forest.kinds.are("kernel").sum()) for side in (base, new))
    if in_base != in_new:
        notes.append(f"kernels: {in_base} in base, {in_new} in new")
    (of_base, of_new), names = in_common(base.forest.names, new.forest.names)
    b, n = both.second, both.first
    pairs = np.flatnonzero((b >= 0) & (n >= 0))
    pairs = pairs[new.forest.kinds.are("kernel")[n[pairs]]]
    for at in pairs[of_base[b[pairs]] != of_new[n[pairs]]].tolist():
        old, young = names[of_base[b[at]]], names[of_new[n[at]]]
        notes.append(f"kernel {old} of base is compared with kernel {young} of new")
    return notes


def _notes_on_runs(base: AllRuns, new: AllRuns) -> list[str]:
    return [
        f"{called}: run {number} has other passes than run 1: {count} differ"
        for called, side in (("base", base), ("new", new))
        for number, count in enumerate(side.differing(), 1)
        if count
    ]
