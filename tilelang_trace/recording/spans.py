"""Slices around calls: how what is wrapped outside of TVM's own hooks gets onto the timeline.

A span is one slice on every recording that is active when it begins. Each thread knows its open
spans, innermost last, so that a span that was left open (a program nobody waited for) ends at the
latest with what surrounds it.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say
from tilelang_trace.trace.arguments import TOOL
from tilelang_trace.trace.json_values import Json


class _Thread(threading.local):
    def __init__(self) -> None:
        self.spans: list[Span] = []


_thread = _Thread()


class Scope(Protocol):
    """What surrounds a call that `around` has wrapped."""

    def end(self, result: Any, error: BaseException | None) -> None:
        """The call has returned this result, or raised this."""


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


def around(
    original: Callable[..., Any], begin: Callable[[tuple[Any, ...], dict[str, Any]], Scope | None]
) -> Callable[..., Any]:
    """`original` with a scope around each call, where `begin` gives one for its arguments.

    Neither a failure of ours nor a frame of ours reaches the caller.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        scope: Scope | None = None
        try:
            scope = begin(args, kwargs)
        except Exception as ours:
            say_once(ours)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            _end(scope, None, error)
            leave_no_frame(error)
            raise
        _end(scope, result, None)
        return result

    return call


def _end(scope: Scope | None, result: Any, error: BaseException | None) -> None:
    if scope is not None:
        try:
            scope.end(result, error)
        except Exception as ours:
            say_once(ours)


def leave_no_frame(error: BaseException) -> None:
    """Take the wrapper that caught this out of the traceback, which stays as it is without
    recording.

    It works because a bare `raise` adds no entry for its own frame (Python 3.11 and later; on 3.10
    the frame stays).
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


@functools.cache
def _say(text: str) -> None:
    say(f"a slice is missing: {text}")


def say_once(error: Exception) -> None:
    """Say that something of ours failed: a slice is missing, the compile goes on."""
    _say(f"{type(error).__name__}: {error}")


class Patches:
    """Attributes that were replaced, and how to put them back."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    def wrap(
        self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> bool:
        """Replace a function of a module or a method of a class, if it is there."""
        original = vars(owner).get(name)
        if isinstance(original, (classmethod, staticmethod)):
            setattr(owner, name, type(original)(wrapper(original.__func__)))
        elif callable(original):
            setattr(owner, name, wrapper(original))
        else:
            return False
        self._originals.append((owner, name, original))
        return True

    def undo(self) -> None:
        """Put everything back."""
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)
