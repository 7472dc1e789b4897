"""Opens what a person names as a trace: a file in any format, or the journals that a recording
left.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.recording.tree import FOLDER_ENDING
from tilelang_trace.trace.arguments import COMPARISON
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

if TYPE_CHECKING:
    from tilelang_trace.formats.archives.together import Original


def open_trace(path: str) -> Trace:
    """The Trace at this path, with its phases. Raises UserError."""
    if os.path.isdir(path):  # for Path, no name at all is the folder that one is in
        from tilelang_trace.recording import finish, folder

        if not folder.is_one(Path(path)):
            raise UserError(f"{path}: a folder without a recording: name a trace")
        return finish.read_journals(Path(path))
    journals = Path(path + FOLDER_ENDING)
    if journals.is_dir() and not Path(path).exists():
        raise UserError(f"{path}: no such file: {_about(journals, path)}")
    return with_phases(files.read(path))


def open_originals(path: str) -> list[Original]:
    """The Trace at this path, or those in an archive, each with its own path. Raises UserError."""
    # Imported here: it brings the writers along, which most of what reads has no use for.
    from tilelang_trace.formats.archives.together import Original

    contents = files.contents_in(path) if Path(path).is_file() else {}
    if not contents:
        return [Original(path, open_trace(path))]
    return [
        Original(inside, with_phases(files.read_content(member, inside)), data)
        for name, member in contents.items()
        for inside, data in [(f"{path}/{name}", member.data) if name else (path, None)]
    ]


def open_compile(path: str) -> Trace:
    """As `open_trace`, for what reads a compile from it. Raises UserError if it holds a comparison:
    the sum of two compiles and their difference says nothing.
    """
    trace = open_trace(path)
    if COMPARISON in trace.metadata:
        raise UserError(
            f"{path}: this is a comparison, for Perfetto; for a table: "
            "tilelang-trace compare BASE NEW, with the traces it was made from"
        )
    return trace


def _about(journals: Path, path: str) -> str:
    """What a folder of journals is that has no trace beside it, and what one can do."""
    from tilelang_trace.recording import folder

    if folder.is_in_use(journals):
        return f"it is being recorded; what there is so far: tilelang-trace snapshot {quote(path)}"
    command = folder.finish_command(journals, path)
    return f"its recording did not end, but left {journals}; to finish it: {command}"
