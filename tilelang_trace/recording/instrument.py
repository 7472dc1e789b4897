"""`TraceInstrument`: for people who build their own PassContext and want only that one."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tilelang_trace.formats import files
from tilelang_trace.recording.finish import write_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say
from tilelang_trace.tvm_binding import TvmPassInstrument, loaded_tvm


class TraceInstrument(TvmPassInstrument):
    """An instrument that writes the trace of the passes of its PassContexts to a file.

        with tvm.transform.PassContext(instruments=[tilelang_trace.TraceInstrument("mlp.pftrace")]):
            tvm.compile(mod, target="llvm")

    It sees the contexts that it is put into, and no others; `record` sees all. The file is written
    when a thread leaves its outermost context, with all that the instrument has seen until then;
    its name decides the format. Put it first among the instruments, so that it sees what the others
    do as part of a pass and not their failures as the end of one.

    Raises UserError when no format has the name's ending, ImportError without TVM.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        files.format_for(path)
        self.path = Path(path)
        self._context_class = loaded_tvm().ir.transform.PassContext
        self._lock = threading.Lock()
        self._journals: JournalFolder | None = None
        self._recording: Recording | None = None
        try:
            self._journals = JournalFolder(self.path)
        except OSError as error:
            say(f"nothing is recorded: {self.path}.journal can't be made: {error.strerror}")
        else:
            self._recording = Recording(self._journals.path)
            atexit.register(_close, self._recording, self._journals)
        super().__init__()

    def enter_pass_ctx(self) -> None:
        """TVM enters a context that holds this instrument."""
        if self._recording is not None:
            self._recording.enter_context(self._context_class.current(), lambda: False)

    def exit_pass_ctx(self) -> None:
        """TVM leaves a context that holds this instrument; the exception that ends it can be seen
        here.
        """
        if self._recording is None or self._journals is None:
            return
        self._recording.exit_context(self._context_class.current(), sys.exc_info()[1])
        if self._recording.is_outermost():
            with self._lock:
                write_or_say(self._journals, keep=True)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """A pass begins."""
        if self._recording is not None:
            self._recording.before_pass(mod, info)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """A pass ended."""
        if self._recording is not None:
            self._recording.after_pass(info)


def _close(recording: Recording, journals: JournalFolder) -> None:
    recording.close()
    journals.remove()
