"""Traces of single tests: one file for each that compiled something, named after the test."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilelang_trace.recording import environment
from tilelang_trace.recording.finish import write_or_say
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.hooks import tvm as hooks
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say

_LONGEST = 120


class TraceFolder:
    """The folder that the traces of the tests go to."""

    def __init__(self, path: str) -> None:
        self._path = Path(os.path.abspath(path))
        self._taken: dict[str, int] = {}

    @contextmanager
    def of(self, test: str, outcome: Callable[[], str]) -> Iterator[None]:
        """Record what one test compiles; `outcome` is asked at its end. A test that runs again in
        this session gets a file of its own.
        """
        name = file_name(test)
        again = self._taken[name] = self._taken.get(name, -1) + 1
        output = self._path / f"{name}{f'.{again}' if again else ''}.pftrace"
        try:
            journals = JournalFolder(output)
        except OSError as error:
            say(f"{test} is not recorded: {output}.journal can't be made: {error.strerror}")
            yield
            return
        recording = Recording(journals.path)
        process = os.getpid()
        environment.announce(str(journals.path))
        hooks.start(recording)
        try:
            yield
        finally:
            hooks.stop(recording)
            recording.close(if_empty=False)
            environment.withdraw(str(journals.path))
            if os.getpid() == process:
                about = {"test": {"id": test, "outcome": outcome()}}
                write_or_say(journals, if_empty=False, about=about)


def file_name(test: str) -> str:
    """A name for the file of a test: short, safe on every system, and no other test's."""
    place, bracket, parameters = test.partition("[")
    file, _, function = place.partition(".py::")
    readable = f"{file}.{function}".replace("::", ".").replace("/", ".") + bracket + parameters
    safe = re.sub(r"[^\w.\[\]=+-]+", "-", readable, flags=re.ASCII).strip(".-")
    if function and "." not in file and safe == readable and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}-{hashlib.sha256(test.encode(errors='replace')).hexdigest()[:8]}"
