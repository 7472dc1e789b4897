"""`enable(...)` and `disable()`: recording without a `with` block, for notebooks and consoles."""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from threading import Lock

from tilelang_trace.recording.record import record

_lock = Lock()
_running: tuple[Path, record] | None = None
"""What is enabled: the path that was asked for, and its recording."""


def enable(path: str | os.PathLike[str]) -> Path:
    """Record every pass of this process from now on, until `disable()` or the end of the process.

    Returns the path that will be written: the given one, or one beside it if another recording is
    there. Enabled already with the same path, the recording goes on; with another, the one before
    ends and is written. Raises UserError when no format has the name's ending.
    """
    global _running
    asked = Path(_absolute(path))
    with _lock:
        if _running is not None and _running[0] == asked:
            return _running[1].path
        recording = record(asked)
        _end()
        _running = asked, recording.__enter__()
        atexit.register(disable)
        return recording.path


def disable() -> Path | None:
    """End what `enable` began and write it; returns its path. None, and no harm, if nothing is
    enabled.
    """
    with _lock:
        return _end()


def _absolute(path: str | os.PathLike[str]) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory was deleted: `record` says what comes of that
        return os.fspath(path)


def _end() -> Path | None:
    global _running
    atexit.unregister(disable)
    if _running is None:
        return None
    (_, recording), _running = _running, None
    recording.__exit__(None, None, None)
    return recording.path
