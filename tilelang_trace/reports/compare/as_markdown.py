"""The comparison as Markdown, for a pull request or an issue.

Names are whole, and no text of a trace acts as Markdown, as HTML or as a mention.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_trace.reports.as_markdown import code, escape, fenced, heading, table
from tilelang_trace.reports.compare import wording
from tilelang_trace.reports.compare.report import CompareReport
from tilelang_trace.reports.text import visible


def render(report: CompareReport) -> str:
    """The comparison in GitHub's Markdown."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: CompareReport) -> Iterator[str]:
    comparison = report.comparison
    for line in wording.failures(report, visible):
        yield f"**{escape(line)}**"
        yield ""
    yield f"# Comparison: {code(wording.title(report))}"
    if changes := comparison.context_changes:
        yield from heading("Context changes")
        rows = [
            [code(text) if text else "" for text in (change.what, change.base, change.new)]
            for change in changes
        ]
        yield from table(wording.CONTEXT_COLUMNS, 0, rows)
        yield from heading("Totals")
    else:
        yield ""
    for name, text in wording.facts(report, visible):
        yield f"- {name}: {escape(text)}"
    if lines := wording.divergence(report, visible):
        yield from heading("First divergence")
        yield from (f"- {escape(line)}" for line in lines)
        if diff := wording.diff(report):
            yield ""
            yield from fenced(diff, "diff")
    yield from heading(wording.table_heading(report))
    yield from _rows(report)
    if comparison.notes:
        yield from heading("Notes")
        yield from (f"- {escape(note)}" for note in wording.notes(report))


def _rows(report: CompareReport) -> Iterator[str]:
    numbers = wording.numbers(report)
    texts = wording.text_columns(report, visible)
    rows = []
    for at, cells in enumerate(numbers.rows):
        shown = [code(column.cells[at]) if column.cells[at] else "" for column in texts]
        rows.append([*cells, *shown])
    for closing in numbers.closing:
        rows.append([*closing.cells, closing.label.strip(), *[""] * (len(texts) - 1)])
    columns = (*numbers.columns, *(column.title for column in texts))
    yield from table(columns, len(numbers.columns), rows)
