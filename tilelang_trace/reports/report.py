"""What a report shows, chosen once for all outputs: which passes, in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilelang_trace.analysis.runs import Run, RunOrder
from tilelang_trace.analysis.summary import PassTotals, Summary, summarize
from tilelang_trace.analysis.tree import Tree, tree
from tilelang_trace.reports.choice import Choice, Sort
from tilelang_trace.trace.model import Trace

SLOWEST = 10
"""Slowest runs that are shown when nobody says how many."""

_KEYS: dict[Sort, Callable[[PassTotals], Any]] = {
    "self": lambda entry: (-entry.self_ns, -entry.inclusive_ns, entry.name),
    "inclusive": lambda entry: (-entry.inclusive_ns, -entry.self_ns, entry.name),
    "count": lambda entry: (-entry.count, -entry.self_ns, entry.name),
    "name": lambda entry: entry.name,
}


@dataclass(frozen=True)
class LeftOut:
    """The passes that are not shown, added up."""

    passes: int
    """How many names."""
    count: int
    """Their runs."""
    self_ns: int


@dataclass(frozen=True)
class Report:
    """A summary, and what is shown of its passes and of the tree."""

    source: str
    """The file, as the user named it."""
    summary: Summary
    passes: tuple[PassTotals, ...]
    left_out: LeftOut
    slowest: tuple[Run, ...]
    slowest_by: str
    """`self` or `inclusive`."""
    tree: Tree


def make_report(trace: Trace, source: str, choice: Choice) -> Report:
    """Summarize a Trace and choose what to show of it."""
    slowest_by: RunOrder = "inclusive" if choice.sort == "inclusive" else "self"
    summary = summarize(
        trace,
        slowest=SLOWEST if choice.top is None else choice.top,
        slowest_by=slowest_by,
    )
    least = choice.min_ns or 0
    ordered = sorted(summary.passes, key=_KEYS[choice.sort or "self"])
    shown = [entry for entry in ordered if entry.inclusive_ns >= least][: choice.top]
    return Report(
        source=source,
        summary=summary,
        passes=tuple(shown),
        left_out=LeftOut(
            passes=len(ordered) - len(shown),
            count=summary.runs - sum(entry.count for entry in shown),
            self_ns=sum(e.self_ns for e in ordered) - sum(e.self_ns for e in shown),
        ),
        slowest=tuple(run for run in summary.slowest if run.inclusive_ns >= least),
        slowest_by=slowest_by,
        tree=tree(trace, choice.min_ns),
    )
