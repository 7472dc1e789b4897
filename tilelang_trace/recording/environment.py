"""The environment variables by which a process learns that it is recorded, and its children too.

- `TILELANG_TRACE`, a person's: the output that this process, and all that it starts, come out in.
- `TILELANG_TRACE_FIRST`: the first process that saw that, and the output's absolute path.
- `TILELANG_TRACE_JOURNAL`: folders, a line each, in which a recording runs already.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from tilelang_trace.recording.tree import Tree, new_tree

OUTPUT = "TILELANG_TRACE"
FIRST = "TILELANG_TRACE_FIRST"
JOURNALS = "TILELANG_TRACE_JOURNAL"

_lock = allocate_lock()


def tree() -> Tree | None:
    """The tree that this process belongs to. It becomes the first of one if `TILELANG_TRACE` is set
    and nobody has seen it before.
    """
    known = os.environ.get(FIRST)
    if known is None and os.environ.get(OUTPUT) and JOURNALS not in os.environ:
        return begin_tree(os.environ[OUTPUT])
    identity, _, output = (known or "").partition(":")
    return Tree(identity, output) if output else None


def begin_tree(output: str) -> Tree:
    """Be the first process of a tree."""
    begun = new_tree(output)
    os.environ[FIRST] = f"{begun.identity}:{begun.output}"
    return begun


def give_up() -> None:
    """The output can't be had, which has been said: the children need not say it again."""
    os.environ[FIRST] = ""


def journals() -> list[str]:
    """The folders that this process puts journals in."""
    return [line for line in os.environ.get(JOURNALS, "").split("\n") if line]


def announce(folder: str) -> None:
    """Let the processes that are started from now on put their journals into this folder too."""
    with _lock:
        os.environ[JOURNALS] = "\n".join([*journals(), folder])


def withdraw(folder: str) -> None:
    """Take an announcement back."""
    with _lock:
        left = [known for known in journals() if known != folder]
        if left:
            os.environ[JOURNALS] = "\n".join(left)
        else:
            os.environ.pop(JOURNALS, None)
