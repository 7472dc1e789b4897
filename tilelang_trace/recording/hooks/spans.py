"""Slices of what is wrapped outside of TVM's own hooks (see `wrapping`).

A span is one slice on every recording that is active when it begins. Each thread knows its open
spans, innermost last, so that a span that was left open (a program nobody waited for) ends at the
latest with what surrounds it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from tilelang_trace.recording.recorder import Recording
from tilelang_trace.trace.arguments import TOOL
from tilelang_trace.trace.json_values import Json


class _Thread(threading.local):
    def __init__(self) -> None:
        self.spans: list[Span] = []


_thread = _Thread()


class Span:
    """An open slice on each of these recordings."""

    def __init__(
        self,
        recordings: Iterable[Recording],
        kind: str,
        name: str,
        arguments: dict[str, Json] | None = None,
    ) -> None:
        self.kind = kind
        self.late: dict[str, Json] = {}
        """Arguments that become known while it is open."""
        self._pid = os.getpid()
        self._opened = [(r, r.open_slice(kind, name, arguments or {})) for r in recordings]
        _thread.spans.append(self)

    def close(self, error: BaseException | None = None) -> None:
        """End it, and what is open inside it. On any other thread than its own this does nothing,
        nor in a forked child, nor twice.
        """
        spans = _thread.spans
        if self not in spans:
            return
        while (inner := spans.pop()) is not self:
            # An error that ends the outer slice is the failure of the inner one, but not that of a
            # program which nobody waited for.
            if error is None or inner.kind == TOOL:
                inner._write_end(None)
        self._write_end(error)

    def end(self, result: Any, error: BaseException | None) -> None:
        """The call that it is about has ended."""
        self.close(error)

    def _write_end(self, error: BaseException | None) -> None:
        if self._pid == os.getpid():
            for recording, opened in self._opened:
                recording.close_slice(opened, error, self.late)
