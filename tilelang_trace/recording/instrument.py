"""`TraceInstrument`: for people who build their own PassContext and want only that one."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tilelang_trace.formats import files
from tilelang_trace.recording.finish import write_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.hooks import tvm as hooks
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say
from tilelang_trace.tvm_binding import TvmPassInstrument, loaded_tvm

_SLOW_NS = 100_000_000
"""A file that took longer than this to write is not written again after each context."""


class _Entry:
    """A context that was entered. TVM's callbacks don't say which: it stands for it."""

    def __init__(self) -> None:
        self.context: Any = None
        """The PassContext, once a pass ran in it."""
        self._handled = sys.exc_info()[1]

    def same_as(self, other: object) -> bool:
        """Whether it is the same entry (the comparison that TVM's objects have)."""
        return self is other

    def error(self) -> BaseException | None:
        """The exception that ends the context now; not one that was being handled around it."""
        error = sys.exc_info()[1]
        return None if error is self._handled else error


class _Thread(threading.local):
    def __init__(self) -> None:
        self.entries: list[_Entry] = []


def _is_taken_out() -> bool:
    """Whether `override_instruments`, and not the end of the context, calls `exit_pass_ctx` now."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "__exit__":
        if frame.f_code.co_name == "override_instruments":
            return True
        frame = frame.f_back
    return False


class TraceInstrument(TvmPassInstrument):
    """An instrument that writes the trace of the passes of its PassContexts to a file.

        with tvm.transform.PassContext(instruments=[tilelang_trace.TraceInstrument("mlp.pftrace")]):
            tvm.compile(mod, target="llvm")

    It sees the contexts that it is put into, and no others; `record` sees all. The file is written
    when a thread leaves its outermost context, with all that the instrument has seen until then,
    and at the end of the process. (Once a trace has grown so large that writing takes more than 0.1
    s, only at the end, or when `write` is called.) Put it first among the instruments, so that it
    sees what the others do as part of a pass and not their failures as the end of one.

    Raises UserError when no format has the name's ending, ImportError without TVM.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        files.check_keeps_data(path)
        self.path = Path(path)
        """Where the trace is written; beside it, if another recording is there."""
        self._context_class = loaded_tvm().ir.transform.PassContext
        self._thread = _Thread()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._writing_ns = 0
        self._unwritten = False
        self._journals: JournalFolder | None = None
        self._recording: Recording | None = None
        try:
            self._journals = JournalFolder(self.path)
        except OSError as error:
            say(f"nothing is recorded: {self.path}.journal can't be made: {error.strerror}")
        else:
            self.path = self._journals.output
            self._recording = Recording(self._journals.path)
            hooks.guard(self._recording, self._left)
            atexit.register(self._end)
        super().__init__()

    def write(self) -> None:
        """Write the file now, with all that was seen; what still runs has the status `open`. A
        forked child leaves that to its parent.
        """
        if self._journals is not None and os.getpid() == self._pid:
            with self._lock:
                begun = time.monotonic_ns()
                self._note_trouble()
                self._unwritten = write_or_say(self._journals, keep_journals=True) is None
                self._writing_ns = time.monotonic_ns() - begun

    def enter_pass_ctx(self) -> None:
        """TVM enters a context that holds this instrument."""
        if self._recording is not None:
            entry = _Entry()
            self._thread.entries.append(entry)
            self._recording.enter_context(entry, dict, lambda: False)

    def exit_pass_ctx(self) -> None:
        """TVM leaves a context that holds this instrument, also when an exception ends it."""
        if self._recording is None or not self._thread.entries:
            return
        entry = self._thread.entries.pop()
        if _is_taken_out():
            self._recording.detach(entry)
        else:
            self._recording.exit_context(entry, entry.error())
        self._write_if_outermost()

    def _left(self, context: Any, error: BaseException | None) -> None:
        """A PassContext was left. TVM has told us, unless it raised on the way (for example because
        a pass has entered another one and not left it).
        """
        entries = self._thread.entries
        if self._recording is None or error is None:
            return
        for index, entry in enumerate(entries):
            if entry.context is not None and entry.context.same_as(context):
                del entries[index:]
                self._recording.exit_context(entry, error)
                self._write_if_outermost()
                return

    def _write_if_outermost(self) -> None:
        if not self._thread.entries:
            self._unwritten = True
            if self._writing_ns < _SLOW_NS:
                self.write()

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """A pass begins."""
        if self._recording is None:
            return
        if self._thread.entries and self._thread.entries[-1].context is None:
            # Only now is the context current: TVM enters it after telling the instruments.
            context = self._thread.entries[-1].context = self._context_class.current()
            self._recording.describe_context(context)
        self._recording.before_pass(mod, info)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """A pass ended."""
        if self._recording is not None:
            self._recording.after_pass(mod, info)

    def _end(self) -> None:
        """At the end of the process: nothing more comes."""
        if self._recording is None or self._journals is None:
            return
        self._recording.close()
        if os.getpid() != self._pid:
            return
        if self._unwritten:
            self._note_trouble()
            write_or_say(self._journals)
        else:
            self._journals.remove()

    def _note_trouble(self) -> None:
        if self._recording is not None and self._journals is not None:
            self._journals.told_of_trouble |= self._recording.is_troubled
