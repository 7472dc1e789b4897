"""The folder of journals beside an output: `OUT.journal/`, held by a lock while something records
into it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from tilelang_trace.formats import naming
from tilelang_trace.recording import journal
from tilelang_trace.recording.say import say

ENDING = ".journal"
_LOCK = "lock"

START = "tilelang_trace.journal"
"""Name of the JSON value with which a journal begins: {"pid", "metadata"}."""

END = "tilelang_trace.journal_end"
"""Name of the JSON value with which a recording that was ended writes its last packet: {"how",
"why", ...}.
"""


class JournalFolder:
    """A new folder for the journals of one output. Raises OSError if it can't be made."""

    def __init__(self, output: Path) -> None:
        output = Path(os.path.abspath(output))
        while True:
            self.output, self.path = output, journals_of(output)
            try:
                self.path.mkdir()
            except FileExistsError:
                if _in_use(self.path):
                    output = _next_name(output)
                else:
                    _put_aside(self.path)
                continue
            break
        self._lock: int | None = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def journals(self) -> list[Path]:
        """The journals in it, by name."""
        return journals_in(self.path)

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
    return output.with_name(output.name + ENDING)


def journals_in(path: Path) -> list[Path]:
    """The journals in a folder, by name."""
    return sorted(path.glob(f"*{journal.SUFFIX}"))


def _in_use(path: Path) -> bool:
    """Whether something records into this folder now."""
    try:
        with open(path / _LOCK, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return any(journal.is_alive(known) for known in journals_in(path))


def _next_name(output: Path) -> Path:
    """`mlp.pftrace` -> `mlp.1.pftrace` -> `mlp.2.pftrace`: the ending stays, it says the format."""
    ending = naming.ending_of(output)
    stem, _, number = output.name.removesuffix(ending).rpartition(".")
    if stem and number.isdecimal():
        return output.with_name(f"{stem}.{int(number) + 1}{ending}")
    return output.with_name(f"{output.name.removesuffix(ending)}.1{ending}")


def _put_aside(path: Path) -> None:
    """What a crash left is somebody's evidence: a new recording must not delete it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    path.rename(aside)
    say(f"{path} was left by a recording that did not end; it is now {aside}")
