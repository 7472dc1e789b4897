"""`tilelang-trace run SCRIPT [ARGS...]`: run a script as it is and write the trace of what it
compiles.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilelang_trace.commands.arguments import add_selection, seconds, times
from tilelang_trace.errors import UserError
from tilelang_trace.recording.options import IR, Keep

if TYPE_CHECKING:
    from tilelang_trace.recording.finish import Finished
    from tilelang_trace.trace.model import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.usage = (
        "tilelang-trace run [OPTIONS] SCRIPT [ARGS...]\n"
        "       tilelang-trace run [OPTIONS] -m MODULE [ARGS...]"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write (SCRIPT.pftrace in this folder if not given); its name decides the "
        "format: .pftrace, .json or .events.jsonl, each also with .gz; {script}, {pid}, {time} "
        "and {kernel} in the name are filled in, {kernel} writes a file for each kernel",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="run a module, as `python -m` does"
    )
    add_selection(parser)
    parser.add_argument(
        "--keep-on-failure",
        action="store_true",
        help="write only if a pass failed, the exit code is not 0, or a signal killed the script",
    )
    parser.add_argument(
        "--ir",
        choices=IR,
        help="what to keep of the IR: the module before a pass that failed (the default); also "
        "facts around each pass: size of the program in lines, its hash, or the text of what "
        "changed; disk writes the module to the disk before each pass, for crashes; off: nothing",
    )
    parser.add_argument(
        "--deterministic",
        action="store_true",
        help="run with a fixed address layout and hash seed, so that two compiles give one IR",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="end a script that takes longer, and all that it has started: SIGTERM, and SIGKILL "
        "5 s later; the trace says in which pass it was, and the exit code is 124",
    )
    parser.add_argument(
        "--repeat",
        type=times,
        metavar="N",
        help="run it N times, one after the other, with TileLang's cache off, and write OUT.1 to "
        "OUT.N (mlp.1.pftrace): compare needs repeats to tell changes from noise; stops at a run "
        "that fails",
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        help="show in the last line of the terminal how far it is: the time, the passes done, and "
        "which one runs now for how long",
    )
    parser.add_argument(
        "command",
        metavar="SCRIPT [ARGS...]",
        nargs=argparse.REMAINDER,
        help="the script (or module) and its own arguments",
    )


def run(options: argparse.Namespace) -> int:
    """Run the script; the exit code is the script's own."""
    from tilelang_trace.analysis.selection.selection import Split, selection
    from tilelang_trace.formats import naming
    from tilelang_trace.recording.folder import JournalFolder
    from tilelang_trace.recording.launch import launcher, outcome, repeat

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UserError("run: name the script to run (tilelang-trace run --help)")
    if not options.is_module and not os.path.exists(command[0]):
        raise UserError(f"run: {command[0]}: no such file")
    stem = command[0].rpartition(".")[2] if options.is_module else Path(command[0]).stem
    output = naming.at_start(options.output or f"{stem}.pftrace", stem)
    split: Split | None = "kernel" if naming.has_kernel(output) else options.split
    keep = Keep(selection(options.only, options.min_ms, split), options.keep_on_failure)
    start = partial(
        launcher.run,
        ["-m", *command] if options.is_module else command,
        command[0] if options.is_module else Path(command[0]).name,
        keep=keep,
        ir=options.ir,
        deterministic=options.deterministic,
        timeout=options.timeout,
        progress=options.progress,
    )
    runs: list[tuple[Finished | None, int]] = []
    try:
        if options.repeat is None:
            runs.append(start(journals=JournalFolder(output)))
        else:
            runs += repeat.run(start, output, options.repeat)
    except OSError as error:
        raise UserError(f"{output}: can't be written: {error.strerror}") from None
    for done, _ in runs:
        if done is not None:
            _print_pass_profile(done.trace)
    (done, code), relative = runs[-1], not output.is_absolute()
    if options.repeat is not None:
        lines = repeat.told(runs, output, options.repeat, keep)
    else:
        lines = outcome.told(done, keep, relative=relative) if done is not None else iter(())
    for line in lines:
        print(f"tilelang-trace: {line}", file=sys.stderr)
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
