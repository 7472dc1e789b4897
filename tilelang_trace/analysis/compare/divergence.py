"""The first place in which two compiles differ: in their IR, their passes, or a failure.

A difference in the IR is told before one in the passes, which may well do nothing: what ran on one
side only is named with it. A failure that comes before it stands for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tilelang_trace.analysis.compare.compared_pass import ComparedPass
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses
from tilelang_trace.analysis.compare.comparison import Divergence
from tilelang_trace.analysis.compare.ir_divergence import ir_divergence
from tilelang_trace.analysis.compare.sides import AllRuns
from tilelang_trace.analysis.runs import ELLIPSIS, NEAREST, Places
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, PASS, PHASE
from tilelang_trace.trace.failures import failures, first_line
from tilelang_trace.trace.model import Trace


@dataclass(frozen=True)
class _Event:
    place: float
    """Index of the pass at which it is, and a half more if it is at its end."""
    divergence: Divergence


def first_divergence(base: AllRuns, new: AllRuns, passes: ComparedPasses) -> Divergence | None:
    """None if nothing differs. `passes` are in the order in which they ran."""
    old, young = base.runs[0].trace, new.runs[0].trace
    other = [
        *_of_passes(passes, "slice" if base.runs[0].of_all_categories else "pass"),
        *_of_failed_passes(passes, old, young),
        *_of_other_failures(passes, old, young),
    ]
    first = min(other, key=lambda event: event.place, default=None)
    found = ir_divergence(base, new, passes)
    if found is not None and (
        first is None or first.divergence.kind != "failure" or found.place <= first.place
    ):
        return found.divergence
    return first.divergence if first is not None else None


def _of_passes(passes: ComparedPasses, noun: str) -> Iterator[_Event]:
    """The first difference in the sequence of passes."""
    places = np.flatnonzero(passes.is_change("added", "removed", "moved", "renamed"))
    for place in places.tolist():
        entry = passes[place]
        if detail := _of_pass(entry, noun):
            yield _Event(place, Divergence("passes", entry.path, detail))
            return


def _of_pass(entry: ComparedPass, noun: str) -> str:
    if entry.change == "added":
        return f"only new runs this {noun}"
    if entry.change == "removed":
        return f"only base runs this {noun}"
    if entry.change == "moved":
        return f"base runs this {noun} in another place"
    if entry.change == "renamed" and entry.base is not None:
        return f"base runs {entry.base.name} in its place"
    return ""


def _of_failed_passes(passes: ComparedPasses, old: Trace, young: Trace) -> Iterator[_Event]:
    """Passes of both sides that failed on one of them, or otherwise than on the other."""
    errors = _lines(old), _lines(young)
    rows_of_sides = passes.base.rows[0], passes.new.rows[0]
    has_failed = np.isin(rows_of_sides[0], [*errors[0]]) | np.isin(rows_of_sides[1], [*errors[1]])
    if not has_failed.any():
        return
    first, behind = passes.paths.spans()
    last_of: dict[int, int] = {}
    """The last pass inside of each that was looked at, which are the later ones."""
    for place in np.flatnonzero(has_failed)[::-1].tolist():
        entry = passes[place]
        if entry.base is None or entry.new is None:
            continue
        rows = entry.base.rows[0], entry.new.rows[0]
        lines = [
            of_side.get(row) if row is not None else None for of_side, row in zip(errors, rows)
        ]
        if lines[0] != lines[1]:
            last, own = place, passes.path[place]
            while last + 1 < len(passes):
                path = passes.path[last + 1]
                if not first[own] < first[path] < behind[own]:
                    break
                last = last_of.get(last + 1, last + 1)
            last_of[place] = last
            detail = _how_it_failed(lines[0], lines[1])
            yield _Event(last + 0.5, Divergence("failure", entry.path, detail))


def _lines(trace: Trace) -> dict[int, str]:
    """The first line of the error of each slice that failed."""
    errors = trace.arguments.values("error")
    return {failure.row: first_line(errors.get(failure.row)) for failure in failures(trace)}


def _how_it_failed(base: str | None, new: str | None) -> str:
    if base is not None and new is not None:
        return f"fails on both sides; in base: {base}; in new: {new}"
    side, other, line = ("base", "new", base) if new is None else ("new", "base", new)
    return f"fails in {side} only: {line}" if line else f"fails in {side} only, not in {other}"


def _of_other_failures(passes: ComparedPasses, old: Trace, young: Trace) -> Iterator[_Event]:
    """What is no pass and failed on one side only: a code generator, an outside compiler."""
    sides = [_failed_elsewhere(trace) for trace in (old, young)]
    for number, trace in enumerate((old, young)):
        in_time, places = _PlaceInTime(passes, trace, number), Places(trace)
        for key, rows in sides[number].items():
            on_both = len(sides[1 - number].get(key, ()))
            lines = (None, key[1]) if number else (key[1], None)
            for row in rows[on_both:]:
                yield _Event(
                    in_time.of(row),
                    Divergence("failure", _path(trace, places, row), _how_it_failed(*lines)),
                )


def _failed_elsewhere(trace: Trace) -> dict[tuple[str, str], list[int]]:
    """The rows of what is no pass and failed, by name and first line of the error."""
    found: dict[tuple[str, str], list[int]] = {}
    for row, line in _lines(trace).items():
        if trace.category(row) != PASS:
            found.setdefault((trace.name(row), line), []).append(row)
    return found


class _PlaceInTime:
    """Tells behind which pass something is."""

    def __init__(self, passes: ComparedPasses, trace: Trace, number: int) -> None:
        rows = passes.side("new" if number else "base").rows[0]
        there = np.flatnonzero(rows >= 0)
        begins = trace.slices.begin[rows[there]]
        order = np.argsort(begins, kind="stable")
        self._ends = trace.slices.end
        self._begins, self._last = begins[order], np.maximum.accumulate(there[order])

    def of(self, row: int) -> float:
        """Behind the last pass that began before the end of this slice."""
        before = int(np.searchsorted(self._begins, self._ends[row]))
        return float(self._last[before - 1]) + 0.5 if before else -0.5


def _path(trace: Trace, places: Places, row: int) -> tuple[str, ...]:
    nearest = list(islice(places.enclosing(row), NEAREST + 1))
    around = [
        trace.name(above)
        for above in nearest[:NEAREST]
        if trace.category(above) not in (COMPILE, CONTEXT, PHASE)
    ]
    more = (ELLIPSIS,) if len(nearest) > NEAREST else ()
    return (*more, *reversed(around), trace.name(row))
