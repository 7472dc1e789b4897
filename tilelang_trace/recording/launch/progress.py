"""`run --progress`: how far the compile is, in the last line of the terminal."""

from __future__ import annotations

import time

from tilelang_trace.recording.launch.status_line import StatusLine
from tilelang_trace.recording.launch.waiting import Watcher
from tilelang_trace.recording.live.view import LiveView, longest, passes, span, where

_INTERVAL_S = 0.2


class Progress(Watcher):
    """Draws the line five times a second."""

    def __init__(self, line: StatusLine, view: LiveView) -> None:
        self._line = line
        self._view = view
        self._begun_ns = time.monotonic_ns()
        self.due = time.monotonic()

    def act(self) -> None:
        """Draw it."""
        self.due = time.monotonic() + _INTERVAL_S
        self._view.update()
        now = time.monotonic_ns()
        threads = self._view.threads()
        thread = longest(threads)
        place = ""
        if thread is not None:
            others = sum(bool(other.open) for other in threads) - 1
            more = f" (and {others} more)" if others else ""
            place = f"{where(thread)}, for {span(now - thread.open[-1].begun_ns)}{more}"
        so_far = f"{span(now - self._begun_ns)}, {passes(self._view.passes)} done"
        self._line.show(f"tilelang-trace: {so_far}{' | ' if place else ''}", place)

    def ended(self) -> None:
        """Take the line away."""
        self._line.close()
