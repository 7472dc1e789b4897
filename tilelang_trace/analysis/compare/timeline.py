"""Both sides of a comparison and their differences as one Trace: Comparison, Traces -> Trace.

It has the threads of base, then those of new, then the rows of differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from tilelang_trace.analysis.compare.compared_pass import (
    ComparedPass,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
    Side,
)
from tilelang_trace.analysis.compare.differences import (
    Difference,
    differences,
    milliseconds,
    numbers,
    smallest_shown,
)
from tilelang_trace.analysis.compare.joint import JointTrace, Placed
from tilelang_trace.analysis.compare.pairs import matched, other_work
from tilelang_trace.analysis.compare.stretch import Clock, paused, start_of
from tilelang_trace.trace.arguments import COMPARISON, DIFFERENCE
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

Align: TypeAlias = Literal["start", "passes"]
"""Where both sides begin together: only at the start, or at each matched pass."""

COMPARE = "compare"
"""Argument of compared passes, and of their differences: what became of them."""

RECORDED = "recorded"
"""Argument of all slices of both sides if passes are aligned: when they began, in ns after the
compile's start, and how long they really took.
"""


def side_by_side(
    comparison: Comparison,
    base: Trace,
    new: Trace,
    *,
    align: Align = "start",
    min_ns: int | None = None,
) -> Trace:
    """A Trace of base, new and their differences, each side from zero.

    `base` and `new` are the first run of each side. A difference lies in time as its pass lies in
    new, in a row for each thread of it; one that is in base only lies as it does there, in a row of
    its own. Code generation, outside programs and the like are compared as passes are, in the first
    runs. `min_ns` is the change from which a pass is shown (see `differences`), by default a
    thousandth of the longer compile; the row's name says it.
    """
    others = other_work(comparison, base, new)
    comparison = replace(comparison, passes=(*comparison.passes, *others))
    if align == "passes":
        clocks = paused(matched(comparison, base, new), base, new)
    else:
        clocks = Clock.steady(start_of(base)), Clock.steady(start_of(new))
    floor = smallest_shown(comparison) if min_ns is None else min_ns
    joint = JointTrace()
    # Arguments of these names come from a comparison that is compared again.
    own = (COMPARE, RECORDED)
    sides = (
        joint.add_trace("base", base, clocks[0], without=own),
        joint.add_trace("new", new, clocks[1], without=own),
    )
    if align == "passes":
        for side, clock in zip(sides, clocks):
            _tell_recorded(joint, side, clock)
    _join_passes(joint, comparison, sides)
    _add_differences(joint, differences(comparison, base, new, floor), floor, sides)
    return joint.build(
        f"{_called('base', comparison.base)}, {_called('new', comparison.new)}, {DIFFERENCE}",
        {
            COMPARISON: {
                "align": align,
                "min_ns": floor,
                "base": {"names": list(comparison.base.names), **_about(base)},
                "new": {"names": list(comparison.new.names), **_about(new)},
            }
        },
    )


def _called(label: str, side: Side) -> str:
    runs = len(side.names)
    first = side.names[0].replace("\\", "/").rpartition("/")[2] if side.names else ""
    return f"{label}: {first}" + (f" (first of {runs} runs)" if runs > 1 else "")


def _about(trace: Trace) -> dict[str, Json]:
    """What the one process can't say of a side: its own processes, and its metadata."""
    processes = [{"name": p.name, "pid": p.pid} for p in trace.processes]
    threads = [{"name": t.name, "tid": t.tid, "process": t.process} for t in trace.threads]
    return {"processes": processes, "threads": threads, "metadata": dict(trace.metadata)}


def _tell_recorded(joint: JointTrace, side: Placed, clock: Clock) -> None:
    slices = side.trace.slices
    begins = (slices.begin - clock.origin).tolist()
    for row, (begin, ns) in enumerate(zip(begins, slices.duration.tolist()), side.first_row):
        joint.arguments.add(row, {RECORDED: {"begin_ns": begin, "ns": ns}})


def _rows(entry: ComparedPass, sides: tuple[Placed, Placed]) -> tuple[int | None, int | None]:
    """The joint rows of a pass in base and new; None where the first run has no such pass."""
    base = None if entry.base is None else entry.base.first_row
    new = None if entry.new is None else entry.new.first_row
    return (
        None if base is None else sides[0].first_row + base,
        None if new is None else sides[1].first_row + new,
    )


def _join_passes(joint: JointTrace, comparison: Comparison, sides: tuple[Placed, Placed]) -> None:
    """Put the numbers on the passes of both sides, and arrows between them: from base to new, or
    from new where that begins earlier.
    """
    arrows = []
    for entry in comparison.passes:
        rows = _rows(entry, sides)
        for row in rows:
            if row is not None:
                joint.arguments.add(row, {COMPARE: numbers(entry)})
        if None not in rows:
            arrows.append(rows)
    flows = np.array(arrows, np.int32).reshape(-1, 2)
    begin = joint.times()[0][flows]
    joint.add_flows(np.where(begin[:, :1] <= begin[:, 1:], flows, flows[:, ::-1]))


def _add_differences(
    joint: JointTrace, shown: Sequence[Difference], floor: int, sides: tuple[Placed, Placed]
) -> None:
    """Add the rows of differences, and arrows to them from new, or from base if only that has the
    pass.
    """
    begin, end = joint.times()
    title = f"{DIFFERENCE} ≥ {milliseconds(floor)}"
    found: dict[tuple[bool, int], list[tuple[int, Difference]]] = {}
    """The differences with the joint rows whose times they have, by whether those are in base, and
    by lane.
    """
    for difference in shown:
        for side, row in reversed(list(zip(sides, _rows(difference.entry, sides)))):
            if row is not None:
                lane = int(side.trace.slices.lane[row - side.first_row]) + side.first_lane
                found.setdefault((side is sides[0], lane), []).append((row, difference))
                break
    if not found and len(begin):
        # Without a slice the row would not be shown, and nobody would know why.
        whole = np.array([begin.min()]), np.array([end.max()])
        joint.add_slices(joint.add_row(title), *whole, [f"no {title}"], [f"{DIFFERENCE},same"])
    lanes = Counter(in_base for in_base, _ in found)
    for in_base, lane in sorted(found):
        name = f"{DIFFERENCE}, only in base" if in_base else title
        if lanes[in_base] > 1:
            name += f", {joint.lane_name(lane)}"
        # Of slices at equal times the first is the parent, as it is on the side.
        entries = sorted(found[in_base, lane], key=lambda item: item[0])
        of_side = np.array([row for row, _ in entries], np.int32)
        own = joint.add_slices(
            joint.add_row(name),
            begin[of_side],
            end[of_side],
            [difference.name for _, difference in entries],
            [difference.category for _, difference in entries],
        )
        for row, (_, difference) in zip(own.tolist(), entries):
            joint.arguments.add(row, {COMPARE: numbers(difference.entry)})
        joint.add_flows(np.stack([of_side, own], axis=1))
