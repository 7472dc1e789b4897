"""`tilelang-trace convert IN -o OUT`: from any format that is read to any that is written."""

from __future__ import annotations

import argparse
import sys

NAME = "convert"
HELP = "Convert a trace to another format: .pftrace, .json or .events.jsonl, each also with .gz."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("input", metavar="IN", help="a trace in any format, whatever its name")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="the file to write; its name decides the format",
    )


def run(options: argparse.Namespace) -> int:
    """Read, write, and say what was mended on the way."""
    from tilelang_trace.commands.opening import open_trace
    from tilelang_trace.formats import files

    files.format_for(options.output)
    trace = open_trace(options.input)
    files.write(trace, options.output)
    if trace.findings:
        print(
            f"tilelang-trace: {options.input}: {len(trace.findings)} places mended, the first: "
            f"{trace.findings[0]}",
            file=sys.stderr,
        )
    return 0
