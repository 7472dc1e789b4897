"""The colours: of the kinds of slices, of what failed, of the paper."""

from __future__ import annotations

import zlib

from tilelang_trace.trace.arguments import (
    CODEGEN,
    COMPILE,
    CONTEXT,
    DIFFERENCE,
    PASS,
    PHASE,
    STEP,
    TOOL,
)
from tilelang_trace.trace.arguments import FAILED as FAILED_STATUS

PAPER = "#ffffff"
FRAME = "#d0d7de"
GRID = "#e4e8ec"
INK = "#1f2328"
FAINT = "#59636e"
FAILED = "#cf222e"
FAILED_STRIPES = "#8f0f1b"
ON_FAILED = "#ffffff"
INCOMPLETE = "#ffdcd7"
OPEN_FRAME = "#0969da"
MERGED = "#d5dae0"

OF_KIND = {
    COMPILE: "#b3bfcc",
    CONTEXT: "#c9d2db",
    PHASE: "#dde3ea",
    CODEGEN: "#cbb8f0",
    STEP: "#e2cfb4",
    TOOL: "#f0c987",
}
_PASSES = ("#9cc9ee", "#a6d8c0", "#b9c6f2", "#93d3d6", "#c6dfa0", "#b4dcf5")
OF_PASS = _PASSES[0]
DIFFERENCES = {
    "slower": "#f2a65a",
    "faster": "#7ccf8a",
    "same": "#d5dae0",
    "failed on one side": "#ff8182",
    "on one side only, moved, unknown": "#9cc9ee",
}
"""By what the legend says."""


def fill(category: str, name: str) -> str:
    """The colour of a slice; passes of one name have one of a few."""
    kind, _, rest = category.partition(",")
    if kind == DIFFERENCE:
        what = "failed on one side" if rest == FAILED_STATUS else rest
        return DIFFERENCES.get(what, list(DIFFERENCES.values())[-1])
    if kind in OF_KIND and kind != PASS:
        return OF_KIND[kind]
    # As in Perfetto, digits don't count: `split_0` and `split_1` look alike.
    plain = "".join(c for c in name if not c.isdigit())
    return _PASSES[zlib.crc32(plain.encode("utf-8", "replace")) % len(_PASSES)]
