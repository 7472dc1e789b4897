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
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from tilelang_trace.recording import environment
from tilelang_trace.recording.death import memory
from tilelang_trace.recording.death.process_end import ProcessEnd, TimeOut
from tilelang_trace.recording.finish import Finished, finish_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.launch import determinism
from tilelang_trace.recording.launch.progress import Progress
from tilelang_trace.recording.launch.status_line import StatusLine, can_show
from tilelang_trace.recording.launch.stuck import Stuck
from tilelang_trace.recording.launch.timeout import EXIT_CODE, Timeout
from tilelang_trace.recording.launch.waiting import Watcher, wait
from tilelang_trace.recording.live.view import LiveView
from tilelang_trace.recording.options import IR_VARIABLE, Ir, Keep
from tilelang_trace.recording.say import say
from tilelang_trace.trace.json_values import Json

_STDERR = 2


def run(
    command: Sequence[str],
    process_name: str,
    journals: JournalFolder,
    keep: Keep | None = None,
    *,
    ir: Ir | None = None,
    deterministic: bool = False,
    timeout: float | None = None,
    progress: bool = False,
    variables: Mapping[str, str] | None = None,
    about: Mapping[str, Json] | None = None,
) -> tuple[Finished | None, int]:
    """Run `python COMMAND...` under recording and write its trace; returns that and the exit code.

    `deterministic` runs it so that two compiles of one thing give one IR (see `determinism`), as
    far as the system allows that; whether it does is `recording.deterministic` in the metadata.
    `variables` are added to its environment, `about` to `recording`. The code is the script's own,
    or 128 + the signal that killed it. If the trace can't be written, or Ctrl-C stops that, it is
    None: the person has been told where the journals are.
    """
    environ = {
        **os.environ,
        **(variables or {}),
        environment.OUTPUT: str(journals.output),
        environment.JOURNALS: str(journals.path),
        **(determinism.ENVIRONMENT if deterministic else {}),
    }
    if ir is not None:
        environ[IR_VARIABLE] = ir
    kills = memory.kills()
    recording = dict(about or {})
    with determinism.fixed_addresses() if deterministic else nullcontext() as is_fixed:
        child = subprocess.Popen([sys.executable, *command], env=environ)
    if deterministic:
        recording["deterministic"] = is_fixed
    code, out = _wait(child, LiveView(journals.path), timeout, progress)
    try:
        end = replace(_end_of(child.pid, code, process_name, kills), timeout=out)
        done = finish_or_say(journals, end, keep=keep, about={"recording": recording})
    except KeyboardInterrupt:
        return None, 128 + signal.SIGINT
    if done is not None:
        journals.remove()
    if out is not None:
        return done, EXIT_CODE
    return done, 128 - code if code < 0 else code


def _wait(
    child: subprocess.Popen[bytes], view: LiveView, seconds: float | None, show_progress: bool
) -> tuple[int, TimeOut | None]:
    """What `poll` of the child gives once it has ended, and whether that is because its time was
    over.
    """
    timeout = Timeout(child, view, seconds) if seconds is not None else None
    watchers: list[Watcher] = [Stuck(view)]
    if timeout is not None:
        watchers.append(timeout)
    if show_progress and can_show(_STDERR):
        watchers.append(Progress(StatusLine(_STDERR), view))
    elif show_progress:
        say("--progress: there is no terminal to show it in")
    return wait(child, watchers), timeout.out if timeout is not None else None


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
