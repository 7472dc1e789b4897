"""The comparison as CSV, one row a pass (or a sum, see --by), for spreadsheets and scripts.

Times are integer nanoseconds; a side that is missing is empty. The path is a JSON array. Names are
whole: only characters that would act on a terminal are escaped.
"""

from __future__ import annotations

import json
from typing import Any

from tilelang_trace.reports.as_csv import csv_text
from tilelang_trace.reports.compare.adding_up import adding_up, whole
from tilelang_trace.reports.compare.report import CompareReport, Row, status
from tilelang_trace.reports.text import harmless

COLUMNS = (
    "name",
    "path",
    "phase",
    "kernel",
    "passes",
    "change",
    "base_status",
    "new_status",
    "base_ns",
    "new_ns",
    "base_self_ns",
    "new_self_ns",
    "self_delta_ns",
    "ratio",
    "verdict",
)


def render(report: CompareReport) -> str:
    """The rows; the time between passes and what was left out have none. In a sum, what is of one
    pass is empty.
    """
    deltas = adding_up(row.self_delta_ns for row in report.rows)
    return csv_text(COLUMNS, map(_cells, report.rows, deltas))


def _cells(row: Row, self_delta_ns: int) -> list[Any]:
    in_base, in_new = row.base_ns is not None, row.new_ns is not None
    if row.path:
        (entry,) = row.passes
        texts = [json.dumps(row.path), harmless(entry.phase), harmless(entry.kernel)]
        ends = [entry.change, status(entry.base), status(entry.new)]
        verdict: str = entry.verdict
    else:
        texts, ends, verdict = [""] * 3, [""] * 3, ""
    return [
        harmless(row.name),
        *texts,
        len(row.passes),
        *map(harmless, ends),
        whole(row.base_ns or 0) if in_base else "",
        whole(row.new_ns or 0) if in_new else "",
        whole(row.base_self_ns) if in_base else "",
        whole(row.new_self_ns) if in_new else "",
        self_delta_ns,
        "" if row.ratio is None else row.ratio,
        verdict,
    ]
