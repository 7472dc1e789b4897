"""Code generation of plain TVM, as `codegen` slices: what of a compile comes after the passes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tilelang_trace.recording.hooks.spans import Span
from tilelang_trace.recording.hooks.tilelang import compiles
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.wrapping import Patches, around
from tilelang_trace.trace.arguments import CODEGEN

_MODULE, _FUNCTION = "tvm.tirx.build", "codegen_build"
"""Generates code for one target; the name of TVM's function behind it is `target.build.<kind>`."""


def wrap(patches: Patches, active: Callable[[], tuple[Recording, ...]]) -> None:
    """See code generation from now on; a TVM without this function costs these slices alone."""

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Span | None:
        if compiles.current() is not None:
            return None  # TileLang tells of its own
        target = args[1] if len(args) > 1 else kwargs["target"]
        return Span(active(), CODEGEN, f"target.build.{target.kind.name}")

    module = sys.modules.get(_MODULE)
    if module is not None:
        patches.wrap(module, _FUNCTION, lambda original: around(original, begin))
