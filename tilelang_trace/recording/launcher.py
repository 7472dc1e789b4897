"""`tilelang-trace run`: starts a script as a child that records, outlives it, and finishes the
trace.

The script runs as it would by itself: the same interpreter, arguments, `__main__`, terminal,
process group and standard streams. What makes it record is two environment variables, which the
interpreter's start-up reads (see `integrations.startup`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import FrameType

from tilelang_trace.recording import determinism, environment, memory
from tilelang_trace.recording.death import ProcessEnd
from tilelang_trace.recording.finish import Finished, finish_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.options import IR_VARIABLE, Ir, Keep
from tilelang_trace.recording.say import say

_OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Ctrl-C and Ctrl-\\: the terminal sends them to the script too."""

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def run(
    command: Sequence[str],
    process_name: str,
    journals: JournalFolder,
    keep: Keep | None = None,
    *,
    ir: Ir | None = None,
    deterministic: bool = False,
) -> tuple[Finished | None, int]:
    """Run `python COMMAND...` under recording and write its trace; returns that and the exit code.

    `deterministic` runs it so that two compiles of one thing give one IR (see `determinism`), as
    far as the system allows that. The code is the script's own, or 128 + the signal that killed it.
    If the trace can't be written, or Ctrl-C stops that, it is None: the person has been told where
    the journals are.
    """
    variables = {
        **os.environ,
        environment.OUTPUT: str(journals.output),
        environment.JOURNALS: str(journals.path),
        **(determinism.ENVIRONMENT if deterministic else {}),
    }
    if ir is not None:
        variables[IR_VARIABLE] = ir
    kills = memory.kills()
    with determinism.fixed_addresses() if deterministic else nullcontext():
        child = subprocess.Popen([sys.executable, *command], env=variables)
    with _signals_to(child):
        code = child.wait()
    try:
        end = _end_of(child.pid, code, process_name, kills)
        done = finish_or_say(journals, end, keep=keep)
    except KeyboardInterrupt:
        say(f"stopped before the trace was written; what was recorded is in {journals.path}")
        return None, 128 + signal.SIGINT
    if done is not None:
        journals.remove()
    return done, 128 - code if code < 0 else code


def _end_of(pid: int, code: int, process_name: str, kills: int) -> ProcessEnd:
    """How the script ended; `kills` is what `memory.kills` said before."""
    end = ProcessEnd(pid, time.monotonic_ns(), code, _signal_name(code), process_name)
    if end.signal == "SIGKILL":  # nobody says why: often it is the system, which needs the memory
        peak, out_of_memory = memory.peak_of_children(), memory.kills() > kills
        end = replace(end, peak_memory=peak, out_of_memory=out_of_memory)
    return end


def _signal_name(code: int) -> str:
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


@contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let the child decide what signals do: those of the terminal reach it by themselves, the
    others are sent on.
    """

    def forward(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    def ignore(number: int, frame: FrameType | None) -> None:
        """The terminal sends it to the whole process group, and so to the child."""

    before = {number: signal.signal(number, ignore) for number in _OF_THE_TERMINAL}
    for name in _FORWARDED:
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
