"""Opens what a person names as a trace: a file in any format, or the journals that a recording
left.
"""

from __future__ import annotations

from pathlib import Path

from tilelang_trace.formats import files
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases


def open_trace(path: str) -> Trace:
    """The Trace at this path, with its phases. Raises UserError."""
    if Path(path).is_dir():
        from tilelang_trace.recording import finish

        return finish.read_journals(Path(path))
    return with_phases(files.read(path))
