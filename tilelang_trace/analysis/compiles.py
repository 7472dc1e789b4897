"""What counts as one compile: the unit of `--only`, `--split kernel` and `report --by kernel`.

A compile is a `compile` slice. Plain TVM has none: there it is a context with a kernel's label that
lies in no other compile. (A context inside it, as a tuner enters for each candidate, is a part of
it.) Where nothing at all bears a label it is each outermost context in which passes ran, and is
called after its first pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, PASS
from tilelang_trace.trace.model import Ids, Mask, Trace

_MORE = re.compile(r" \+\d+ more$")


def compiles(trace: Trace) -> npt.NDArray[np.int64]:
    """The rows of the compiles, by begin. Those of compile slices may nest."""
    compile_slices = trace.is_kind(COMPILE)
    candidates = compile_slices | _contexts_with_kernel(trace)
    if not candidates.any():
        candidates = _contexts_with_passes(trace)
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
    """The kernel of each compile, and of each context in one that bears a label of its own.

    Without the argument it is the compile slice's own name, or that of the context's first pass.
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
    nameless = [row for row in compiles(trace).tolist() if row not in found]
    if nameless:
        passes = np.flatnonzero(trace.is_kind(PASS))
        first_pass = np.empty(len(trace.slices) + 1, np.int64)
        # Of several passes of one context, the last that is put there stays: the first one.
        first_pass[_context_of(trace)[passes][::-1]] = passes[::-1]
        found.update((row, trace.name(int(first_pass[row]))) for row in nameless)
    return found


def plain_name(kernel: str) -> str:
    """A kernel's label without the count of the functions beside it: `main +9 more` is `main`."""
    return _MORE.sub("", kernel)


def _contexts_with_kernel(trace: Trace) -> Mask:
    labels = trace.arguments.strings("kernel", len(trace.slices))
    empty = trace.strings.index("") if "" in trace.strings else -1
    mask: Mask = trace.is_kind(CONTEXT) & (labels >= 0) & (labels != empty)
    return mask


def _contexts_with_passes(trace: Trace) -> Mask:
    mask = np.zeros(len(trace.slices), np.bool_)
    contexts = _context_of(trace)[trace.is_kind(PASS)]
    mask[contexts[contexts >= 0]] = True
    return mask


def _context_of(trace: Trace) -> Ids:
    """The context that each slice lies in, -1 if there is none."""
    return nearest_above(trace.slices.parent, trace.is_kind(CONTEXT))
