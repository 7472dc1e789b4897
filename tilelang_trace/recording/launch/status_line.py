"""The last line of a terminal in which another program prints.

The rest becomes the terminal's scrolling region, so that what the program prints never comes
there, and the cursor is put back to where the program left it, with its colours (DECSC and DECRC).
Each change is one write, between two of the program's. A program that takes the whole screen, as an
editor does, would not get on with it.
"""

from __future__ import annotations

import os
import select
from unicodedata import east_asian_width

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_WHOLE_SCREEN = "\x1b[r"
_MAKE_ROOM = "\x1bD"
"""Down a line, in the same column; on the last line, the screen moves up."""
_UP = "\x1b[A"
_ERASE_LINE, _ERASE_BELOW = "\x1b[2K", "\x1b[J"
_PLAIN = "\x1b[m"
_LEAST_LINES = 3
_ELLIPSIS = "…"


def can_show(descriptor: int) -> bool:
    """Whether this is a terminal in which there can be such a line."""
    return os.isatty(descriptor) and os.environ.get("TERM", "dumb") != "dumb"


class StatusLine:
    """Takes the last line from the first `show` to `close`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = 0
        """Of the terminal, when its last line was taken; 0 if it is not."""

    def show(self, text: str, end: str = "") -> None:
        """Show this. If there is no room for all, the beginning of `end` is cut off."""
        if not self._may_write():
            return
        size = os.get_terminal_size(self._descriptor)
        sequence = ""
        if size.lines != self._lines:
            sequence = self._take(size.lines)
        if self._lines:
            line = _fitted(text, end, size.columns - 1)
            sequence += f"{_SAVE}\x1b[{self._lines}H{_PLAIN}{_ERASE_LINE}{line}{_RESTORE}"
        self._write(sequence)

    def close(self) -> None:
        """Give the line back."""
        if self._lines:
            self._write(f"{_SAVE}{_WHOLE_SCREEN}\x1b[{self._lines}H{_PLAIN}{_ERASE_LINE}{_RESTORE}")
            self._lines = 0

    def _take(self, lines: int) -> str:
        """What takes the last of so many lines, after giving back the one that it had."""
        sequence = f"{_SAVE}{_WHOLE_SCREEN}{_RESTORE}{_ERASE_BELOW}" if self._lines else ""
        self._lines = lines if lines >= _LEAST_LINES else 0
        if self._lines:
            sequence += f"{_MAKE_ROOM}{_SAVE}\x1b[1;{lines - 1}r{_RESTORE}{_UP}"
        return sequence

    def _may_write(self) -> bool:
        """Not while the person has stopped the output (Ctrl-S), nor in the background."""
        if not select.select([], [self._descriptor], [], 0)[1]:
            return False
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # not the terminal that controls us
            return True

    def _write(self, sequence: str) -> None:
        os.write(self._descriptor, sequence.encode(errors="replace"))


def _fitted(text: str, end: str, columns: int) -> str:
    if _width(text + end) <= columns:
        return text + end
    while end and _width(text + _ELLIPSIS + end) > columns:
        end = end[1:]
    line = text + _ELLIPSIS + end
    while _width(line) > columns:
        line = line[:-1]
    return line


def _width(text: str) -> int:
    """Columns that a text takes, at most."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
