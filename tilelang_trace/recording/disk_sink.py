"""The sink of a thread that writes the module to the disk before each pass (`--ir disk`): a crash
leaves it there.

The files lie beside the journal, `<journal>.<track>-<number>.module`: JSON, an entry of
`trace.failed_passes`. One is written if a pass begins with another module than the last one that
was written, and deleted when no open pass, nor the last one, has it. The begin of a pass in the
journal names its file, which is whole by then.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from time import monotonic_ns
from typing import Any

from tilelang_trace.recording import failed_pass
from tilelang_trace.recording.ir_facts import COST, contents, same
from tilelang_trace.recording.sink import Entry, OpenPass, ThreadSink

MODULE_FILE = "module_file"
"""Name of an argument that passes have in a journal only: the file of their module."""

SUFFIX = ".module"


class _File:
    """The module before some passes, on the disk."""

    def __init__(self, path: Path, contents: tuple[Any, ...]) -> None:
        self.path = path
        self.contents = contents
        """What the module is made of."""
        self.users = 1
        """How many open passes have it, and one if it is the last."""


class DiskSink(ThreadSink):
    """Writes the module before it reads the clock for a pass's begin."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._numbers = itertools.count()
        self._files: dict[OpenPass, _File] = {}
        self._last: _File | None = None

    def before_pass(self, mod: Any, info: Any, more: bytes = b"") -> None:
        begun = monotonic_ns()
        file = self._file(mod)
        if file is not None:
            about = failed_pass.as_text(failed_pass.about_pass(info, None))
            more += self._packets.argument(failed_pass.FAILED_PASS, about)
            more += self._packets.argument(MODULE_FILE, file.path.name)
        more += self._packets.argument(COST, {"before_ns": monotonic_ns() - begun})
        super().before_pass(mod, info, more)
        entry = self.stack[-1]
        if file is not None and isinstance(entry, OpenPass):
            file.users += 1
            self._files[entry] = file

    def after_pass(self, mod: Any, info: Any) -> None:
        self._end_pass(info, monotonic_ns())

    def exit_context(self, context: Any, error: BaseException | None) -> None:
        super().exit_context(context, error)
        self._let_go(self._last)
        self._last = None

    def _file(self, mod: Any) -> _File | None:
        """The file with this module; None if it can't be had."""
        made_of = contents(mod)
        if self._last is not None and same(self._last.contents, made_of):
            return self._last
        name = f"{self._journal.path.stem}.{self._track}-{next(self._numbers)}{SUFFIX}"
        file = _File(self._journal.path.with_name(name), made_of)
        text = failed_pass.as_text(failed_pass.module_texts(mod))
        file.path.write_text(text, encoding="utf-8")
        self._let_go(self._last)
        self._last = file
        return file

    def _take_off(self, entry: Entry) -> None:
        super()._take_off(entry)
        if isinstance(entry, OpenPass):
            self._let_go(self._files.pop(entry, None))

    def _let_go(self, file: _File | None) -> None:
        if file is not None:
            file.users -= 1
            if not file.users:
                file.path.unlink(missing_ok=True)
