"""Waits for the script, and has those called meanwhile who have something to do at a certain time.

Nothing is polled: a signal (the script's end is one too) or the next time that somebody named ends
a `select`.
"""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from tilelang_trace.recording.say import say

NEVER = math.inf

_OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Ctrl-C and Ctrl-\\: the terminal sends them to the script too."""

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


class Watcher:
    """Somebody who does something while the script runs."""

    due = NEVER
    """When `act` is to be called, as `time.monotonic` says it."""

    def act(self) -> None:
        """The time has come. Sets `due` anew."""

    def ended(self) -> None:
        """The script has ended."""

    def interrupted(self) -> None:
        """The person has pressed Ctrl-C."""


def wait(child: subprocess.Popen[bytes], watchers: Sequence[Watcher]) -> int:
    """The exit code of the child, once it has one, or minus the number of a signal."""
    with _wakeups(child, watchers) as wakeup:
        while (code := child.poll()) is None:
            now = time.monotonic()
            for watcher in watchers:
                if watcher.due <= now:
                    watcher.due = NEVER
                    _call(watcher.act)
            due = min((watcher.due for watcher in watchers), default=NEVER)
            left = None if due == NEVER else max(0.0, due - time.monotonic())
            if select.select([wakeup], [], [], left)[0]:
                os.read(wakeup, 4096)
        for watcher in watchers:
            _call(watcher.ended)
    return code


def _call(step: Callable[[], None]) -> None:
    try:
        step()
    except Exception as error:  # the script must not suffer for it
        say(f"{type(error).__name__}: {error}")


@contextmanager
def _wakeups(child: subprocess.Popen[bytes], watchers: Sequence[Watcher]) -> Iterator[int]:
    """A descriptor that has something to read after each signal. What signals do is the child's
    decision: those of the terminal reach it by themselves, the others are sent on.
    """

    def forward(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    def note(number: int, frame: FrameType | None) -> None:
        """The terminal sends it to the whole process group, and so to the child."""
        if number == signal.SIGINT:
            for watcher in watchers:
                watcher.interrupted()

    handlers = dict.fromkeys((*_OF_THE_TERMINAL, signal.SIGCHLD), note)
    for name in _FORWARDED:
        handlers[getattr(signal, name)] = forward
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    wakeup_before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(wakeup_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)
