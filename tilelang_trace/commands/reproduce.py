"""`tilelang-trace reproduce TRACE`: run the pass that failed again, and say whether it fails."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tilelang_trace.commands.arguments import seconds
from tilelang_trace.errors import UserError

if TYPE_CHECKING:
    from tilelang_trace.sharing.reproducer import Reproducer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("trace", metavar="TRACE", help="a trace in any format, or a bundle")
    parser.add_argument(
        "--yes", action="store_true", help="run it without asking: you trust who made the trace"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="how long it may run (300)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="write the script and the module into this folder, and run nothing",
    )


def run(options: argparse.Namespace) -> int:
    """Say what will be run, ask, run it; 0 if it ended in the same error, 1 if not."""
    from tilelang_trace.opening import open_compile
    from tilelang_trace.sharing.reproducer import make_reproducer, verify, write_files

    # Made from what the trace says, never a script that lies in a bundle.
    reproducer = make_reproducer(open_compile(options.trace))
    if options.output is not None:
        if not reproducer.files:
            raise UserError(f"{options.trace}: {reproducer.why_not}")
        write_files(reproducer, options.output)
        for name in reproducer.files:
            print(f"{options.output}/{name}")
        _say(reproducer.why_not)
        return 0
    if reproducer.why_not:
        raise UserError(f"{options.trace}: nothing can be run: {reproducer.why_not}")
    for line in _about(reproducer):
        _say(line)
    if not options.yes:
        _ask(options.trace)
    verdict = verify(reproducer, timeout=options.timeout)
    if verdict.output:
        print(verdict.output)
    _say("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in verdict.words))
    return 0 if verdict.same else 1


def _about(reproducer: Reproducer) -> list[str]:
    """What will be run, in words. Texts of the trace are escaped: they reach a terminal."""
    name, expected = ascii(reproducer.name), reproducer.expected
    told = f"{expected.type}: {expected.line}" if expected.line else expected.type
    return [
        f"this runs the pass {name} on the module in the trace, in a process of its own with "
        f"{sys.executable}",
        "the script loads the module, enters a PassContext with the options below, and calls the "
        "pass; to read it first: reproduce -o FOLDER",
        *(ascii(line)[1:-1] for line in reproducer.settings),
        *(f"note: {ascii(note)[1:-1]}" for note in reproducer.notes),
        f"it should end in {ascii(told)[1:-1] or 'an error that the trace does not know'}",
    ]


def _ask(trace: str) -> None:
    if not sys.stdin.isatty():
        raise UserError("reproduce: nobody can be asked here: to run it all the same, add --yes")
    print(
        f"TVM is not made for input that means harm. Do you trust who made {trace}? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserError("reproduce: nothing was run")


def _say(line: str) -> None:
    if line:
        print(f"tilelang-trace: {line}", file=sys.stderr)
