"""The report by kernel as Markdown, to paste into a bug report."""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_trace.reports.as_markdown import code, escape, fenced, heading, table
from tilelang_trace.reports.kernels import wording
from tilelang_trace.reports.kernels.report import KernelReport
from tilelang_trace.reports.text import visible


def render(report: KernelReport) -> str:
    """The report in GitHub's Markdown."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: KernelReport) -> Iterator[str]:
    for warning in wording.warnings(report):
        yield f"**{escape(warning)}**"
        yield ""
    yield f"# Compiles in {code(report.source)}"
    yield ""
    for label, text in wording.facts(report):
        yield f"- {label}: {escape(text)}"
    if not report.all.compiles:
        return
    yield from heading("Compiles by kernel")
    yield from _compiles(report)
    if failures := list(wording.failures(report, visible)):
        yield from heading("Failures")
        yield from fenced(failures)


def _compiles(report: KernelReport) -> Iterator[str]:
    texts = wording.text_columns(report, visible)
    titles = [column.title for column in texts] or ["kernel"]
    rows = []
    for number, compile_ in enumerate(report.shown):
        cells = [code(text) if (text := column.cells[number].strip()) else "" for column in texts]
        rows.append([*wording.number_cells(report, compile_), *cells])
    for row in wording.closing_rows(report):
        rows.append([*row.cells, row.label, *[""] * (len(titles) - 1)])
    yield from table((*wording.NUMBERS, *titles), len(wording.NUMBERS), rows)
