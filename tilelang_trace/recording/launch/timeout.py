"""`run --timeout`: ends a script that takes too long, and keeps where it was.

First everybody is asked for the Python stack, then to end (SIGTERM); who has not after some seconds
is killed. That holds for what the script has started as well: an nvcc that hangs would go on alone.
"""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from tilelang_trace.recording import processes
from tilelang_trace.recording.death import crash_stack
from tilelang_trace.recording.death.process_end import TimeOut
from tilelang_trace.recording.launch.waiting import Watcher
from tilelang_trace.recording.live.view import LiveView, longest, span, where
from tilelang_trace.recording.processes import Process
from tilelang_trace.recording.say import say

EXIT_CODE = 124
"""As that of timeout(1)."""

_GRACE_S = 5.0
_STACK_S = 1.0
"""How long to wait for the Python stacks."""
_POLL_S = 0.01


class Timeout(Watcher):
    """Ends the script when its time is over."""

    def __init__(self, child: subprocess.Popen[bytes], view: LiveView, seconds: float) -> None:
        self._child = child
        self._view = view
        self._seconds = seconds
        self._ending: set[Process] = set()
        """What has been asked to end."""
        self._kill_at = 0.0
        self.out: TimeOut | None = None
        """What was found when the time was over; None if it was not."""
        self.due = time.monotonic() + seconds

    def act(self) -> None:
        """The time is over, or that which the script got to end by itself."""
        if self.out is None:
            self.out = TimeOut(self._seconds, time.monotonic_ns(), {})
            self._kill_at = self.due = time.monotonic() + _GRACE_S
            try:
                self._look(self.out)
            finally:
                self._ending.update(self._processes())
                self._send(signal.SIGTERM)
                self._send(signal.SIGCONT)  # a process that was stopped hears of it only then
        else:
            self._ending.update(self._processes())
            self._send(signal.SIGKILL)

    def ended(self) -> None:
        """The script has ended. What it has started gets the rest of the time."""
        if self.out is None:
            return
        self._wait_until(self._kill_at)
        left = filter(processes.runs, self._ending)
        self._ending.update(processes.descendants(*(pid for pid, _ in left)))
        self._send(signal.SIGKILL)
        self._wait_until(time.monotonic() + _GRACE_S)

    def _wait_until(self, end: float) -> None:
        while any(map(processes.runs, self._ending)) and time.monotonic() < end:
            time.sleep(_POLL_S)

    def _look(self, out: TimeOut) -> None:
        self._view.update()
        thread = longest(self._view.threads())
        place = "no pass was running"
        if thread is not None:
            since = span(out.time_ns - thread.open[-1].begun_ns)
            place = f"it was in {where(thread)}, for {since}"
        say(f"--timeout: ended the script after {self._seconds:g} s; {place}")
        out.stacks.update(_stacks(self._view.journals()))

    def _processes(self) -> list[Process]:
        """The script and all that it has started, as far as that can be known."""
        pids = {self._child.pid, *self._view.journals().values()} - {0}
        known = [process for process in map(processes.identified, pids) if process is not None]
        return [*known, *processes.descendants(*pids)]

    def _send(self, number: int) -> None:
        processes.send(self._ending, number)


def _stacks(journals: dict[Path, int]) -> dict[Path, str]:
    """The Python stack of each process that records, by its journal; empty if it does not say."""
    asked = [path for path, pid in journals.items() if crash_stack.request(path, pid)]
    stacks = dict.fromkeys(journals, "")
    end = time.monotonic() + _STACK_S
    while asked and time.monotonic() < end:
        time.sleep(_POLL_S)
        for path in asked:
            before, stacks[path] = stacks[path], crash_stack.read(path)
            if before and before == stacks[path]:
                asked = [other for other in asked if other != path]
    return stacks
