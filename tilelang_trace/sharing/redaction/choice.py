"""What to hide, and what is known of the machine that hides it."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Redaction:
    """What to hide besides what is always hidden (home folders, users, hosts, tokens, ...)."""

    names: bool = False
    """Also kernels, functions and buffers, by pseudonyms that are the same in every Trace."""


@dataclass(frozen=True)
class Machine:
    """What is looked for even if a Trace does not tell that it is private."""

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Working directories."""


def this_machine() -> Machine:
    """What this process knows of who runs it, and where. No network is asked."""
    variables = ("USER", "LOGNAME", "USERNAME", "SUDO_USER")
    users = {os.environ.get(name, "") for name in variables}
    # A container may run as a user who has no name, and no home.
    with contextlib.suppress(OSError, KeyError):
        users.add(getpass.getuser())
    homes = {os.environ.get(name, "") for name in ("HOME", "USERPROFILE")}
    with contextlib.suppress(RuntimeError):
        homes.add(str(Path.home()))
    hosts = {socket.gethostname(), *(os.environ.get(n, "") for n in ("HOSTNAME", "COMPUTERNAME"))}
    try:
        folders: tuple[str, ...] = (os.getcwd(),)
    except OSError:  # it was deleted
        folders = ()
    return Machine(_sorted(users), _sorted(hosts), _sorted(homes), folders)


def _sorted(texts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(text for text in texts if text))
