"""The comparison for a terminal or a pipe: names may be shortened, numbers never are."""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_trace.reports.compare import wording
from tilelang_trace.reports.compare.report import CompareReport, Row
from tilelang_trace.reports.lines import Line, Table, heading, line, printed
from tilelang_trace.reports.text import short_names
from tilelang_trace.reports.wording import Show
from tilelang_trace.trace.arguments import FAILED

_NAME_WIDTHS = range(24, 81)
"""Characters for a name or a value: the least, on a narrow terminal, and the most."""
_WIDE = 120
"""Narrower terminals have no room for the inclusive times of both sides, only for their change."""


def render(report: CompareReport, *, width: int | None = None, color: bool = False) -> str:
    """The comparison as text; `width` is that of the terminal, None for a pipe without an edge."""
    name_width = _NAME_WIDTHS[-1]
    if width is not None:
        name_width = max(_NAME_WIDTHS[0], min(name_width, width // 3))
    names = short_names(_names(report), name_width)
    wide = width is None or width >= _WIDE
    return printed(_blocks(report, names.__getitem__, wide), color)


def _names(report: CompareReport) -> Iterator[str]:
    """All texts that are shown: shortened together, so that each keeps one look."""
    comparison = report.comparison
    for entry in report.failed_on_one_side:
        yield from (*entry.path, entry.phase, entry.kernel)
    for row in report.rows:
        yield from row.passes.texts()
    yield from (row.name for row in report.rows)
    yield from (kernel.name for kernel in comparison.kernels)
    for change in comparison.context_changes:
        yield from (change.what, change.base, change.new)
    if comparison.first_divergence:
        yield from comparison.first_divergence.path


def _blocks(report: CompareReport, show: Show, wide: bool) -> Iterator[Line]:
    comparison = report.comparison
    for text in wording.failures(report, show):
        yield line(text, "bold red")
    yield line(wording.title(report), "bold")
    if comparison.context_changes:
        yield heading("Context changes")
        rows = Table(wording.CONTEXT_COLUMNS, 0)
        for change in comparison.context_changes:
            texts = (change.what, change.base, change.new)
            rows.add([show(text) if text else "" for text in texts])
        yield from rows.lines()
        yield heading("Totals")
    for name, text in wording.facts(report, show):
        yield line(f"  {name:<13} {text}")
    if lines := wording.divergence(report, show):
        yield heading("First divergence")
        for text in (*lines, *wording.diff(report)):
            yield line(f"  {text}")
    yield heading(wording.table_heading(report))
    yield from _rows(report, show, wide).lines()
    if comparison.notes:
        yield heading("Notes")
    for note in wording.notes(report):
        yield line(f"  {note}")


def _rows(report: CompareReport, show: Show, wide: bool) -> Table:
    numbers = wording.numbers(report, wide)
    texts = wording.text_columns(report, show)
    rows = Table((*numbers.columns, *(column.title for column in texts)), len(numbers.columns))
    for at, (row, cells) in enumerate(zip(report.rows, numbers.rows)):
        style = _style(row)
        rows.add((*cells, *(column.cells[at] for column in texts)), style)
    for closing in numbers.closing:
        rows.close((*closing.cells, closing.label))
    return rows


def _style(row: Row) -> str:
    if any(side.status.are(FAILED).any() for side in (row.passes.base, row.passes.new)):
        return "red"
    _, verdicts = row.passes.counts()
    return "yellow" if verdicts["slower"] else "green" if verdicts["faster"] else ""
