"""`tilelang-trace convert IN -o OUT`: from any format that is read to any that is written."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import A_TRACE, add_selection
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("input", metavar="IN", help=A_TRACE)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="the file to write; its name decides the format; {kernel} in it writes one a kernel",
    )
    add_selection(parser)


def run(options: argparse.Namespace) -> int:
    """Read, choose, write, and say what was mended on the way."""
    from tilelang_trace.analysis.selection.choose import kernel_names, no_match, select
    from tilelang_trace.analysis.selection.selection import Split, selection
    from tilelang_trace.formats import files, naming
    from tilelang_trace.opening import open_trace

    naming.check_pattern(options.output, ["kernel"])
    split: Split | None = "kernel" if naming.has_kernel(options.output) else options.split
    choice = selection(options.only, options.min_ms, split)
    written: list[Path] = []
    try:
        with progress.shown():
            trace = open_trace(options.input)
            selected = select(trace, choice)
            if not selected.matched:
                raise UserError(f"{options.input}: {no_match(choice.only, kernel_names(trace))}")
            kernels = [part.kernel for part in selected.parts]
            paths = naming.for_kernels(Path(options.output), kernels)
            for path, part in zip(paths, selected.parts):
                files.write(part.trace, path)
                written.append(path)
    finally:
        for path in written if choice.split else ():
            print(f"tilelang-trace: wrote {path}", file=sys.stderr)
    tell_of_mends(options.input, trace.findings)
    return 0
