"""Messages of a recording to the person whose compile it is: one line each, on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(message: str) -> None:
    """Print one line on stderr, if there is one. A closed one is no reason to fail a compile."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr is not None:  # else `print` takes stdout
            print(f"tilelang-trace: {message}", file=sys.stderr, flush=True)
