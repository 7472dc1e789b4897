"""`tilelang-trace bundle TRACE`: one file for a bug report, without what is private."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import A_TRACE
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.errors import UserError
from tilelang_trace.reports.text import plural, visible

if TYPE_CHECKING:
    from tilelang_trace.sharing.bundle.bundle import Bundle
    from tilelang_trace.sharing.redaction.changes import Change

_MEGA = 1_000_000
_NOT_REPRODUCED = 1
_PLACES = 3
"""Named of those in which something was hidden."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.epilog = (
        "Exit codes: 0 written, 1 written, but with --verify the failure was not reproduced, "
        "2 bad input, or something that was to be hidden is still there: nothing is written."
    )
    parser.add_argument("trace", metavar="TRACE", help=A_TRACE)
    parser.add_argument(
        "new", metavar="NEW", nargs="?", help="a second one: both and the comparison are packed"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write (default: TRACE.report.zip): .zip opens in Perfetto as it is; .tgz "
        "unpacks into a folder; .pftrace.gz and .json.gz are the trace alone",
    )
    parser.add_argument(
        "--redact",
        choices=("default", "names", "none"),
        default="default",
        help="names: kernel and buffer names too, by the same pseudonyms each time; none: hide "
        "nothing (default: home, user and host names, folders, e-mail addresses, tokens)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list what would be hidden, and write nothing"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the reproducer in a new process, and tell whether it ends in the same error; it "
        "executes the IR in the trace: only for traces that you recorded yourself",
    )
    parser.add_argument(
        "--print",
        action="store_true",
        dest="print_issue",
        help="also print the issue's text (Markdown), to paste",
    )
    parser.add_argument(
        "--picture", metavar="PNG", help="also write the timeline as a picture, for the issue"
    )


def run(options: argparse.Namespace) -> int:
    """Write the bundle, and say what is in it. Raises UserError."""
    from tilelang_trace.formats.whole_files import write_whole
    from tilelang_trace.opening import open_compile
    from tilelang_trace.sharing.bundle import bundle
    from tilelang_trace.sharing.redaction.choice import Redaction

    output = options.output or _default_output(options.trace, bundle.ENDING)
    bundle.check_output(output)
    if options.picture and not options.picture.lower().endswith(".png"):
        raise UserError(f"{options.picture}: the picture is a .png")
    with progress.shown():
        traces = {"trace": open_compile(options.trace)}
        if options.new is not None:
            traces = {"base": traces["trace"], "new": open_compile(options.new)}
    for path, trace in zip((options.trace, options.new), traces.values()):
        tell_of_mends(path, trace.findings)
    redaction = Redaction(names=options.redact == "names")
    if options.dry_run:
        if options.redact == "none":
            raise UserError(
                "bundle: --dry-run lists what is hidden, and --redact none hides nothing"
            )
        _list(bundle.hidden(traces, redaction))
        return 0
    choice = bundle.Choice(None if options.redact == "none" else redaction, options.verify)
    with progress.shown():
        made = bundle.make_bundle(traces, output, choice)
        write_whole(output, [made.archive])
    if options.picture:
        write_whole(options.picture, [made.picture])
    if options.print_issue:
        print(made.issue, end="")
    return _tell(output, made)


def _default_output(trace: str, ending: str) -> str:
    """Beside the trace: `mlp.pftrace` -> `mlp.report.zip`."""
    path = Path(trace)
    return str(path.with_name(f"{path.name.partition('.')[0] or 'trace'}.report{ending}"))


def _list(changes: Sequence[Change]) -> None:
    """Print what would be hidden, for the person whose secrets they are."""
    for change in changes:
        to = visible(change.new) or "(left out)"
        where = ", ".join(map(visible, change.places[:_PLACES]))
        more = f" and {len(change.places) - _PLACES} more" if change.places[_PLACES:] else ""
        print(f"{change.kind}: {visible(change.old)} -> {to}, {change.count} x, in {where}{more}")
    if not changes:
        print("nothing to hide was found")


def _tell(output: str, made: Bundle) -> int:
    """Say on stderr what was written; returns the exit code."""

    def say(text: str) -> None:
        print(f"tilelang-trace: {visible(text)}", file=sys.stderr)

    hidden = f", {plural(len(made.changes), 'thing')} hidden" if made.changes else ""
    say(f"wrote {output} ({len(made.archive) / _MEGA:.1f} MB{hidden})")
    for text in made.left_out:
        say(f"left out, to fit: {text}")
    for verdict in made.verdicts.values():
        say(f"reproducer: {verdict.words}")
    same = all(verdict.same for verdict in made.verdicts.values())
    return 0 if same else _NOT_REPRODUCED
