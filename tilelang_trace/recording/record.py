"""`record(...)`: everything that compiles inside a `with` block, into a file."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tilelang_trace.formats import files
from tilelang_trace.recording import environment, hooks
from tilelang_trace.recording.finish import write_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say

if TYPE_CHECKING:
    from typing_extensions import Self


class record:  # noqa: N801 - used like a function: `with record(...):`
    """Record every pass that runs inside a `with` block, on any thread, and write the trace at its
    end.

        with tilelang_trace.record("mlp.pftrace"):
            tvm.compile(mod, target="llvm")

    The format is that of the file's name (`.pftrace`, `.json`, `.events.jsonl`, each also with
    `.gz`). The compile needs no change: PassContexts entered inside the block and those entered
    before it, nested ones and the default ones are all seen. TVM may also be imported inside the
    block only.

    Raises UserError when no format has the name's ending. What goes wrong later is said on stderr
    and does not reach the block: it is somebody's compile.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        files.format_for(path)
        self.path = Path(path)
        """Where the trace is written; beside it, once the block is entered, if another recording is
        there.
        """
        self.is_written = False
        """Whether the trace is there, once the block has ended."""
        self._journals: JournalFolder | None = None
        self._recording: Recording | None = None
        self._pid = 0

    def __enter__(self) -> Self:
        try:
            self._journals = JournalFolder(self.path)
        except OSError as error:
            say(f"nothing is recorded: {self.path}.journal can't be made: {error.strerror}")
            return self
        self.path = self._journals.output
        self._recording = Recording(self._journals.path)
        self._pid = os.getpid()
        environment.announce(str(self._journals.path))
        hooks.start(self._recording)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recording is None or self._journals is None:
            return
        hooks.stop(self._recording)
        self._recording.close()
        environment.withdraw(str(self._journals.path))
        if os.getpid() == self._pid:  # a forked child has added its journal, the parent writes
            self.is_written = write_or_say(self._journals) is not None
