"""Candidates that TileLang's autotuner compiles in groups: each lowered by itself, and then one
device compile for all of them.

The group is one `compile` slice, and in it each candidate has one of its own, from the elaboration
of its function to the end of its host code. TileLang catches the exception of a candidate and goes
on with the next: its slice ends there, with the exception seen last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tilelang_trace.recording.hooks.tilelang import compiles
from tilelang_trace.recording.hooks.tilelang.compiles import Compile, Compiles
from tilelang_trace.recording.wrapping import Scope, around

_DEVICE_STAGE = "stage=grouped-device"
"""How TileLang's label of the PassContext for all candidates begins."""


class Group:
    """A group of candidates that is compiled on this thread."""

    def __init__(self, compile_: Compile) -> None:
        self._compile = compile_
        self._candidate: Compile | None = None
        self._error: BaseException | None = None
        _thread.group = self

    def begin_candidate(self, candidate: Compile | None) -> None:
        """The next candidate, after the end of the one before it."""
        self.end_candidate()
        self._candidate = candidate

    def end_candidate(self) -> None:
        """The candidate that was compiled has ended, well unless an exception was seen."""
        candidate, error = self._candidate, self._error
        self._candidate = self._error = None
        if candidate is not None:
            candidate.end(None, error)

    def failed(self, error: BaseException) -> None:
        """This came out of a part of the candidate's compile."""
        self._error = error

    def end(self, result: Any, error: BaseException | None) -> None:
        """The group has ended."""
        _thread.group = None
        self.end_candidate()
        self._compile.end(result, error)


class _Thread(threading.local):
    group: Group | None = None


_thread = _Thread()


def begin(compiles_: Compiles, candidates: int) -> Group | None:
    """A group of so many candidates begins on this thread."""
    compile_ = compiles_.begin(None, name=f"group of {candidates} candidates")
    return None if compile_ is None else Group(compile_)


def context_is_made(label: str | None) -> None:
    """A PassContext with this label is about to begin: that for all candidates ends the last."""
    if _thread.group is not None and label is not None and label.startswith(_DEVICE_STAGE):
        _thread.group.end_candidate()


def part(*_: Any) -> Scope | None:
    """A part of a candidate's compile, whose exceptions end the candidate."""
    return None if _thread.group is None else _Part(_thread.group)


class _Part:
    def __init__(self, group: Group) -> None:
        self._group = group

    def end(self, result: Any, error: BaseException | None) -> None:
        if error is not None:
            self._group.failed(error)


def elaboration(
    compiles_: Compiles, function: Any, elaborate: Callable[..., Any]
) -> Callable[..., Any]:
    """`elaborate`, which gives a candidate of a group for its configuration."""

    def begin_candidate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope | None:
        group = _thread.group
        if group is None:
            return None
        group.begin_candidate(None)
        with compiles.configured(kwargs):
            candidate = compiles_.begin(function, elaborate=True)
        group.begin_candidate(candidate)
        return None if candidate is None else _Elaboration(group, candidate)

    return around(elaborate, begin_candidate)


class _Elaboration:
    def __init__(self, group: Group, candidate: Compile) -> None:
        self._group = group
        self._candidate = candidate

    def end(self, result: Any, error: BaseException | None) -> None:
        if error is None:
            self._candidate.elaborated(result)
        else:
            self._group.failed(error)
            self._group.end_candidate()
