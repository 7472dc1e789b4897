from __future__ import annotations
from collections.abc import Sequence
from tilelang_trace.analysis.compare.comparison import ContextChange
from tilelang_trace.analysis.compare.forest import Merged
from tilelang_trace.analysis.compare.sides import AllRuns


def context_changes(base: AllRuns, new: AllRuns, both: Merged) -> list[ContextChange]:
    return []
