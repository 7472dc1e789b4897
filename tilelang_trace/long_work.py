"""How far work is that may take long: readers, writers and analyses say it, a command may show it.

Whoever works calls `stage` and, now and then, `reached`. That is a few attributes of an object that
somebody else looks at (see `commands.progress`); where nobody does, it is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

BYTES, SLICES = "bytes", "slices"


class State(NamedTuple):
    """What is being done, and how far it is."""

    what: str
    total: int
    """Of so many units; 0 if nothing can tell how far it is."""
    unit: str
    done: int = 0


class Work:
    """Keeps what the work says last. Another thread may look at `now` at any time."""

    def __init__(self) -> None:
        self.now = State("working", 0, "")

    def stage(self, what: str, total: int, unit: str) -> None:
        """Something else is done now."""
        self.now = State(what, total, unit)

    def reached(self, done: int) -> None:
        """So many of the units are done."""
        self.now = self.now._replace(done=min(done, self.now.total))


_watched: Work | None = None


@contextmanager
def watched(work: Work) -> Iterator[Work]:
    """Tell this of all work in the block."""
    global _watched
    before, _watched = _watched, work
    try:
        yield work
    finally:
        _watched = before


def stage(what: str, total: int = 0, unit: str = "") -> None:
    """Say what is done from here on, in words that stand before a name or a dot: `reading x.json`;
    and of how many units, if that is known.
    """
    if _watched is not None:
        _watched.stage(what, total, unit)


def reached(done: int) -> None:
    """Say how many units of the stage are done. To be called some times a second: for each piece of
    a file, and not for each slice.
    """
    if _watched is not None:
        _watched.reached(done)
