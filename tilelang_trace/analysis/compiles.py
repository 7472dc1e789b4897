"""What counts as one compile: the unit of `--only`, `--split kernel` and `report --by kernel`.

A compile is a `compile` slice. Plain TVM has none: there it is a context with a kernel's label that
lies in no other compile. (A context inside it, as a tuner enters for each candidate, is a part of
it.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above
from tilelang_trace.trace.arguments import COMPILE, CONTEXT
from tilelang_trace.trace.model import Mask, Trace

_MORE = re.compile(r" \+\d+ more$")


def compiles(trace: Trace) -> npt.NDArray[np.int64]:
    """The rows of the compiles, by begin. Those of compile slices may nest."""
    compile_slices = trace.is_kind(COMPILE)
    candidates = compile_slices | _contexts_with_kernel(trace)
    inner = nearest_above(trace.slices.parent, candidates) >= 0
    rows = np.flatnonzero(compile_slices | (candidates & ~inner))
    return rows[np.argsort(trace.slices.begin[rows], kind="stable")]


def outermost(trace: Trace, rows: npt.NDArray[np.int64]) -> Mask:
    """Which of these compiles lie in no other one of them."""
    chosen = np.zeros(len(trace.slices), np.bool_)
    chosen[rows] = True
    mask: Mask = nearest_above(trace.slices.parent, chosen)[rows] < 0
    return mask


def kernels(trace: Trace) -> Mapping[int, str]:
    """The kernel of each compile slice and context that has one. A compile slice without the
    argument is named by its own name.
    """
    named = {
        row: label
        for row, label in trace.arguments.values("kernel").items()
        if isinstance(label, str) and label
    }
    may_bear = trace.is_kind(COMPILE) | trace.is_kind(CONTEXT)
    found = {row: label for row, label in named.items() if may_bear[row]}
    for row in np.flatnonzero(trace.is_kind(COMPILE)).tolist():
        found.setdefault(row, trace.name(row))
    return found


def plain_name(kernel: str) -> str:
    """A kernel's label without the count of the functions beside it: `main +9 more` is `main`."""
    return _MORE.sub("", kernel)


def _contexts_with_kernel(trace: Trace) -> Mask:
    labels = trace.arguments.strings("kernel", len(trace.slices))
    empty = trace.strings.index("") if "" in trace.strings else -1
    mask: Mask = trace.is_kind(CONTEXT) & (labels >= 0) & (labels != empty)
    return mask
