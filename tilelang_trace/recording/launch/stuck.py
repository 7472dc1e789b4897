"""Says after a Ctrl-C why the script has not stopped: Python hears of it only when the pass that
runs returns.
"""

from __future__ import annotations

import time

from tilelang_trace.recording.launch.waiting import Watcher
from tilelang_trace.recording.live.view import LiveView, longest, span, where
from tilelang_trace.recording.say import say

_PATIENCE_S = 2.0


class Stuck(Watcher):
    """Waits for two seconds after each Ctrl-C."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._interrupted_ns = 0

    def interrupted(self) -> None:
        """The script gets its time to stop."""
        self._interrupted_ns = time.monotonic_ns()
        self.due = time.monotonic() + _PATIENCE_S

    def act(self) -> None:
        """Say where it is, if it is where it was."""
        self._view.update()
        thread = longest(self._view.threads())
        if thread is None or thread.open[-1].begun_ns > self._interrupted_ns:
            return  # it has done something since: that it goes on is its own decision
        since = span(time.monotonic_ns() - thread.open[-1].begun_ns)
        say(
            f"the script has been in {where(thread)} for {since} and has not stopped yet; "
            "Ctrl-\\ ends it"
        )
