"""The report by kernel for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_trace.reports.kernels import wording
from tilelang_trace.reports.kernels.report import KernelReport
from tilelang_trace.reports.lines import Line, Table, heading, line, printed
from tilelang_trace.reports.text import short_names, visible
from tilelang_trace.trace.arguments import ERROR_STATUSES

_NAME_WIDTHS = range(24, 61)
"""Characters for a name or a configuration: the least, on a narrow terminal, and the most."""


def render(report: KernelReport, *, width: int | None = None, color: bool = False) -> str:
    """The report as text; `width` is that of the terminal, None for a pipe, which has no edge."""
    name_width = _NAME_WIDTHS[-1]
    if width is not None:
        name_width = max(_NAME_WIDTHS[0], min(name_width, width // 3))
    return printed(_blocks(report, short_names(_names(report), name_width)), color)


def _names(report: KernelReport) -> Iterator[str]:
    for compile_ in report.shown:
        yield from (compile_.kernel, compile_.failed_in, wording.config(compile_))


def _blocks(report: KernelReport, names: dict[str, str]) -> Iterator[Line]:
    for warning in wording.warnings(report):
        yield line(warning, "bold red")
    yield line(visible(report.source), "bold")
    for label, text in wording.facts(report):
        yield line(f"  {label:<13} {text}")
    if not report.all.compiles:
        return
    yield heading("Compiles by kernel")
    yield from _compiles(report, names).lines()
    failures = list(wording.failures(report, names.__getitem__))
    if failures:
        yield heading("Failures")
    for text in failures:
        yield line(f"  {text}", "red")


def _compiles(report: KernelReport, names: dict[str, str]) -> Table:
    texts = wording.text_columns(report, names.__getitem__)
    titles = [column.title for column in texts] or ["kernel"]
    rows = Table((*wording.NUMBERS, *titles), len(wording.NUMBERS))
    for number, compile_ in enumerate(report.shown):
        style = "red" * (compile_.status in ERROR_STATUSES)
        cells = [column.cells[number] for column in texts]
        rows.add((*wording.number_cells(report, compile_), *cells), style)
    for row in wording.closing_rows(report):
        rows.close((*row.cells, row.label))
    return rows
