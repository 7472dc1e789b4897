"""Exceptions that cross TVM's FFI: what they were before.

When a Python function that C++ has called raises, TVM's FFI takes the exception's text and the name
of its class, and makes a new exception of that for the Python code around. On the way it loses what
is not in its list of classes (a `KeyboardInterrupt` and a class of the user's both come out as
`RuntimeError`), and the causes (`__cause__`, `__context__`) of all. This sees each exception before
that happens, and keeps what a `tell` function makes of it.

It hangs on the function by which `tvm_ffi` writes down a traceback: called once for every exception
that goes from Python to C++, never where nothing fails.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tilelang_trace.recording.signals import comes_from_a_signal
from tilelang_trace.recording.wrapping import Patches, say_once

_MODULE, _FUNCTION = "tvm_ffi.core", "_TRACEBACK_TO_BACKTRACE_STR"


class _Thread(threading.local):
    """What is known of the last exception that went from Python to C++ on a thread."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.told: Any = None
        self.stray: BaseException | None = None
        self.aside: BaseException | None = None
        """What was raised in here, where it could not be let out."""


_thread = _Thread()


def watch(
    patches: Patches,
    tell: Callable[[BaseException], Any],
    is_stray: Callable[[TracebackType], bool],
) -> None:
    """Keep what `tell` makes of an exception before it is translated, and the exception itself if
    its traceback is that of a stray.
    """

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def traceback_to_text(trace: TracebackType | None) -> Any:
            try:
                if trace is not None:
                    _keep(trace, tell, is_stray)
            except BaseException as error:
                # Nothing may get out, the FFI would crash. No call either: the stack may be full.
                _thread.aside = error
            return original(trace)

        return traceback_to_text

    module = sys.modules.get(_MODULE)
    if module is not None:
        patches.wrap(module, _FUNCTION, wrapper)


def told_of(error: BaseException) -> Any:
    """What `tell` made of the exception that this one was before it was translated; None if it was
    not, or that is not known any more.
    """
    text = text_across(error)
    return _thread.told if text is not None and text == _thread.text else None


def text_across(error: BaseException) -> str | None:
    """The text that crossed the FFI; None if this exception was not translated. Its own text may be
    another: that of a KeyError has quotes around it, once more each time.
    """
    crossed = getattr(error, "__tvm_ffi_error__", None)
    return None if crossed is None else str(crossed.message)


def take_stray(error: BaseException) -> BaseException | None:
    """The stray that this exception is the translation of, once, without its traceback; or what a
    signal handler raised while it was translated.
    """
    aside, _thread.aside = _thread.aside, None
    if aside is not None and comes_from_a_signal(aside):
        return aside.with_traceback(None)
    if isinstance(aside, Exception):
        say_once(aside)
    stray = _thread.stray
    if stray is None or text_across(error) != _text(stray):
        return None
    _thread.stray = None
    return stray.with_traceback(None)


def _keep(
    trace: TracebackType,
    tell: Callable[[BaseException], Any],
    is_stray: Callable[[TracebackType], bool],
) -> None:
    error = _raised_with(trace)
    if error is None or text_across(error) is not None:
        return  # on its way through one more Python function: what it was first counts
    _thread.told, _thread.text = tell(error), _text(error)
    _thread.stray = error if is_stray(trace) else None


def _raised_with(trace: TracebackType) -> BaseException | None:
    """The exception whose traceback this is. The FFI does not hand it over, but the garbage
    collector knows it: among the youngest objects, for it has just been made.
    """
    for generation in (0, 1, 2):
        for candidate in gc.get_objects(generation):
            if issubclass(type(candidate), BaseException) and candidate.__traceback__ is trace:
                found: BaseException = candidate
                return found
    return None


def _text(error: BaseException) -> str | None:
    try:
        return str(error)
    except Exception:
        return None  # somebody's __str__ raises; nothing is known of it by its text then
