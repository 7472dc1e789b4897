"""`record(...)`: everything that compiles inside a `with` block, into a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tilelang_trace.analysis.selection.selection import Split, selection
from tilelang_trace.errors import UserError
from tilelang_trace.formats import naming
from tilelang_trace.recording import environment
from tilelang_trace.recording.finish import write_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.hooks import tvm as hooks
from tilelang_trace.recording.options import DEFAULT_IR, IR, Ir, Keep
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

    `only` (a shell pattern, or several) leaves out kernels that it does not match, `min_ms` the
    passes that are shorter, `split="kernel"` writes a file for each kernel, and
    `keep_on_failure=True` writes only if a pass failed or the block raises. The name may have
    `{script}`, `{pid}`, `{time}` and `{kernel}`, which asks for a file for each kernel too. `ir`
    says what is kept of the IR: by default the module before a pass that `failed`; also facts
    around each pass, the `size` of the program in lines, its `hash`, or the whole `text`; `disk`
    writes it to the disk before each pass, for crashes; `off` keeps nothing.

    Raises UserError when no format has the name's ending, or an option makes no sense. What goes
    wrong later is said on stderr and does not reach the block: it is somebody's compile.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        only: str | Sequence[str] | None = None,
        min_ms: float = 0.0,
        keep_on_failure: bool = False,
        split: Split | None = None,
        ir: Ir = DEFAULT_IR,
    ) -> None:
        # In an interpreter that another program embeds there may be no arguments.
        script = Path(next(iter(getattr(sys, "argv", ())), "")).stem
        self.path = naming.at_start(path, script or "python")
        """Where the trace is written; beside it, once the block is entered, if another recording is
        there. `{pid}` and `{kernel}` are filled in later: see `paths`.
        """
        self.paths: tuple[Path, ...] = ()
        """The files that were written, once the block ended."""
        self.is_told = False
        """Whether somebody else says how to look at them."""
        split = "kernel" if naming.has_kernel(path) else split
        self._keep = Keep(selection(only, min_ms, split), keep_on_failure)
        if ir not in IR:
            raise UserError(f"ir: {ir!r} is none of {', '.join(IR)}")
        self._ir = ir
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
        self._recording = Recording(self._journals.path, ir=self._ir)
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
        if os.getpid() != self._pid:  # a forked child has added its journal, the parent writes
            return
        self._journals.told_of_trouble = self._recording.is_troubled
        done = write_or_say(self._journals, keep=self._keep, raised=error is not None)
        if done is not None:
            self.paths = tuple(file.path for file in done.files)
            if self.paths and not self.is_told:
                _tell(self.paths[0])


_has_told = False
"""Once a process is enough: who records in a loop knows by then."""


def _tell(path: Path) -> None:
    """Say how to look at a file, if a person sits there; scripts, tests and CI stay quiet."""
    global _has_told
    if _has_told or not _is_at_terminal():
        return
    _has_told = True
    from tilelang_trace.recording.launch.outcome import how_to_see

    say(f"wrote {path}; {how_to_see(path)}")


def _is_at_terminal() -> bool:
    if os.environ.get("CI"):
        return False
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # somebody's own stream, or a closed one
        return False
