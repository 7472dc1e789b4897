"""Who has a port of this machine, to tell the person who needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"
_PROC = Path("/proc")


def holder(port: int) -> str | None:
    """The process that listens on a port, as `name (process 123)`; of another user's process only
    whose it is. None if that can't be known: this looks into /proc, which Linux has.
    """
    listening = dict(_listening(port))
    for inode, user in listening.items():
        process = _with_socket(inode)
        if process is not None:
            return f"{_name(process)} (process {process})"
        if user != os.getuid():
            return f"a process of user {_user_name(user)}"
    return None


def _listening(port: int) -> Iterator[tuple[str, int]]:
    """Inode and user id of each socket that listens on a port.

    The columns are those of proc_pid_net(5): local address, remote address, state, queues, timer,
    retransmits, uid, timeout, inode.
    """
    for table in ("tcp", "tcp6"):
        with suppress(OSError):  # no such system, or no IPv6
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9], int(fields[7])


def _with_socket(inode: str) -> int | None:
    """The process that has a socket open, if we may see that."""
    for descriptors in _PROC.glob("[0-9]*/fd"):
        with suppress(OSError):  # another user's, or it has ended meanwhile
            for descriptor in os.listdir(descriptors):
                if os.readlink(descriptors / descriptor) == f"socket:[{inode}]":
                    return int(descriptors.parent.name)
    return None


def _name(process: int) -> str:
    """The program of a process, and of Python the module or script."""
    try:
        words = (_PROC / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "a process"
    program = os.path.basename(words[0])
    script = next((word for word in words[1:] if word and not word.startswith("-")), "")
    shown = f"{program} {script}" if program.startswith("python") and script else program
    return "".join(c for c in shown if c.isprintable())[:100] or "a process"


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
