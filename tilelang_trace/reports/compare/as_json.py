"""The comparison as JSON, for scripts. Names and texts are whole; times are integer nanoseconds of
one run a side, or of the mean of several.

    {
      "total": {"base_ns", "new_ns",          as the total of `report`
                "delta_ns",                   it is the self_delta_ns of all passes, that of
                                              left_out, and between_delta_ns
                "between_delta_ns",           change of the time that no pass encloses
                "between_delta_by_kind": {"context": 2},
                "base_between_ns", "new_between_ns",
                "base_runs_ns", "new_runs_ns", "verdict"},
      "passes": [{"name", "path": ["..."],    with those around it; of the new side, if there
                  "phase", "kernel",          empty: none
                  "change",                   "matched", "added", "removed", "renamed" (an offer),
                                              "moved", "not_reached" (behind a failure of one side)
                  "base_name",                null where that side has no such pass, like all below
                  "base_status", "new_status",           "ok", "failed", "incomplete", "open"
                  "base_error", "new_error",  first line, empty if it did not fail
                  "base_ns", "new_ns",        inclusive time
                  "base_self_ns", "new_self_ns",
                  "self_delta_ns",            a missing side counts as 0
                  "ratio",                    new_ns through base_ns; null where that says nothing
                  "verdict",                  "slower", "faster", "same", "unknown"
                  "base_runs_ns", "new_runs_ns",         inclusive time in each run
                  "base_self_runs_ns", "new_self_runs_ns"}],
      "of_all_categories": false,             true: there are no passes; "passes" are slices of
                                              other tools
      "left_out": {"passes", "self_delta_ns"},           what --top and --min-ms left out
      "by": "phase",                          the choice of --by; its sums, or none for "path":
      "rows": [{"name", "passes", "base_ns", "new_ns", "base_self_ns", "new_self_ns",
                "self_delta_ns", "ratio"}],
      "context_changes": [{"what", "base", "new"}],      what differs around the passes, as text
      "first_divergence": {"kind",            "ir", "passes", "failure"; the whole is null if none
                           "path": ["..."], "detail",
                           "diff", "caution"},           empty: none
      "kernels": [{"name", "base_ns", "new_ns", "base_status", "new_status"}],
      "base": {"names": ["..."], "passes", "failed": ["..."]}, "new": ...,
      "notes": ["..."]                        what a reader must know, in words
    }

With repeats a mean need not be whole. It is rounded then, and the changes so that they still add
up: each is off by less than 1 ns, that of the time between passes by less than 2. Names may be
added to this; those that are there keep their meaning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilelang_trace.analysis.compare.comparison import (
    ComparedKernel,
    Totals,
)
from tilelang_trace.reports.as_json import dumped
from tilelang_trace.reports.compare.adding_up import adding_up, whole
from tilelang_trace.reports.compare.report import CompareReport, Row, make_report, status


def render(report: CompareReport) -> str:
    """The comparison as one JSON object."""
    comparison, by = report.comparison, report.choice.by
    one_by_one = report
    if by != "path":
        one_by_one = make_report(comparison, replace(report.choice, by="path"))
    *deltas, left_out = _deltas(one_by_one)
    return dumped(
        {
            "total": _total(comparison.total, sum(deltas) + left_out),
            "passes": [_pass(row, delta) for row, delta in zip(one_by_one.rows, deltas)],
            "of_all_categories": comparison.of_all_categories,
            "left_out": {"passes": one_by_one.left_out.rows, "self_delta_ns": left_out},
            "by": by,
            "rows": [] if by == "path" else [*map(_row, report.rows, _deltas(report))],
            "context_changes": comparison.context_changes,
            "first_divergence": comparison.first_divergence,
            "kernels": [_kernel(kernel) for kernel in comparison.kernels],
            "base": comparison.base,
            "new": comparison.new,
            "notes": comparison.notes,
        }
    )


def _deltas(report: CompareReport) -> list[int]:
    """Change of the self time of each row, and of what was left out."""
    deltas = [row.self_delta_ns for row in report.rows]
    return adding_up([*deltas, report.left_out.self_delta_ns])


def _total(total: Totals, passes_ns: int) -> dict[str, Any]:
    base, new = whole(total.base_ns), whole(total.new_ns)
    return {
        "base_ns": base,
        "new_ns": new,
        "delta_ns": new - base,
        "between_delta_ns": new - base - passes_ns,
        "between_delta_by_kind": {kind: whole(ns) for kind, ns in total.between_by_kind.items()},
        "base_between_ns": whole(total.base_between_ns),
        "new_between_ns": whole(total.new_between_ns),
        "base_runs_ns": total.base_runs,
        "new_runs_ns": total.new_runs,
        "verdict": total.verdict,
    }


def _pass(row: Row, self_delta_ns: int) -> dict[str, Any]:
    entry = row.passes[0]
    return {
        "name": entry.name,
        "path": entry.path,
        "phase": entry.phase,
        "kernel": entry.kernel,
        "change": entry.change,
        "base_name": entry.base and entry.base.name,
        "base_status": status(entry.base) or None,
        "new_status": status(entry.new) or None,
        "base_error": entry.base and entry.base.error,
        "new_error": entry.new and entry.new.error,
        **_times(row, self_delta_ns),
        "verdict": entry.verdict,
        "base_runs_ns": entry.base and entry.base.inclusive_runs,
        "new_runs_ns": entry.new and entry.new.inclusive_runs,
        "base_self_runs_ns": entry.base and entry.base.self_runs,
        "new_self_runs_ns": entry.new and entry.new.self_runs,
    }


def _row(row: Row, self_delta_ns: int) -> dict[str, Any]:
    return {"name": row.name, "passes": len(row.passes), **_times(row, self_delta_ns)}


def _times(row: Row, self_delta_ns: int) -> dict[str, Any]:
    in_base, in_new = row.base_ns is not None, row.new_ns is not None
    return {
        "base_ns": whole(row.base_ns or 0) if in_base else None,
        "new_ns": whole(row.new_ns or 0) if in_new else None,
        "base_self_ns": whole(row.base_self_ns) if in_base else None,
        "new_self_ns": whole(row.new_self_ns) if in_new else None,
        "self_delta_ns": self_delta_ns,
        "ratio": row.ratio,
    }


def _kernel(kernel: ComparedKernel) -> dict[str, Any]:
    in_base, in_new = kernel.base_row is not None, kernel.new_row is not None
    return {
        "name": kernel.name,
        "base_ns": whole(kernel.base_ns) if in_base else None,
        "new_ns": whole(kernel.new_ns) if in_new else None,
        "base_status": kernel.base_status if in_base else None,
        "new_status": kernel.new_status if in_new else None,
    }
