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
from types import FrameType

from tilelang_trace.recording import determinism, environment
from tilelang_trace.recording.finish import Finished, ProcessEnd, finish
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.options import IR_VARIABLE, Ir, Keep

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def run(
    command: Sequence[str],
    process_name: str,
    journals: JournalFolder,
    keep: Keep | None = None,
    *,
    ir: Ir | None = None,
    deterministic: bool = False,
) -> tuple[Finished, int]:
    """Run `python COMMAND...` under recording and write its trace; returns that and the exit code.

    `deterministic` runs it so that two compiles of one thing give one IR (see `determinism`), as
    far as the system allows that. The code is the script's own, or 128 + the signal that killed it.
    Raises UserError if the trace can't be written; the journals are still there then.
    """
    variables = {
        **os.environ,
        environment.OUTPUT: str(journals.output),
        environment.JOURNALS: str(journals.path),
        **(determinism.ENVIRONMENT if deterministic else {}),
    }
    if ir is not None:
        variables[IR_VARIABLE] = ir
    with determinism.fixed_addresses() if deterministic else nullcontext():
        child = subprocess.Popen([sys.executable, *command], env=variables)
    with _signals_to(child):
        code = child.wait()
    end = ProcessEnd(child.pid, time.monotonic_ns(), code, _signal_name(code), process_name)
    done = finish(journals.path, journals.output, end, keep=keep)
    journals.remove()
    return done, 128 - code if code < 0 else code


def _signal_name(code: int) -> str:
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


@contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let the child decide what signals do: Ctrl-C reaches it by itself, the others are sent on."""

    def forward(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    def ignore(number: int, frame: FrameType | None) -> None:
        """The terminal sends it to the whole process group, and so to the child."""

    before = {signal.SIGINT: signal.signal(signal.SIGINT, ignore)}
    for name in _FORWARDED:
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
