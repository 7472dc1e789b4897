"""`tilelang-trace compare BASE NEW`: what changed between two compiles, in a table and on one
timeline.
"""

from __future__ import annotations

import argparse
import sys

from tilelang_trace import long_work
from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import count, nanoseconds, percentage
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.commands.printing import print_report
from tilelang_trace.errors import UserError
from tilelang_trace.reports.compare.choice import BYS, Choice
from tilelang_trace.reports.text import plural, visible

_TOP = 25
"""Rows for people when nobody says how many; scripts get all."""
_COMPARED, _FAIL_ON_MET, _NOTHING_TO_COMPARE = 0, 1, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.usage = (
        "%(prog)s BASE NEW [OPTION ...]\n"
        "       %(prog)s BOTH.zip [OPTION ...]\n"
        "       %(prog)s --base A1 [A2 ...] --new B1 [B2 ...] [OPTION ...]"
    )
    parser.epilog = (
        "Exit codes: 0 compared, 1 --fail-on was met, 2 bad input, 3 nothing to compare: no pass "
        "ran on a side."
    )
    for name, text in (("BASE", "the compile before"), ("NEW", "the compile after")):
        positional = parser.add_argument(
            f"{name.lower()}_path",
            metavar=name,
            help=f"{text}: a trace in any format that can be read, or a folder of traces of "
            "repeated compiles",
        )
        positional.required = False  # --base and --new may stand in their place
    parser.add_argument("--base", nargs="+", metavar="A", help="several traces of BASE")
    parser.add_argument("--new", nargs="+", metavar="B", help="several traces of NEW")
    parser.add_argument(
        "--by",
        choices=BYS,
        help="what a row is: all passes of one name, all in one phase or kernel, or (path) one run "
        "of a pass with those around it (default: pass; path for json and csv)",
    )
    parser.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"show at most N rows (default: {_TOP}; all for json and csv)",
    )
    parser.add_argument(
        "--min-ms",
        type=nanoseconds,
        default=0,
        metavar="X",
        dest="min_ns",
        help="leave out, and do not judge, what takes less than X ms on both sides",
    )
    parser.add_argument(
        "--format",
        choices=("table", "markdown", "json", "csv"),
        default="table",
        help="markdown is for a pull request or an issue; json and csv are for scripts, in ns, "
        "with whole names",
    )
    parser.add_argument(
        "--fail-on",
        choices=("slower",),
        help="exit with code 1 if a pass, or the whole, has the verdict slower, or only NEW failed",
    )
    parser.add_argument(
        "--threshold",
        type=percentage,
        metavar="P",
        help="smaller changes, as a part of the base time (10%%), are not called slower or faster",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write both compiles and the difference as one timeline: .pftrace or .json, or as a "
        "picture: .svg, .png; .zip: the two traces as they are, for Perfetto v58 or later",
    )
    parser.add_argument(
        "--align",
        choices=("start", "passes"),
        help="with -o: both begin at 0 (default), or each pass stands below its counterpart",
    )


def run(options: argparse.Namespace) -> int:
    """Print the comparison. Raises UserError if something is no trace."""
    base_paths, new_paths = _sides(options)
    if options.align and not options.output:
        raise UserError("compare: --align is for the timeline that -o writes")
    from tilelang_trace import comparing
    from tilelang_trace.reports.compare import fail_on
    from tilelang_trace.reports.compare.report import make_report

    if options.output:
        comparing.check_output(options.output, options.align)
    try:
        with progress.shown():
            base = comparing.open_runs(base_paths, "base")
            new = comparing.open_runs(new_paths, "new")
            long_work.stage("comparing")
            comparison = comparing.compare_runs(base, new, options.min_ns, options.threshold)
    except comparing.NothingToCompare as error:
        print(f"tilelang-trace: {error}", file=sys.stderr)
        return _NOTHING_TO_COMPARE
    for_people = options.format in ("table", "markdown")
    choice = Choice(
        by=options.by or ("pass" if for_people else "path"),
        top=_TOP if options.top is None and for_people else options.top,
        min_ns=options.min_ns,
        unchanged=not for_people,
    )
    if options.fail_on:
        fail_on.check(comparison, options.threshold)
    with progress.shown():
        long_work.stage("adding up")
        report = make_report(comparison, choice)
    print_report("tilelang_trace.reports.compare", options.format, report)
    for runs in (base, new):
        for path, trace in zip(runs.names, runs.traces):
            tell_of_mends(path, trace.findings)
    if options.format == "csv":
        for note in comparison.notes:
            print(f"tilelang-trace: {visible(note)}", file=sys.stderr)
        if report.left_out.rows:
            print(
                f"tilelang-trace: {plural(report.left_out.rows, 'row')} left out", file=sys.stderr
            )
    if options.output:
        least = options.min_ns or None
        with progress.shown():
            long_work.stage("putting both on one timeline")
            comparing.write_both(comparison, base, new, options.output, options.align, least)
        print(f"tilelang-trace: wrote {options.output}", file=sys.stderr)
    if options.fail_on and (why := fail_on.slower(comparison)):
        print(f"tilelang-trace: --fail-on {options.fail_on}: {why}", file=sys.stderr)
        return _FAIL_ON_MET
    return _COMPARED


def _sides(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The paths of both sides, from either way to name them."""
    given = [path for path in (options.base_path, options.new_path) if path is not None]
    if options.base and options.new and not given:
        return options.base, options.new
    if len(given) == 2 and not options.base and not options.new:
        return [given[0]], [given[1]]
    if len(given) == 1 and not options.base and not options.new:
        from tilelang_trace.formats.archives import together

        base, new = together.sides_in(given[0])
        return [base], [new]
    raise UserError(
        "compare: name BASE and NEW, --base A1 A2 ... and --new B1 B2 ..., or an archive with both"
    )
