"""Where the person is: whether a browser can be opened for them, and how their own machine gets at
this one.
"""

from __future__ import annotations

import os
import socket
import sys
from threading import Thread


def is_remote() -> bool:
    """Whether the person has come over SSH: their browser is on another machine."""
    return bool(os.environ.get("SSH_CONNECTION"))


def has_browser() -> bool:
    """Whether a browser can be opened here that is not one in the terminal."""
    if is_remote():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def forwarding(port: int) -> str:
    """The command that makes a port of this machine one of the person's own machine."""
    return f"ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}"


def open_browser(address: str) -> None:
    """Open a page, without waiting: some browsers return only when they are closed."""
    import webbrowser

    Thread(target=webbrowser.open, args=(address,), daemon=True).start()
