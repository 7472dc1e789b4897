"""The compiles as CSV, one row each, for spreadsheets and scripts; times are integer nanoseconds.

Texts are whole: only characters that would act on a terminal are escaped. The configuration is a
JSON object.
"""

from __future__ import annotations

import json

from tilelang_trace.analysis.kernels import Compile
from tilelang_trace.reports.as_csv import csv_text
from tilelang_trace.reports.kernels.report import KernelReport
from tilelang_trace.reports.text import harmless

COLUMNS = (
    "number",
    "kernel",
    "configuration",
    "target",
    "start_ns",
    "inclusive_ns",
    "self_ns",
    "passes",
    "status",
    "failed_in",
    "error",
    "cache",
    "thread",
    "nested",
)


def render(report: KernelReport) -> str:
    """The table of compiles; the time outside of them and what was left out have no row."""
    return csv_text(
        COLUMNS, ([_cell(compile_, column) for column in COLUMNS] for compile_ in report.shown)
    )


def _cell(compile_: Compile, column: str) -> str:
    value = getattr(compile_, column)
    if isinstance(value, str):
        return harmless(value)
    # ASCII only: no character of a configuration can act on a terminal.
    return json.dumps(value or {}) if column == "configuration" else str(value).lower()
