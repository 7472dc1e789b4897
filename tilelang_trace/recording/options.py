"""What a recording takes down and writes. Apart from the rest, which takes time to import."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from tilelang_trace.analysis.selection.selection import Selection

IR_VARIABLE = "TILELANG_TRACE_IR"
"""Environment variable that tells the recording processes which facts of the IR to take."""

Ir: TypeAlias = Literal["off", "failed", "size", "hash", "text", "disk"]
IR: tuple[Ir, ...] = get_args(Ir)
DEFAULT_IR: Ir = "failed"
"""The module before a pass that fails, and nothing else: it costs nothing until then."""


@dataclass(frozen=True)
class Keep:
    """What to write of what was recorded. By default all of it, in one file.

    It makes the file smaller, not the recording: all is recorded, then some of it is left out.
    """

    selection: Selection = field(default_factory=Selection)
    """Which kernels and passes, and in how many files."""
    on_failure_only: bool = False
    """Write nothing unless a slice among these failed, or the script or block itself did."""
