"""The report for a terminal or a pipe: names are shortened where they must be, numbers never."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tilelang_trace.reports import wording
from tilelang_trace.reports.lines import Line, Table, heading, line, printed
from tilelang_trace.reports.report import Report
from tilelang_trace.reports.text import ms, short_names, visible
from tilelang_trace.trace.arguments import ERROR_STATUSES, OPEN

_NUMBERS_WIDTH = 56
"""What the numbers of the table of passes take of a line."""
_NAME_WIDTHS = range(24, 101)
"""Characters for a name: the least, on a narrow terminal, and the most."""


def render(report: Report, *, width: int | None = None, color: bool = False) -> str:
    """The report as text; `width` is that of the terminal, None for a pipe, which has no edge."""
    name_width = _NAME_WIDTHS[-1]
    if width is not None:
        name_width = max(_NAME_WIDTHS[0], min(name_width, width - _NUMBERS_WIDTH))
    return printed(_blocks(report, short_names(_names(report), name_width)), color)


def _names(report: Report) -> Iterator[str]:
    """All names that the report shows: shortened together, so that each keeps one look."""
    summary = report.summary
    yield from (entry.name for entry in report.passes)
    yield from (shown.name for shown in report.tree.lines)
    yield from (name for name, _ in summary.largest_off_threads)
    for run in (*report.slowest, *summary.running):
        yield from (run.name, run.phase, run.kernel, run.detail)
    for failed in summary.failures:
        yield from (failed.name, failed.phase, failed.kernel, *failed.path)


def _blocks(report: Report, names: dict[str, str]) -> Iterator[Line]:
    for warning in wording.warnings(report, names.__getitem__):
        yield line(warning, "bold red")
    yield line(visible(report.source), "bold")
    for label, text in wording.facts(report, names.__getitem__):
        yield line(f"  {label:<13} {text}", "red" if _is_bad(report, label) else "")
    yield from _failures(report, names)
    if report.passes or report.left_out.passes:
        yield heading(wording.heading_by_name(report.summary))
        yield from _passes(report, names).lines()
    if report.slowest:
        yield heading(f"Slowest runs, by {report.slowest_by} time")
        yield from _slowest(report, names).lines()
    yield from _tree(report, names)


def _is_bad(report: Report, label: str) -> bool:
    return label == "failures" and bool(report.summary.failures)


def _failures(report: Report, names: dict[str, str]) -> Iterator[Line]:
    failures = report.summary.failures
    if failures:
        yield heading("Failures")
    for number, failed in enumerate(failures):
        yield line(f"  {names[failed.name]} failed after {ms(failed.inclusive_ns)} ms", "bold red")
        if place := wording.failure_place(failed, names.__getitem__):
            yield line(f"    {place}")
        yield line(f"    {wording.failure_error(failed)}", "red")
        if number < wording.DETAILS:
            for text in wording.failure_text(failed):
                yield line(f"      {text}")
        elif number == wording.DETAILS:
            yield line("      (from here on without the whole text)")


def _passes(report: Report, names: dict[str, str]) -> Table:
    rows = Table(wording.pass_columns(report.summary), 5)
    for entry in report.passes:
        ended = wording.ended(entry)
        name = names[entry.name] + f"  ({ended})" * bool(ended)
        rows.add((*wording.pass_cells(entry), name), "red" * bool(entry.failed))
    for row in wording.closing_rows(report):
        rows.close((*row.cells, row.label))
    return rows


def _slowest(report: Report, names: dict[str, str]) -> Table:
    rows = Table(wording.run_columns(report.summary), 3)
    for run, place in zip(report.slowest, wording.run_places(report, names.__getitem__)):
        rows.add((*wording.run_cells(run), names[run.name], place))
    return rows


def _tree(report: Report, names: dict[str, str]) -> Iterator[Line]:
    lines = report.tree.lines
    if lines:
        yield heading("Tree, inclusive ms")
    for _, below in groupby(lines, lambda shown: shown.lane):
        for number, shown in enumerate(below):
            if number == 0:
                yield line(f"  {visible(shown.thread)}", "bold")
            bad = shown.status in ERROR_STATUSES or shown.status == OPEN
            text = f"{ms(shown.inclusive_ns):>13}  {'  ' * shown.depth}{names[shown.name]}"
            yield line(text + wording.tree_remarks(shown), "red" if bad else "")
    if note := wording.tree_note(report):
        yield line(f"  {note}")
