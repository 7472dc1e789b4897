"""The passes as CSV, one row a name, for spreadsheets and scripts; times are integer nanoseconds.

Names are whole: only characters that would act on a terminal are escaped (a newline is quoted).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from tilelang_trace.reports.report import Report
from tilelang_trace.reports.text import harmless

COLUMNS = (
    "name",
    "count",
    "self_ns",
    "inclusive_ns",
    "share",
    "inclusive_share",
    "failed",
    "incomplete",
    "open",
)


def render(report: Report) -> str:
    """The table of passes; the time between passes and what was left out have no row."""
    return csv_text(
        COLUMNS,
        (
            [harmless(entry.name), *(getattr(entry, column) for column in COLUMNS[1:])]
            for entry in report.passes
        ),
    )


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A line with the names of the columns, and one for each row."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()
