"""Exceptions that signal handlers raise: they strike wherever the code is at that moment."""

from __future__ import annotations

import signal
from types import CodeType, TracebackType


def comes_from_a_signal(error: BaseException) -> bool:
    """Whether a signal handler raised this, wherever the code was at that moment. It is meant for
    the program, however deep in our own code it struck: Ctrl-C, an alarm that is a time limit.
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = {_code(number) for number in signal.valid_signals()} - {None}
    return any(code in handlers for code in codes(error.__traceback__))


def _code(number: int) -> CodeType | None:
    return getattr(signal.getsignal(number), "__code__", None)


def codes(trace: TracebackType | None) -> list[CodeType]:
    """The code of each frame of a traceback, outermost first."""
    codes = []
    while trace is not None:
        codes.append(trace.tb_frame.f_code)
        trace = trace.tb_next
    return codes
