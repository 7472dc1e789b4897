"""What the outputs for people say about compiles, whatever the layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tilelang_trace.analysis.kernels import Compile
from tilelang_trace.reports.kernels.report import KernelReport
from tilelang_trace.reports.text import duration, ms, percent, plural, visible
from tilelang_trace.reports.wording import ClosingRow, Show
from tilelang_trace.trace.arguments import ERROR_STATUSES, OK

NUMBERS = ("#", "ms", "%", "not in passes ms", "passes")
"""Columns of numbers; `#` is the compile's place by begin."""

NONE = (
    "no compile: there is no compile slice, and no PassContext in which a pass ran "
    "(--by pass shows the passes)"
)


def warnings(report: KernelReport) -> Iterator[str]:
    """What a reader must know before any number."""
    if not report.recording.complete:
        yield f"INCOMPLETE RECORDING: {'; '.join(map(visible, report.recording.reasons))}"


def facts(report: KernelReport) -> Iterator[tuple[str, str]]:
    """The lines at the head of the report: label and text."""
    found = report.all
    yield "compiles", _outcomes(report) if found.compiles else NONE
    yield "compile time", f"{duration(found.compiles_ns)}, all threads"
    outside = f", {plural(found.outside_passes, 'pass')}" if found.outside_passes else ""
    yield "outside", f"{duration(found.outside_ns)}{outside}"


def _outcomes(report: KernelReport) -> str:
    compiles, failed = report.all.compiles, report.all.failed
    ok = sum(c.status == OK for c in compiles)
    open_ = len(compiles) - ok - len(failed)
    hits = sum(c.cache == "hit" for c in compiles)
    parts = [f"{ok} ok"]
    if failed:
        parts.append(f"{len(failed)} failed (number {_ranges(failed)} of {len(compiles)})")
    if open_:
        parts.append(f"{open_} still running")
    if hits:
        parts.append(f"{hits} from the cache")
    return f"{len(compiles)}: {', '.join(parts)}"


def _ranges(numbers: tuple[int, ...]) -> str:
    """`1-3, 7`: ascending numbers, runs of them joined."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


@dataclass(frozen=True)
class Column:
    """A column of texts."""

    title: str
    cells: tuple[str, ...]


def number_cells(report: KernelReport, compile_: Compile) -> tuple[str, ...]:
    """The numbers of a row."""
    total = report.all.total_ns or 1
    return (
        str(compile_.number),
        ms(compile_.inclusive_ns),
        percent(compile_.inclusive_ns / total),
        ms(compile_.self_ns),
        str(compile_.passes),
    )


def text_columns(report: KernelReport, show: Show) -> list[Column]:
    """The texts of the rows; a column that tells nothing is left out."""
    shown = report.shown
    columns = [
        Column("kernel", tuple(f"{'  ' * c.nested}{show(c.kernel)}" for c in shown)),
        Column("result", tuple(result(c, show) for c in shown)),
        Column("configuration", tuple(show(text) if (text := config(c)) else "" for c in shown)),
        Column("target", tuple(visible(short_target(c.target)) for c in shown)),
        Column("cache", tuple(visible(c.cache) if c.cache else "" for c in shown)),
    ]
    if len({c.thread for c in report.all.compiles}) > 1:
        columns.append(Column("thread", tuple(visible(c.thread) for c in shown)))
    return [column for column in columns if any(column.cells)]


def result(compile_: Compile, show: Show) -> str:
    """How a compile ended, in a few words."""
    if compile_.status not in ERROR_STATUSES:
        return visible(compile_.status)
    if compile_.failed_in == compile_.own_name:
        return "failed outside of passes"
    return f"failed in {show(compile_.failed_in)}" if compile_.failed_in else "failed"


def config(compile_: Compile) -> str:
    """The configuration on one line: `block_M=128, threads=256`."""
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in compile_.configuration.items()
    )


def failures(report: KernelReport, show: Show) -> Iterator[str]:
    """A line for each compile that is shown and failed with an error."""
    for compile_ in sorted(report.shown, key=lambda c: c.number):
        if compile_.error:
            place = f"{show(compile_.kernel)}, {result(compile_, show)}"
            yield f"compile {compile_.number}: {place}: {visible(compile_.error)}"


def closing_rows(report: KernelReport) -> Iterator[ClosingRow]:
    """The compiles that are not shown, the time outside of compiles, and the total."""
    found, left_out = report.all, report.left_out
    total = found.total_ns or 1

    def row(label: str, ns: int, passes: str = "") -> ClosingRow:
        return ClosingRow(label, ("", ms(ns), percent(ns / total), "", passes))

    if left_out.compiles:
        label = f"({plural(left_out.compiles, 'more compile')}, not shown)"
        yield row(label, left_out.inclusive_ns)
    outside = str(found.outside_passes) if found.outside_passes else ""
    yield row("(outside of compiles)", found.outside_ns, outside)
    yield row("(total)", found.total_ns)


def short_target(target: str) -> str:
    """A target as TVM writes it (JSON), by what tells targets apart: `cuda sm_80`."""
    try:
        options = json.loads(target)
    except ValueError:
        return target
    if not isinstance(options, dict) or not isinstance(options.get("kind"), str):
        return target
    details = (options.get(name) for name in ("arch", "mcpu"))
    return " ".join([options["kind"], *(text for text in details if isinstance(text, str))])
