"""The folder of journals beside an output: `OUT.journal/`, held by a lock while something records
into it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from pathlib import Path
from shlex import quote

from tilelang_trace.formats import naming
from tilelang_trace.recording import journal
from tilelang_trace.recording.say import say
from tilelang_trace.recording.tree import FIRST_FILE, FOLDER_ENDING, Tree, folder_of, is_awaited

_LOCK = "lock"

START = "tilelang_trace.journal"
"""Name of the JSON value with which a journal begins: {"pid", "metadata"}."""

END = "tilelang_trace.journal_end"
"""Name of the JSON value with which a recording that was ended writes its last packet: {"how",
"why", ...}.
"""


class JournalFolder:
    """The folder for the journals of one output: a new one, or that which the processes of a tree
    (see `tree`) share, if one of them has made it. Raises OSError if it can't be made.
    """

    def __init__(self, output: Path, tree: Tree | None = None) -> None:
        output = Path(os.path.abspath(output))
        self.told_of_trouble = False
        """Whether the person has been told that what was recorded here is not whole, or can't be
        written: once is enough.
        """
        self._lock: int | None = None
        while True:
            if tree is not None and (known := folder_of(tree)):
                self.output, self.path = Path(known.removesuffix(FOLDER_ENDING)), Path(known)
                return
            self.output, self.path = output, journals_of(output)
            self._lock = _make(self.path, tree)
            if self._lock is not None:
                return
            if is_in_use(self.path):
                output = _next_name(output)
            else:
                _put_aside(self.path)

    def journals(self) -> list[Path]:
        """The journals in it, by name."""
        return journals_in(self.path)

    def is_written(self) -> bool:
        """Whether a process still has a journal open in it."""
        return _is_written(self.path)

    def remove(self) -> None:
        """Delete it, once the trace is written."""
        self.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def release(self) -> None:
        """Give up the lock and leave the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def journals_of(output: Path) -> Path:
    """The folder of journals that belongs to an output."""
    return output.with_name(output.name + FOLDER_ENDING)


def journals_in(path: Path) -> list[Path]:
    """The journals in a folder, by name."""
    return sorted(path.glob(f"*{journal.SUFFIX}"))


def is_one(path: Path) -> bool:
    """Whether a folder is one of journals, though there may be none in it yet."""
    return (path / _LOCK).exists() or bool(journals_in(path))


def finish_command(path: Path, output: str) -> str:
    """What a person can type to make the output of a folder that a recording left."""
    return f"tilelang-trace convert {quote(str(path))} -o {quote(output)}"


def _make(path: Path, tree: Tree | None) -> int | None:
    """Make a folder that nobody ever sees without its lock; returns the lock's descriptor. None if
    something of that name is there.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    new.mkdir()
    lock = None
    try:
        lock = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if tree is not None:
            (new / FIRST_FILE).write_text(tree.identity, encoding="utf-8")
        new.rename(path)
    except OSError:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(new, ignore_errors=True)
        if path.exists():
            return None
        raise
    return lock


def is_in_use(path: Path) -> bool:
    """Whether something records into this folder now, or may yet."""
    if is_awaited(str(path)):
        return True
    try:
        with open(path / _LOCK, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return _is_written(path)


def _is_written(path: Path) -> bool:
    return any(journal.is_alive(known) for known in journals_in(path))


def _next_name(output: Path) -> Path:
    """`mlp.pftrace` -> `mlp.1.pftrace` -> `mlp.2.pftrace`."""
    ending = naming.ending_of(output)
    stem, _, number = output.name.removesuffix(ending).rpartition(".")
    if stem and number.isdecimal():
        return naming.numbered(output.with_name(stem + ending), int(number) + 1)
    return naming.numbered(output, 1)


def _put_aside(path: Path) -> None:
    """What a crash left is somebody's evidence: a new recording must not delete it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    path.rename(aside)
    say(f"{path} was left by a recording that did not end; it is now {aside}")
