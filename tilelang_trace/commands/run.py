"""`tilelang-trace run SCRIPT [ARGS...]`: run a script as it is and write the trace of what it
compiles.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tilelang_trace.errors import UserError

if TYPE_CHECKING:
    from tilelang_trace.trace.model import Trace

NAME = "run"
HELP = "Run a Python script, unchanged, and write the trace of every TVM pass in it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.usage = (
        "tilelang-trace run [-o OUT] SCRIPT [ARGS...]\n"
        "       tilelang-trace run [-o OUT] -m MODULE [ARGS...]"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write (SCRIPT.pftrace in this folder if not given); its name decides the "
        "format: .pftrace, .json or .events.jsonl, each also with .gz",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="run a module, as `python -m` does"
    )
    parser.add_argument(
        "command",
        metavar="SCRIPT [ARGS...]",
        nargs=argparse.REMAINDER,
        help="the script (or module) and its own arguments",
    )


def run(options: argparse.Namespace) -> int:
    """Run the script; the exit code is the script's own."""
    from tilelang_trace.formats import files
    from tilelang_trace.recording import launcher
    from tilelang_trace.recording.folder import JournalFolder

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UserError("run: name the script to run (tilelang-trace run --help)")
    if not options.is_module and not os.path.exists(command[0]):
        raise UserError(f"run: {command[0]}: no such file")
    stem = command[0].rpartition(".")[2] if options.is_module else Path(command[0]).stem
    output = Path(options.output or f"{stem}.pftrace")
    files.format_for(output)
    try:
        journals = JournalFolder(output)
    except OSError as error:
        raise UserError(f"{output}: can't be written: {error.strerror}") from None

    name = command[0] if options.is_module else Path(command[0]).name
    try:
        trace, code = launcher.run(
            ["-m", *command] if options.is_module else command, name, journals
        )
    except UserError as error:
        raise UserError(f"{error}; what was recorded is in {journals.path}") from None
    shown = output if journals.output == Path(os.path.abspath(output)) else journals.output
    _print_pass_profile(trace)
    print(f"tilelang-trace: wrote {shown}: {launcher.outcome(trace)}", file=sys.stderr)
    print("tilelang-trace: to see it, drag the file into https://ui.perfetto.dev", file=sys.stderr)
    return code


def _print_pass_profile(trace: Trace) -> None:
    """What TILELANG_PASS_PROFILE=1 asks for, unless TileLang was there, which prints it itself."""
    if os.environ.get("TILELANG_PASS_PROFILE") != "1":
        return
    if "tilelang" in trace.metadata.get("versions", {}):
        return
    from tilelang_trace.reports import pass_profile

    threshold = os.environ.get("TILELANG_PASS_PROFILE_THRESHOLD_MS", "0")
    try:
        text = pass_profile.render(trace, float(threshold))
    except ValueError:
        text = f"TILELANG_PASS_PROFILE_THRESHOLD_MS is no number of milliseconds: {threshold!r}"
    if text:
        print(text, file=sys.stderr)
