"""A terminal for tests: a program runs in a pseudo-terminal of its own; pyte shows its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from typing import Any

import pytest


class Terminal:
    """Runs one command; its screen is as of the last `read_until` or `wait`."""

    def __init__(self, command: list[str], lines: int = 12, columns: int = 60, **options: Any):
        pyte = pytest.importorskip("pyte", reason="pyte is not installed")
        self._screen = pyte.HistoryScreen(columns, lines, history=1000, ratio=0.1)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self.resize(lines, columns)
        environment = {**os.environ, "TERM": "xterm-256color", **options.pop("env", {})}
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=environment,
            **options,
        )
        os.close(slave)
        self.output = b""

    def resize(self, lines: int, columns: int) -> None:
        """The person drags the window's corner."""
        self._screen.resize(lines, columns)
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def type(self, keys: bytes) -> None:
        """The person presses keys: `\\x03` is Ctrl-C."""
        os.write(self._master, keys)

    def read_until(self, is_there: Callable[[], bool], seconds: float = 30) -> None:
        """Read what the program prints until something is there."""
        end = time.monotonic() + seconds
        while not is_there():
            assert time.monotonic() < end, self.rows()
            self._read(0.05)

    def wait(self) -> int:
        """The program's exit code; all of its output has been read."""
        while self._read(0.05) or self.process.poll() is None:
            pass
        os.close(self._master)
        return self.process.wait()

    def rows(self) -> list[str]:
        """The lines of the screen, without spaces at their ends."""
        return [line.rstrip() for line in self._screen.display]

    def cells(self) -> list[list[Any]]:
        """The characters of each line of the screen, with their colours."""
        columns, lines = range(self._screen.columns), range(self._screen.lines)
        return [[self._screen.buffer[y][x] for x in columns] for y in lines]

    def scrolled(self) -> list[str]:
        """The lines that have gone up and out, and those of the screen."""
        columns = range(self._screen.columns)
        gone = ("".join(line[x].data for x in columns) for line in self._screen.history.top)
        return [*(line.rstrip() for line in gone), *self.rows()]

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # nobody has the terminal any more
            return False
        self.output += data
        self._stream.feed(data)
        return bool(data)
