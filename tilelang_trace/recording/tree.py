"""A process that was started with `TILELANG_TRACE`, and all that it starts: they share one output.

The folder of their journals is made by the first of them that imports TVM, which need not be the
first process (a launcher of workers never does). A file in it says whose it is. Nothing that takes
time is imported here: every Python process that has the variable comes by.
"""

from __future__ import annotations

import os
import time

FOLDER_ENDING = ".journal"
"""Of the folders of journals, behind the name of the output."""

FIRST_FILE = "first"
"""File in a folder of journals: the identity of the tree that shares it, if one does."""


class Tree:
    """The processes that share one output."""

    __slots__ = ("identity", "output")

    def __init__(self, identity: str, output: str) -> None:
        self.identity = identity
        """Pid of the first process, and the time when it began: pids come again."""
        self.output = output
        """Absolute path."""

    @property
    def first(self) -> int:
        """Pid of the first process, which writes the output when it ends."""
        return _pid(self.identity)


def new_tree(output: str) -> Tree:
    """A tree whose first process is this one."""
    return Tree(f"{os.getpid()}.{time.monotonic_ns()}", os.path.abspath(output))


def folder_of(tree: Tree) -> str:
    """The folder that this tree shares; empty if none of it has made it. It may have another name
    than the output's, if that was in use.
    """
    parent, name = os.path.split(tree.output)
    stem = name.partition(".")[0]
    try:
        entries = os.listdir(parent)
    except OSError:
        return ""
    for entry in entries:
        if entry.startswith(stem) and entry.endswith(FOLDER_ENDING):
            path = os.path.join(parent, entry)
            if _identity(path) == tree.identity:
                return path
    return ""


def is_awaited(folder: str) -> bool:
    """Whether a tree shares this folder whose first process still runs."""
    first = _pid(_identity(folder))
    return first > 0 and runs(first)


def runs(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _identity(folder: str) -> str:
    try:
        with open(os.path.join(folder, FIRST_FILE), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def _pid(identity: str) -> int:
    pid = identity.partition(".")[0]
    return int(pid) if pid.isdecimal() else 0
