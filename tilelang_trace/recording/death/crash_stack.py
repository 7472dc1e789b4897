"""The Python stack of a process as it dies, in a file of its own beside the journal.

`faulthandler` writes it when SIGSEGV, SIGABRT, SIGBUS, SIGFPE or SIGILL ends the process, and when
it is asked for from outside (`request`, or Ctrl-\\ in a terminal, which then ends the process as
always). It is set up with the first journal of a process, so after TVM's import: TVM puts a handler
of SIGSEGV in place then, which comes behind this one and prints what it always does. If somebody
else has enabled faulthandler, that is theirs and stays as it is.

The file has the name of the journal, with the signal that asks for the stack, 0 if none does, and
`.stack` as ending. A process that is recorded twice has one file, with a name in each folder.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from tilelang_trace.recording.say import say

SUFFIX = ".stack"

_READ_LIMIT = 1 << 20
"""A stack is some 100 bytes a line, at most 100 lines for each of at most 100 threads."""

_lock = threading.Lock()
_watch: _Watch | None = None


def arm(journal: Path) -> None:
    """Keep the Python stack if this process dies while it writes this journal."""
    global _watch
    try:
        with _lock:
            if _watch is None:
                _watch = _Watch(journal)
            else:
                _watch.name_for(journal)
    except OSError:
        return  # no descriptor or room is left: of that there is more to say than this
    except (ValueError, RuntimeError) as error:  # faulthandler's
        say(f"the Python stack of a crash will not be kept: {error}")


def arm_thread() -> None:
    """Let the stack be kept also if this thread overflows its own."""
    if _watch is not None and sys.platform == "linux":
        with suppress(OSError):  # no memory for it: then only other crashes are told
            from tilelang_trace.recording.death import signal_actions

            signal_actions.give_this_thread_a_signal_stack()


def disarm(journal: Path) -> None:
    """This process writes the journal no longer. After the last one all is as it was before."""
    global _watch
    with _lock:
        if _watch is not None and _watch.forget(journal):
            _watch.stop()
            _watch = None


def request(journal: Path, pid: int) -> bool:
    """Ask the process that writes this journal where all its threads are: `read` has it a moment
    later. False if it can't be asked.
    """
    for path in _files(journal):
        number = int(path.suffixes[-2][1:])
        if number and _handles(pid, number):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                return True
    return False


def read(journal: Path) -> str:
    """What faulthandler wrote for the process of this journal; empty if nothing."""
    texts = []
    for path in _files(journal):
        with suppress(OSError), open(path, "rb") as stream:
            texts.append(stream.read(_READ_LIMIT).decode("ascii", "backslashreplace"))
    return "".join(texts)


class _File:
    """What faulthandler writes to on a fatal signal. Only faulthandler holds it: once it is gone,
    somebody has told faulthandler to write elsewhere, or not at all.
    """

    __slots__ = ("__weakref__", "_descriptor")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def flush(self) -> None:
        """Nothing is buffered."""


class _Watch:
    """faulthandler, as it is set up while this process writes journals."""

    def __init__(self, journal: Path) -> None:
        number = next(filter(_is_free, _request_signals()), 0)
        self._ending = f".{number}{SUFFIX}"
        self._names = [journal.with_suffix(self._ending)]
        self._descriptor = os.open(self._names[0], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._fatal: weakref.ref[_File] | None = None
        self._signals: list[int] = []
        try:
            if not faulthandler.is_enabled():
                self._enable()
            if number:
                self._register(number)
            if _is_free(signal.SIGQUIT):
                self._register(signal.SIGQUIT, chain=True)
        except BaseException:
            self.stop()
            raise

    def name_for(self, journal: Path) -> None:
        """Give the file a name beside one more journal."""
        name = journal.with_suffix(self._ending)
        with suppress(OSError):  # on another disk: one of the recordings has the stack
            os.link(self._names[0], name)
        self._names.append(name)

    def forget(self, journal: Path) -> bool:
        """This journal has ended; whether it was the last."""
        name = journal.with_suffix(self._ending)
        self._names = [known for known in self._names if known != name]
        return not self._names

    def stop(self) -> None:
        """Put back what was there before, unless somebody has come in between."""
        if self._fatal is not None and self._fatal() is not None:
            faulthandler.disable()
        for number in filter(_is_free, self._signals):
            faulthandler.unregister(number)
        os.close(self._descriptor)

    def _register(self, number: int, *, chain: bool = False) -> None:
        faulthandler.register(number, self._descriptor, chain=chain)
        self._signals.append(number)

    def _enable(self) -> None:
        file = _File(self._descriptor)
        self._fatal = weakref.ref(file)
        if sys.version_info >= (3, 14):
            # The C++ stack would take functions that may wait for a lock the crash has left.
            faulthandler.enable(file, c_stack=False)
        else:
            faulthandler.enable(file)
        if sys.platform == "linux":
            from tilelang_trace.recording.death import signal_actions

            signal_actions.let_previous_handlers_have_the_stack()


def _is_free(number: int) -> bool:
    """Whether nobody has said in Python what this signal does."""
    return signal.getsignal(number) is signal.SIG_DFL


def _request_signals() -> range:
    """The signals of which one may ask for the stack: real-time ones, which mean nothing else. The
    first few are avoided, which others take first.
    """
    first = getattr(signal, "SIGRTMIN", None)
    return range(0) if first is None else range(first + 7, signal.SIGRTMAX)


def _handles(pid: int, number: int) -> bool:
    """Whether the process has a handler for this signal: without one, it would die of it."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as stream:
            caught = next(line for line in stream if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def _files(journal: Path) -> list[Path]:
    return sorted(journal.parent.glob(f"{journal.stem}.*{SUFFIX}"))


def _after_fork() -> None:
    """The file is the parent's. The child gets one with a journal of its own."""
    global _lock, _watch
    _lock = threading.Lock()
    if _watch is not None:
        _watch.stop()
        _watch = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
