"""What the outputs for people say, whatever the layout: facts, rows and the words for failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilelang_trace.analysis.runs import Failed, Run
from tilelang_trace.analysis.summary import OTHER, PassTotals, Summary
from tilelang_trace.analysis.tree import LONGEST, Hidden, TreeLine
from tilelang_trace.reports.report import Report
from tilelang_trace.reports.text import (
    duration,
    lines_of,
    middle_cut,
    ms,
    percent,
    plural,
    visible,
    without_middle,
)
from tilelang_trace.trace.arguments import FAILED, OK, PASS

Show = Callable[[str], str]
"""How an output shows a name of the trace."""

DETAILS = 10
"""So many failures are shown with the whole text of their error."""
DETAIL_LINES = 40
"""Longer texts lose their middle; the file has them whole."""

_DETAIL_WIDTH = 80
"""Characters, in the tree, for what a slice was about."""

NONE_RAN = (
    "none ran: nothing was compiled, or the kernels came from a cache "
    "(TILELANG_DISABLE_CACHE=1 turns TileLang's off)"
)


def noun(summary: Summary) -> str:
    """What the rows are: passes, or the slices of another tool."""
    return "slice" if summary.of_all_categories else "pass"


def heading_by_name(summary: Summary) -> str:
    """What stands above the table of names."""
    return "Slices by name" if summary.of_all_categories else "Passes by name"


def pass_columns(summary: Summary) -> tuple[str, ...]:
    """The heads of the table of names."""
    return "self ms", "self %", "inclusive ms", "inclusive %", "runs", noun(summary)


def run_columns(summary: Summary) -> tuple[str, ...]:
    """The heads of the table of slowest runs."""
    return "self ms", "inclusive ms", "start ms", noun(summary), "where"


def warnings(report: Report, show: Show) -> Iterator[str]:
    """What a reader must know before any number: what is missing, and what was still running."""
    whole = report.summary.recording
    if not whole.complete:
        yield f"INCOMPLETE RECORDING: {'; '.join(visible(reason) for reason in whole.reasons)}"
    for run in report.summary.running:
        place = f" ({visible(run.thread)})" if run.thread else ""
        yield f"still running: {show(run.name)}, for {duration(run.inclusive_ns)}{place}"


def facts(report: Report, show: Show) -> Iterator[tuple[str, str]]:
    """The lines at the head of a report: label and text."""
    summary = report.summary
    yield "total", f"{duration(summary.total_ns)}, all threads"
    yield "wall time", duration(summary.wall_ns)
    names = report.left_out.passes + len(report.passes)
    if summary.of_all_categories:
        told = f"{plural(summary.runs, 'slice')} of {plural(names, 'name')}"
        yield "slices", f"{told}, of all categories: there are no passes"
    elif not summary.runs and not summary.hidden:
        yield "passes", NONE_RAN
    else:
        yield "passes", f"{plural(summary.runs, 'run')} of {plural(names, 'pass')}"
    incomplete = f", {summary.incomplete} enclosing incomplete" if summary.incomplete else ""
    if summary.failures or not summary.of_all_categories:
        yield "failures", f"{len(summary.failures)}{incomplete}"
    if summary.hidden:
        runs = f"{plural(summary.hidden, 'run')}, {duration(summary.hidden_ns)}"
        yield "left out", f"{runs}, in the time of what encloses them"
    if summary.hidden_outside_ns:
        outside = f"{duration(summary.hidden_outside_ns)} of it, which nothing encloses"
        yield "not counted", outside
    if summary.off_threads:
        told = f"{plural(summary.off_threads, 'slice')} on rows of no thread"
        if summary.of_all_categories:
            times = [f"{show(name)} {ms(ns)} ms" for name, ns in summary.largest_off_threads]
            told += f": {', '.join(times)}"
        yield "not counted", told
    if summary.sums:
        yield "not counted", f"{plural(summary.sums, 'slice')} by which the tool sums up the others"
    if summary.findings:
        yield "findings", f"{summary.findings.total}, first: {visible(str(summary.findings[0]))}"


def pass_cells(entry: PassTotals) -> tuple[str, ...]:
    """The numbers of a row of the table of passes."""
    return (
        ms(entry.self_ns),
        percent(entry.share),
        ms(entry.inclusive_ns),
        percent(entry.inclusive_share),
        str(entry.count),
    )


def ended(entry: PassTotals) -> str:
    """How runs of a pass ended, if not all well."""
    counts = {"failed": entry.failed, "incomplete": entry.incomplete, "open": entry.open}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


@dataclass(frozen=True)
class ClosingRow:
    """A row below the passes, which makes them add up to the total."""

    label: str
    cells: tuple[str, ...]


def closing_rows(report: Report) -> Iterator[ClosingRow]:
    """The passes that are not shown, the time between passes by kind, and the total."""
    summary, left_out = report.summary, report.left_out
    total = summary.total_ns or 1

    def row(label: str, ns: int, inclusive: str = "", count: int | None = None) -> ClosingRow:
        runs = "" if count is None else str(count)
        return ClosingRow(label, (ms(ns), percent(ns / total), inclusive, "", runs))

    if left_out.passes:
        more = "more name" if summary.of_all_categories else "more pass"
        label = f"({plural(left_out.passes, more)}, not shown)"
        yield row(label, left_out.self_ns, count=left_out.count)
    by_kind = summary.between_by_kind
    where = f", in {next(iter(by_kind))}" if len(by_kind) == 1 else ""
    if not summary.of_all_categories:
        yield row(f"(between passes{where})", summary.between_passes_ns)
    if len(by_kind) > 1:
        for kind, ns in by_kind.items():
            yield row(f"  (in {kind})", ns)
    yield row("(total)", summary.total_ns, ms(summary.total_ns), summary.runs)


def run_cells(run: Run) -> tuple[str, ...]:
    """The numbers of a row of the slowest runs."""
    return ms(run.self_ns), ms(run.inclusive_ns), ms(run.start_ns)


def run_places(report: Report, show: Show) -> list[str]:
    """For each of the slowest runs where it stands, if that tells them apart, and how it ended."""
    threads = len({run.thread for run in report.slowest}) > 1
    kernels = len({run.kernel for run in report.slowest} - {""}) > 1
    places = []
    for run in report.slowest:
        parts = [
            show(run.detail) if run.detail else "",
            f"phase {show(run.phase)}" if run.phase else "",
            f"kernel {show(run.kernel)}" if run.kernel and kernels else "",
            visible(run.thread) if threads else "",
            run.status if run.status != OK else "",
        ]
        places.append(", ".join(part for part in parts if part))
    return places


def failure_place(failed: Failed, show: Show) -> str:
    """The passes around a failure and the phase and kernel; empty if nothing is known."""
    parts = [
        f"in {' > '.join(map(show, failed.path))}" if failed.path else "",
        f"phase {show(failed.phase)}" if failed.phase and failed.phase not in failed.path else "",
        f"kernel {show(failed.kernel)}" if failed.kernel else "",
    ]
    return ", ".join(part for part in parts if part)


def failure_error(failed: Failed) -> str:
    """Type, cause and first line of an error."""
    cause = f" ({visible(failed.cause)})" if failed.cause else ""
    kind = visible(failed.type) if failed.type else "no error type"
    return f"{kind}{cause}: {visible(failed.message) if failed.message else 'no message'}"


def failure_text(failed: Failed) -> list[str]:
    """The lines of an error's text after its first line, which `failure_error` has."""
    lines = lines_of(failed.detail)
    if lines[:1] == lines_of(failed.message):
        lines = lines[1:]
    return without_middle(lines, DETAIL_LINES)


def tree_remarks(line: TreeLine) -> str:
    """What a line of the tree says after the name."""
    remarks = [
        middle_cut(visible(line.detail), _DETAIL_WIDTH) if line.detail else "",
        f"[{line.kind}]" if line.kind not in (PASS, OTHER) else "",
        line.status.upper() if line.status == FAILED else line.status * (line.status != OK),
        f"(+{hidden_text(line.hidden)})" if line.hidden.count else "",
    ]
    return "".join(f"  {remark}" for remark in remarks if remark)


def hidden_text(hidden: Hidden) -> str:
    """How much was left out."""
    return f"{plural(hidden.count, 'slice')} hidden, {ms(hidden.ns)} ms"


def tree_note(report: Report) -> str:
    """What the whole tree leaves out; empty if nothing."""
    tree = report.tree
    if not tree.hidden.count:
        return ""
    shown = f"the {LONGEST} longest" if tree.min_ns is None else f"from {ms(tree.min_ns)} ms"
    return f"{hidden_text(tree.hidden)}; shown: {shown} (--min-ms 0 shows all)"
