"""Pairs the before- and after-callbacks of nested passes, over a plain list of open frames.

TVM reports a pass with one callback before it and one after it. No after-callback comes for a pass
that raised: its frame is stale from then on. If an enclosing pass caught the exception, the compile
goes on with the stale frames lying on top of the frames of passes that still run; if nobody caught
it, every open frame is stale. The functions here find the frame that a callback belongs to and take
the stale ones off; what becomes of them is the caller's business.

A list of frames is ordered outermost first. Opening a frame is `frames.append(frame)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F")


def find(frames: list[F], matches: Callable[[F], bool]) -> int | None:
    """The index of the innermost frame that matches.

    None if there is none: the callback belongs to a pass whose begin was not seen.
    """
    return next((i for i in reversed(range(len(frames))) if matches(frames[i])), None)


def unwind(frames: list[F], depth: int = 0) -> list[F]:
    """Take off all frames at `depth` and deeper, and return them outermost first.

    Without `depth` that is every frame: what is left when a context ends or a compile is given up.
    """
    stale = frames[depth:]
    del frames[depth:]
    return stale
