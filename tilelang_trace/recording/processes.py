"""Processes as Linux shows them in `/proc`: which ones another has started, which folder of
journals one records into. Elsewhere what a process has started can't be found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tilelang_trace.recording.tree import FOLDER_ENDING
from tilelang_trace.recording.tree import runs as runs_at_all

_PROC = Path("/proc")

Process = tuple[int, int]
"""A pid, and when its process started: pids come again."""


def can_be_listed() -> bool:
    """Whether this system says which processes there are."""
    return (_PROC / "self" / "stat").exists()


def descendants(*pids: int) -> list[Process]:
    """What these have started, and what that has started, as long as it is not orphaned."""
    children: dict[int, list[Process]] = {}
    for entry in _PROC.glob("[0-9]*"):
        known = _stat(int(entry.name))
        if known is not None:
            children.setdefault(known[0], []).append((int(entry.name), known[1]))
    found: list[Process] = []
    new = [child for pid in pids for child in children.get(pid, ())]
    while new:
        found += new
        new = [child for process in new for child in children.get(process[0], ())]
    return found


def send(processes: Iterable[Process], number: int) -> None:
    """Send a signal to those that still run."""
    for process in processes:
        if runs(process):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process[0], number)


def runs(process: Process) -> bool:
    """Whether it has not ended."""
    known = _stat(process[0])
    if known is None:
        return not can_be_listed() and runs_at_all(process[0])
    return known[1] == process[1] and known[2] not in "ZX"


def identified(pid: int) -> Process | None:
    """The process that has this pid now."""
    known = _stat(pid)
    if known is None:
        return None if can_be_listed() else (pid, 0)
    return pid, known[1]


def journal_folders(pid: int) -> list[Path]:
    """The folders of journals in which a process has files open, or one that it has started."""
    found: dict[Path, None] = {}
    for process in [pid, *(child for child, _ in descendants(pid))]:
        with suppress(FileNotFoundError):  # it has ended meanwhile
            for entry in (_PROC / str(process) / "fd").iterdir():
                with suppress(FileNotFoundError):
                    folder = Path(os.readlink(entry)).parent
                    if folder.name.endswith(FOLDER_ENDING) and folder.is_dir():
                        found[folder] = None
    return list(found)


def _stat(pid: int) -> tuple[int, int, str] | None:
    """The parent of a process, when it started, its state."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
        return None
    # The second field is the name in parentheses, which may hold anything.
    fields = text.rpartition(b")")[2].split()
    return int(fields[1]), int(fields[19]), fields[0].decode()
