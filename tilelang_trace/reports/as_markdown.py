"""The report as Markdown, to paste into a bug report.

Names are whole, and no text of the trace acts as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from tilelang_trace.reports import wording
from tilelang_trace.reports.report import Report
from tilelang_trace.reports.text import ms, visible

_REFERENCES = re.compile(
    r"[@#$]|://|www\.|\bGH-(?=\d)|:(?=[\w+-]+:)|\b[0-9a-f]{7,40}\b", re.IGNORECASE
)
"""What makes a mention, a reference, mathematics, a link, an emoji or a commit of a text."""


def render(report: Report) -> str:
    """The report in GitHub's Markdown."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    summary = report.summary
    for warning in wording.warnings(report, visible):
        yield f"**{escape(warning)}**"
        yield ""
    yield f"# Report of {code(report.source)}"
    yield ""
    for label, text in wording.facts(report, visible):
        yield f"- {label}: {escape(text)}"
    yield from _failures(report)
    if report.passes or report.left_out.passes:
        yield from heading(wording.heading_by_name(summary))
        rows = [[*wording.pass_cells(e), code(e.name), wording.ended(e)] for e in report.passes]
        rows += [[*row.cells, row.label.strip(), ""] for row in wording.closing_rows(report)]
        yield from table((*wording.pass_columns(summary), "ended"), 5, rows)
    if report.slowest:
        yield from heading(f"Slowest runs, by {report.slowest_by} time")
        rows = [
            [*wording.run_cells(run), code(run.name), code(place) if place else ""]
            for run, place in zip(report.slowest, wording.run_places(report, visible))
        ]
        yield from table(wording.run_columns(summary), 3, rows)
    if report.tree.lines:
        yield from heading("Tree, inclusive ms")
        yield from fenced(list(_tree(report)))


def heading(text: str) -> tuple[str, ...]:
    """The lines of a heading."""
    return "", f"## {text}", ""


def _failures(report: Report) -> Iterator[str]:
    failures = report.summary.failures
    if failures:
        yield from heading("Failures")
    for number, failed in enumerate(failures):
        yield f"### {code(failed.name)} failed after {ms(failed.inclusive_ns)} ms"
        place = wording.failure_place(failed, visible)
        text = [place] if place else []
        text.append(wording.failure_error(failed))
        if number < wording.DETAILS:
            text += wording.failure_text(failed)
        yield ""
        yield from fenced(text)
        yield ""


def table(columns: tuple[str, ...], numbers: int, rows: Iterable[list[str]]) -> Iterator[str]:
    """The lines of a table whose first columns are numbers."""
    yield f"| {' | '.join(columns)} |"
    rules = ["---:" if number < numbers else ":---" for number in range(len(columns))]
    yield f"| {' | '.join(rules)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _tree(report: Report) -> Iterator[str]:
    for _, below in groupby(report.tree.lines, lambda line: line.lane):
        for number, line in enumerate(below):
            if number == 0:
                yield visible(line.thread)
            text = f"{ms(line.inclusive_ns):>12}  {'  ' * line.depth}{visible(line.name)}"
            yield text + wording.tree_remarks(line)
    if note := wording.tree_note(report):
        yield note


def escape(text: str) -> str:
    """A text that stands in a line as it is, whatever Markdown would read into it."""
    escaped = re.sub(r"([\\`*_{}\[\]<>|~&!])", r"\\\1", visible(text))
    # GitHub looks for these after it has taken the backslashes away.
    return _REFERENCES.sub(r"<code>\g<0></code>", escaped)


def code(text: str) -> str:
    """A text as code, which may stand in a cell of a table."""
    shown = visible(text)
    if r"\|" in shown:
        # In a cell a pipe needs a backslash before it, and parsers differ over one that has two.
        entities = re.sub("[^A-Za-z0-9 ]", lambda match: f"&#{ord(match[0])};", shown)
        return f"<code>{entities}</code>"
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}".replace("|", r"\|")


def fenced(lines: list[str], language: str = "text") -> list[str]:
    """Lines as a block of code that none of them can end."""
    ticks = "`" * max(3, max(map(_longest_ticks, lines), default=0) + 1)
    return [f"{ticks}{language}", *lines, ticks]


def folded(summary: str, lines: list[str]) -> list[str]:
    """Lines of Markdown that show on a click on the summary, which must be plain."""
    # Between HTML and Markdown there must be a blank line.
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"]


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
