"""The text of an issue about a compile, or about a comparison of two."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang_trace.analysis.compare.comparison import Comparison
from tilelang_trace.reports.compare import as_markdown as compare_as_markdown
from tilelang_trace.reports.compare.choice import Choice
from tilelang_trace.reports.compare.report import make_report
from tilelang_trace.reports.issue.as_markdown import how_to_open, render
from tilelang_trace.reports.issue.fitting import LIMIT, cut, size
from tilelang_trace.reports.issue.issue import make_issue
from tilelang_trace.trace.model import Trace

_ROWS = (25, 10, 5, 0)
"""Rows of a comparison's table, tried in this order until the text has room."""


def issue_text(
    trace: Trace,
    *,
    attachment: str = "report.zip",
    picture: str | None = None,
    reproducer: str = "",
    why_no_reproducer: str = "",
    left_out: Sequence[str] = (),
) -> str:
    """Markdown to paste into a GitHub issue, within GitHub's limit whatever the trace.

    `attachment` is the name of the file that goes with it, `picture` the address of a picture,
    relative or not, `reproducer` the commands that run the reproducer; if there is none,
    `why_no_reproducer` tells why. `left_out` tells, a line each, what was left out of the attached
    file.
    """
    return render(
        make_issue(trace),
        attachment=attachment,
        picture=picture,
        reproducer=reproducer,
        why_no_reproducer=why_no_reproducer,
        left_out=left_out,
    )


def comparison_text(comparison: Comparison, *, attachment: str = "report.zip") -> str:
    """As `issue_text`, of two compiles."""
    ending = list(how_to_open(attachment))
    room = LIMIT - size(ending)
    for rows in _ROWS:
        report = make_report(comparison, Choice(top=rows, unchanged=False))
        lines = compare_as_markdown.render(report).splitlines()
        if size(lines) <= room:
            break
    else:
        lines = cut(lines, room)
    return "".join(f"{line}\n" for line in [*lines, *ending])
