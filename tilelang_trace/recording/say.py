"""Messages of a recording to the person whose compile it is: one line each, on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress

from tilelang_trace.trace.json_values import storable


def say(message: str) -> None:
    """Print one line on stderr, if there is one. A closed one is no reason to fail a compile."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr is not None:  # else `print` takes stdout
            print(f"tilelang-trace: {message}", file=sys.stderr, flush=True)


def reason(error: Exception) -> str:
    """An exception in one short line: type, and the first line of its text."""
    try:
        text = str(error).strip()
    except Exception:  # somebody's __str__ raises
        text = ""
    first = text.partition("\n")[0][:200]
    return str(storable(f"{type(error).__name__}: {first}" if first else type(error).__name__))
