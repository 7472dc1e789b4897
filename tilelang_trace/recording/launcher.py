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
from contextlib import contextmanager
from types import FrameType

from tilelang_trace.recording import environment
from tilelang_trace.recording.finish import ProcessEnd, finish
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.model import Trace

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def run(command: Sequence[str], process_name: str, journals: JournalFolder) -> tuple[Trace, int]:
    """Run `python COMMAND...` under recording and write its trace; returns that and the exit code.

    The code is the script's own, or 128 + the signal that killed it. Raises UserError if the trace
    can't be written; the journals are still there then.
    """
    variables = {
        **os.environ,
        environment.OUTPUT: str(journals.output),
        environment.JOURNALS: str(journals.path),
    }
    child = subprocess.Popen([sys.executable, *command], env=variables)
    with _signals_to(child):
        code = child.wait()
    end = ProcessEnd(child.pid, time.monotonic_ns(), code, _signal_name(code), process_name)
    trace = finish(journals.path, journals.output, end)
    journals.remove()
    return trace, 128 - code if code < 0 else code


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


def outcome(trace: Trace) -> str:
    """What a trace holds, in a few words: `79 passes, 1 failed`."""
    passes = int(trace.is_kind(PASS).sum())
    failed = len(failures(trace))
    recording = trace.metadata.get("recording", {})
    if not passes:
        return f"no pass ran ({_why_none(trace)})"
    words = f"{passes} {'pass' if passes == 1 else 'passes'}"
    if failed:
        words += f", {failed} failed"
    if not recording.get("complete", True):
        words += f"; incomplete: {recording.get('reason')}"
    return words


def _why_none(trace: Trace) -> str:
    if "tvm" not in trace.metadata.get("versions", {}):
        return "the script did not import TVM"
    return "the script compiled nothing, or took it from a cache"
