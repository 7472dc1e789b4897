"""What a recording writes when it ends, as its caller chose it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilelang_trace.analysis.selection.choose import Selection

IR_VARIABLE = "TILELANG_TRACE_IR"
"""Environment variable that tells a recording process which facts of the IR to take."""

Ir: TypeAlias = Literal["off", "size", "hash", "text"]

FIELDS = ("script", "pid", "kernel", "time")
"""What the name of an output may have in braces. `{script}` and `{time}` (`20250131-235959`, when
the recording starts) are filled in at once; `{pid}` (of the script) and `{kernel}` when the file is
written. The folder of journals bears them as they are.
"""


@dataclass(frozen=True)
class Keep:
    """What to write of what was recorded. By default all of it, in one file.

    It costs nothing while recording and saves nothing: everything is recorded, and this is left out
    of the file.
    """

    selection: Selection = field(default_factory=Selection)
    """Which kernels and passes, and in how many files."""
    on_failure_only: bool = False
    """Write nothing unless a slice among these failed, or the script or block itself did."""


def is_split(output: str | os.PathLike[str]) -> bool:
    """Whether the name of an output alone asks for a file for each kernel."""
    return "{kernel}" in os.fspath(output)
