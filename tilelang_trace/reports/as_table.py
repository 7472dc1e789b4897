"""The report for a terminal or a pipe: names are shortened where they must be, numbers never."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilelang_trace.reports import wording
from tilelang_trace.reports.report import Report
from tilelang_trace.reports.text import ms, short_names, visible
from tilelang_trace.trace.arguments import ERROR_STATUSES, OPEN

_NUMBERS_WIDTH = 56
"""What the numbers of the table of passes take of a line."""
_NAME_WIDTHS = range(24, 101)
"""Characters for a name: the least, on a narrow terminal, and the most."""
_ENDLESS = 100_000
"""Width for rich: it never wraps or cuts; what a line may take is decided here."""


def render(report: Report, *, width: int | None = None, color: bool = False) -> str:
    """The report as text; `width` is that of the terminal, None for a pipe, which has no edge."""
    name_width = _NAME_WIDTHS[-1]
    if width is not None:
        name_width = max(_NAME_WIDTHS[0], min(name_width, width - _NUMBERS_WIDTH))
    return printed(_blocks(report, short_names(_names(report), name_width)), color)


def printed(blocks: Iterable[Text | Table], color: bool) -> str:
    """Blocks as text, without spaces at the ends of lines."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=_ENDLESS,
        force_terminal=color,
        force_jupyter=False,
        legacy_windows=False,
    )
    for block in blocks:
        console.print(block)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def _names(report: Report) -> Iterator[str]:
    """All names that the report shows: shortened together, so that each keeps one look."""
    summary = report.summary
    yield from (entry.name for entry in report.passes)
    yield from (line.name for line in report.tree.lines)
    for run in (*report.slowest, *summary.running):
        yield from (run.name, run.phase, run.kernel)
    for failed in summary.failures:
        yield from (failed.name, failed.phase, failed.kernel, *failed.path)


def _blocks(report: Report, names: dict[str, str]) -> Iterator[Text | Table]:
    # Texts of a trace go in as Text: as str, rich would take brackets in a name for markup.
    for warning in wording.warnings(report, names.__getitem__):
        yield Text(warning, "bold red")
    yield Text(visible(report.source), "bold")
    for label, text in wording.facts(report):
        yield Text(f"  {label:<13} {text}", "red" if _is_bad(report, label) else "")
    yield from _failures(report, names)
    if report.passes or report.left_out.passes:
        yield heading(wording.NO_PASSES if report.summary.of_all_categories else "Passes by name")
        yield _passes(report, names)
    if report.slowest:
        yield heading(f"Slowest runs, by {report.slowest_by} time")
        yield _slowest(report, names)
    yield from _tree(report, names)


def _is_bad(report: Report, label: str) -> bool:
    return label == "failures" and bool(report.summary.failures)


def heading(text: str) -> Text:
    """A heading with an empty line before it."""
    return Text(f"\n{text}", "bold")


def _failures(report: Report, names: dict[str, str]) -> Iterator[Text]:
    failures = report.summary.failures
    if failures:
        yield heading("Failures")
    for number, failed in enumerate(failures):
        yield Text(f"  {names[failed.name]} failed after {ms(failed.inclusive_ns)} ms", "bold red")
        if place := wording.failure_place(failed, names.__getitem__):
            yield Text(f"    {place}")
        yield Text(f"    {wording.failure_error(failed)}", "red")
        if number < wording.DETAILS:
            for line in wording.failure_text(failed):
                yield Text(f"      {line}")
        elif number == wording.DETAILS:
            yield Text("      (from here on without the whole text)")


def table(columns: tuple[str, ...], numbers: int) -> Table:
    """An empty table whose first columns are numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number < numbers else "left", no_wrap=True)
    return made


def _passes(report: Report, names: dict[str, str]) -> Table:
    rows = table(wording.PASS_COLUMNS, 5)
    for entry in report.passes:
        ended = wording.ended(entry)
        name = Text(names[entry.name] + f"  ({ended})" * bool(ended), "red" * bool(entry.failed))
        rows.add_row(*wording.pass_cells(entry), name)
    rows.add_section()
    for row in wording.closing_rows(report):
        rows.add_row(*row.cells, Text(row.label), style="dim")
    return rows


def _slowest(report: Report, names: dict[str, str]) -> Table:
    rows = table(wording.RUN_COLUMNS, 3)
    for run, place in zip(report.slowest, wording.run_places(report, names.__getitem__)):
        rows.add_row(*wording.run_cells(run), Text(names[run.name]), Text(place))
    return rows


def _tree(report: Report, names: dict[str, str]) -> Iterator[Text]:
    lines = report.tree.lines
    if lines:
        yield heading("Tree, inclusive ms")
    for _, below in groupby(lines, lambda line: line.lane):
        for number, line in enumerate(below):
            if number == 0:
                yield Text(f"  {visible(line.thread)}", "bold")
            bad = line.status in ERROR_STATUSES or line.status == OPEN
            text = f"{ms(line.inclusive_ns):>13}  {'  ' * line.depth}{names[line.name]}"
            yield Text(text + wording.tree_remarks(line), "red" if bad else "")
    if note := wording.tree_note(report):
        yield Text(f"  {note}")
