"""The passes as CSV, one row a name, for spreadsheets and scripts; times are integer nanoseconds.

Names are whole: only characters that would act on a terminal are escaped (a newline is quoted).
"""

from __future__ import annotations

import csv
from io import StringIO

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
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in report.passes:
        values = [getattr(entry, column) for column in COLUMNS[1:]]
        writer.writerow([harmless(entry.name), *values])
    return stream.getvalue()
