"""`tilelang-trace report`: where the time of a compile went, and what failed."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from tilelang_trace import long_work
from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import A_TRACE, count, nanoseconds
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.commands.printing import print_report
from tilelang_trace.errors import UserError
from tilelang_trace.reports.choice import SORTS, Choice
from tilelang_trace.reports.text import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help=A_TRACE)
    parser.add_argument(
        "--by",
        choices=("pass", "kernel"),
        default="pass",
        help="kernel: a row for each compile of a kernel (or candidate of an autotuner): its time, "
        "whether it failed and in which pass (default: pass)",
    )
    parser.add_argument(
        "--sort",
        choices=SORTS,
        help="order of the passes (default: self, the time without the passes below) or of the "
        "kernels (default: inclusive; count: of passes; start: as they were compiled)",
    )
    parser.add_argument(
        "--top",
        type=count,
        metavar="N",
        help="show at most N passes and N slowest runs, or kernels",
    )
    parser.add_argument(
        "--min-ms",
        type=nanoseconds,
        metavar="X",
        dest="min_ns",
        help="leave out passes, slices and kernels with less than X ms of inclusive time",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json", "csv", "markdown"),
        default="table",
        help="table is for the terminal; json and csv are for scripts, in ns, with whole names",
    )


def run(options: argparse.Namespace) -> int:
    """Print the report. Raises UserError if the file is no trace."""
    from tilelang_trace.opening import open_compile

    choice = Choice(options.sort, options.top, options.min_ns)
    if options.by == "pass" and choice.sort == "start":
        raise UserError("report: --sort start is for --by kernel: a pass runs more than once")
    outputs = f"tilelang_trace.{'reports.kernels' if options.by == 'kernel' else 'reports'}"
    with progress.shown():
        trace = open_compile(options.file)
        long_work.stage("adding up")
        report = import_module(f"{outputs}.report").make_report(trace, options.file, choice)
    print_report(outputs, options.format, report)
    tell_of_mends(options.file, trace.findings)
    noun, left_out = ("pass", "passes") if options.by == "pass" else ("compile", "compiles")
    if options.format == "csv" and (number := getattr(report.left_out, left_out)):
        print(f"{plural(number, noun)} left out", file=sys.stderr)
    return 0
