"""What journals kept of passes that failed, for the metadata of their trace (see
`trace.failed_passes`).
"""

from __future__ import annotations

import json
from pathlib import Path

from tilelang_trace.recording.disk_sink import MODULE_FILE
from tilelang_trace.recording.failed_pass import FAILED_PASS, with_module
from tilelang_trace.trace.arguments import FAILED
from tilelang_trace.trace.failed_passes import FAILED_PASSES, KEPT
from tilelang_trace.trace.json_values import Json, storable


class Kept:
    """The entries of all failed passes of a recording."""

    def __init__(self) -> None:
        self.entries: list[Json] = []

    def take(self, arguments: dict[str, Json], journal: Path) -> None:
        """Take the entry off the arguments of a pass, as a journal has them; if it failed, they say
        where it is now.
        """
        text, file = arguments.pop(FAILED_PASS, None), arguments.pop(MODULE_FILE, None)
        if text is None or arguments.get("status") != FAILED:
            return
        entry = _object(text)
        if isinstance(file, str) and "json" not in entry and "text" not in entry:
            entry = _with_module(entry, journal.with_name(Path(file).name))
        ir = arguments.get("ir")
        arguments["ir"] = {**(ir if isinstance(ir, dict) else {}), KEPT: len(self.entries)}
        self.entries.append(storable(entry))

    def metadata(self) -> dict[str, Json]:
        """The part of the metadata that tells it."""
        return {FAILED_PASSES: self.entries} if self.entries else {}


def _with_module(entry: dict[str, Json], file: Path) -> dict[str, Json]:
    """An entry with the module that `--ir disk` left in a file."""
    try:
        module = _object(file.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"its file can't be read: {error.strerror}"
        module = {"left_out": {"text": why, "json": why}}
    return with_module(entry, module)


def _object(text: Json) -> dict[str, Json]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):  # a journal that was cut, or is somebody else's
        return {}
    return found if isinstance(found, dict) else {}
