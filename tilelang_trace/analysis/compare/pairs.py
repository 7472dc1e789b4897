"""Which slices of the first runs belong together beside the passes of a Comparison: kernels, the
contexts and phases around passes, and other work (code generation, outside programs).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tilelang_trace.analysis.ancestry import time_below
from tilelang_trace.analysis.compare.compared_pass import (
    Change,
    ComparedPass,
    OneSide,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.trace.arguments import (
    CODEGEN,
    ERROR_STATUSES,
    KINDS,
    OK,
    OPEN,
    PASS,
    STEP,
    TOOL,
)
from tilelang_trace.trace.model import Trace

_OTHER_WORK = tuple(map(KINDS.index, (CODEGEN, STEP, TOOL)))
_CUT_SHORT = (*ERROR_STATUSES, OPEN)


def matched(comparison: Comparison, base: Trace, new: Trace) -> dict[int, int]:
    """The row in new of each row in base that has one: of passes, of kernels, and of the contexts
    and phases right around matched passes. What moved is left out.
    """
    found = {
        kernel.base_row: kernel.new_row
        for kernel in comparison.kernels
        if kernel.base_row is not None and kernel.new_row is not None
    }
    passes = comparison.columns
    rows, new_rows = passes.base.rows[0], passes.new.rows[0]
    both = (rows >= 0) & (new_rows >= 0) & ~passes.is_change("moved")
    found.update(zip(rows[both].tolist(), new_rows[both].tolist()))
    taken = set(found.values())
    kinds, new_kinds = base.kinds(), new.kinds()
    for row, other in list(found.items()):
        while True:
            row, other = int(base.slices.parent[row]), int(new.slices.parent[other])
            if row < 0 or other < 0 or row in found or other in taken:
                break
            if kinds[row] != new_kinds[other] or kinds[row] == KINDS.index(PASS):
                break
            found[row] = other
            taken.add(other)
    return found


def other_work(comparison: Comparison, base: Trace, new: Trace) -> list[ComparedPass]:
    """The work outside of passes, as if it were passes: matched by its kind, its name and its
    occurrence in what is around it. Where that has no counterpart it is left out. What it took in
    the first run stands for all runs.
    """
    pairs, passes = matched(comparison, base, new), comparison.columns
    sides = _Work(base, passes.base.runs), _Work(new, passes.new.runs)
    base_of = {new_row: row for row, new_row in pairs.items()}
    base_of[-1] = -1
    of_new = sides[1].found(base_of)
    entries = []
    for place, row in sides[0].found({row: row for row in base_of.values()}).items():
        other = of_new.pop(place, None)
        around = pairs.get(place.around, -1)
        change: Change = "matched" if other is not None else "removed"
        if other is None and sides[1].ended_badly(around):
            change = "not_reached"
        entries.append(_entry(change, sides[0].side(row), sides[1].side(other)))
    for place, row in of_new.items():
        change = "not_reached" if sides[0].ended_badly(place.around) else "added"
        entries.append(_entry(change, None, sides[1].side(row)))
    return entries


class _Place(NamedTuple):
    """Where work stands; both sides name it alike."""

    around: int
    """Row in base of what it directly lies in, -1 at the top."""
    kind: int
    name: str
    occurrence: int


def _entry(change: Change, base: OneSide | None, new: OneSide | None) -> ComparedPass:
    shown = new or base
    assert shown is not None
    return ComparedPass(change, (shown.name,), "", "", base, new)


class _Work:
    """The work outside of passes in one Trace."""

    def __init__(self, trace: Trace, runs: int) -> None:
        self._trace = trace
        self._runs = runs
        self._kinds = trace.kinds().tolist()
        slices = trace.slices
        self._self_ns = slices.duration - time_below(
            slices.parent, slices.duration, slices.parent >= 0
        )
        self._status = trace.arguments.values("status")
        self._any_ended_badly = any(status in _CUT_SHORT for status in self._status.values())

    def found(self, in_base: dict[int, int]) -> dict[_Place, int]:
        """The rows of what directly lies in these rows, which are given with their rows in base."""
        rows: dict[_Place, int] = {}
        count: Counter[tuple[int, int, str]] = Counter()
        for row, (kind, parent) in enumerate(zip(self._kinds, self._trace.slices.parent.tolist())):
            if kind in _OTHER_WORK and parent in in_base:
                key = in_base[parent], kind, self._trace.name(row)
                rows[_Place(*key, count[key])] = row
                count[key] += 1
        return rows

    def ended_badly(self, row: int) -> bool:
        """Whether a slice, or at -1 anything at all, has not come to its end."""
        if row < 0:
            return self._any_ended_badly
        return self._status.get(row) in _CUT_SHORT

    def side(self, row: int | None) -> OneSide | None:
        """A slice as a side of a comparison."""
        if row is None:
            return None
        inclusive, own = int(self._trace.slices.duration[row]), int(self._self_ns[row])
        status = str(self._status.get(row, OK))
        name = self._trace.name(row)
        rows = (row, *[None] * (self._runs - 1))
        times = (inclusive,) * self._runs, (own,) * self._runs
        return OneSide(name, rows, status, inclusive, own, *times)
