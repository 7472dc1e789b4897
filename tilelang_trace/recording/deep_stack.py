"""Runs a function where the stack is deep: in a thread of its own.

TVM's printers go through a module by recursion, in C++. A module that is deep enough overflows the
stack of an ordinary thread, which is no exception but the end of the process: of somebody's compile
that had, until then, only failed.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

_SIZES = (1 << 30, 1 << 28, 1 << 26)
"""Bytes to ask for, one after the other. It is address space: memory is what is really used."""

_lock = threading.RLock()


def run(function: Callable[[], _Result]) -> _Result:
    """What the function gives; what it raises is raised here. RuntimeError if there is no thread to
    be had.
    """
    done = _thread.allocate_lock()
    done.acquire()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    _start(body)
    done.acquire()
    if errors:
        raise errors[0].with_traceback(None)
    return results[0]


def _start(body: Callable[[], None]) -> None:
    for size in _SIZES:
        with _lock:
            before = threading.stack_size(size)
            try:
                _thread.start_new_thread(body, ())
                return
            except RuntimeError:  # no room of that size
                continue
            finally:
                threading.stack_size(before)
    raise RuntimeError("no thread with a deep stack can be started")


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
