"""Pairs the before- and after-callbacks of nested passes, over a plain list of open frames.

TVM reports a pass with one callback before it and one after it. No after-callback comes for a pass
that raised: its frame is stale from then on. If an enclosing pass caught the exception, the compile
goes on with the stale frames lying on top of the frames of passes that still run; if nobody caught
it, every open frame is stale. The functions here take such frames off; what becomes of them is the
caller's business.

A list of frames is ordered outermost first. Opening a frame is `frames.append(frame)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F")


def close(frames: list[F], matches: Callable[[F], bool]) -> tuple[F | None, list[F]]:
    """Take off the innermost frame that matches, with the stale frames above it.

    Returns the frame and the stale ones, outermost first. If no frame matches, the callback belongs
    to a pass whose begin was not seen: the list stays as it is and the result is `(None, [])`.
    """
    for index in reversed(range(len(frames))):
        if matches(frames[index]):
            frame, *stale = unwind(frames, index)
            return frame, stale
    return None, []


def unwind(frames: list[F], depth: int = 0) -> list[F]:
    """Take off all frames at `depth` and deeper, and return them outermost first.

    Without `depth` that is every frame: what is left when a context ends or a compile is given up.
    """
    stale = frames[depth:]
    del frames[depth:]
    return stale
