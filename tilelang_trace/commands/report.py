"""`tilelang-trace report`: where the time of a compile went, and what failed."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from tilelang_trace.commands.arguments import count, nanoseconds
from tilelang_trace.reports.choice import SORTS, Choice
from tilelang_trace.reports.text import plural

if TYPE_CHECKING:
    from tilelang_trace.reports.report import Report

NAME = "report"
HELP = "show where the time of a compile went, and what failed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="a trace, in any format that can be read")
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="self",
        help="order of the passes (default: self, the time without the passes below)",
    )
    parser.add_argument(
        "--top", type=count, metavar="N", help="show at most N passes and N slowest runs"
    )
    parser.add_argument(
        "--min-ms",
        type=nanoseconds,
        metavar="X",
        dest="min_ns",
        help="leave out passes and slices with less than X ms of inclusive time",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json", "csv", "markdown"),
        default="table",
        help="table is for the terminal; json and csv are for scripts, in ns, with whole names",
    )


def run(options: argparse.Namespace) -> int:
    """Print the report. Raises UserError if the file is no trace."""
    from tilelang_trace.commands.opening import open_trace
    from tilelang_trace.reports.report import make_report

    choice = Choice(options.sort, options.top, options.min_ns)
    report = make_report(open_trace(options.file), options.file, choice)
    text = _render(report, options.format)
    # A terminal or pipe that can't show a character (Windows, the C locale) gets its escape.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    if options.format == "csv" and report.left_out.passes:
        print(f"{plural(report.left_out.passes, 'pass')} left out", file=sys.stderr)
    return 0


def _render(report: Report, output: str) -> str:
    # Imported when asked for: rich alone takes as long as reading a small trace.
    if output == "json":
        from tilelang_trace.reports import as_json

        return as_json.render(report)
    if output == "csv":
        from tilelang_trace.reports import as_csv

        return as_csv.render(report)
    if output == "markdown":
        from tilelang_trace.reports import as_markdown

        return as_markdown.render(report)
    from tilelang_trace.reports import as_table

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    return as_table.render(report, width=width, color=terminal)
