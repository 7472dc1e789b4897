"""Functions and methods that are replaced while something is recorded, so that a compile is seen
without a change to it. Neither a failure of ours nor a frame of ours reaches the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from tilelang_trace.recording.say import say
from tilelang_trace.recording.signals import comes_from_a_signal


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


class Scope(Protocol):
    """What surrounds a call that `around` has wrapped."""

    def end(self, result: Any, error: BaseException | None) -> None:
        """The call has returned this result, or raised this."""


def around(
    original: Callable[..., Any], begin: Callable[[tuple[Any, ...], dict[str, Any]], Scope | None]
) -> Callable[..., Any]:
    """`original` with a scope around each call, where `begin` gives one for its arguments."""

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
    """Say that something of ours failed: a slice is missing, the compile goes on.

    Call it where the error is caught: one that comes from a signal is raised again.
    """
    if comes_from_a_signal(error):
        raise error
    _say(f"{type(error).__name__}: {error}")
