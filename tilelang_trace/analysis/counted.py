"""Which slices the numbers of `report` and `compare` are about.

In a compile that was recorded here these are the passes. A trace of another tool has none: there it
is every slice, but for those with which the tool itself sums up the others, or marks how long it
ran. They stand beside the work on rows of their own, and their time would count twice.
"""

from __future__ import annotations

import numpy as np

from tilelang_trace.analysis.ancestry import outermost_of_name, sum_by
from tilelang_trace.analysis.columns import largest, numbered
from tilelang_trace.trace.arguments import KINDS, PASS
from tilelang_trace.trace.model import Mask, Trace

_LLVM_SUM = "Total "
_LLVM_MEAN = "avg ms"
"""clang -ftime-trace closes with a slice for each name, with this argument, on a thread of its own
(LLVM, `TimeTraceProfiler::write`); so do opt and lld.
"""

_KINETO_SPAN = "Trace"
_KINETO_SPANS = "Spans"
"""Category of the slice that lasts as long as PyTorch's profiler ran, and the process it is in
(Kineto, `ChromeTraceLogger::handleTraceSpan`).
"""

_NAMES_TOLD = 3


def counted(trace: Trace) -> Mask:
    """The slices whose time makes the total: those on threads, without the sums."""
    mask: Mask = on_threads(trace) & ~sums(trace)
    return mask


def measured(trace: Trace) -> tuple[Mask, bool]:
    """The slices that the tables are about, all of them counted: passes; those of other tools if
    there is no pass, and whether it is so.
    """
    kinds, within = trace.kinds(), counted(trace)
    passes = kinds == KINDS.index(PASS)
    foreign = kinds < 0
    if not passes.any() and foreign.any():
        return foreign & within, True
    return passes & within, False


def on_threads(trace: Trace) -> Mask:
    """Which slices are on the lanes of threads. Some tools know no threads, only rows: then all."""
    lanes = np.array([lane.thread is not None for lane in trace.lanes], np.bool_)
    mask: Mask = lanes[trace.slices.lane]
    return mask if mask.any() or (trace.kinds() >= 0).any() else ~mask


def off_threads(trace: Trace) -> tuple[int, tuple[tuple[str, int], ...]]:
    """How many slices are on rows of no thread, as those are that other tools begin and end apart
    (`b` and `e` of JSON): work that waits beside the work of threads, so it makes no total. And
    the names with the most time there, with that, ns; a slice in one of its name counts as that.
    """
    rows = np.flatnonzero(~on_threads(trace))
    outer = rows[outermost_of_name(trace.slices, rows)]
    names, name_of_row = numbered(trace.slices.name[outer])
    times = sum_by(name_of_row, trace.slices.duration[outer], len(names))
    chosen = largest(times, _NAMES_TOLD)
    texts = [trace.strings[name] for name in names[chosen].tolist()]
    return len(rows), tuple(zip(texts, times[chosen].tolist()))


def sums(trace: Trace) -> Mask:
    """Which slices only sum up others, or last as long as the profiler ran."""
    found = np.zeros(len(trace.slices), np.bool_)
    for column in trace.arguments.named(_LLVM_MEAN):
        names = trace.slices.name[column.rows].tolist()
        of_llvm = [trace.strings[name].startswith(_LLVM_SUM) for name in names]
        found[column.rows] = of_llvm
    rows = np.flatnonzero(_in_spans(trace)[trace.slices.lane])
    found[rows] = [trace.category(row) == _KINETO_SPAN for row in rows.tolist()]
    return found


def _in_spans(trace: Trace) -> Mask:
    """Which lanes are of the process in which Kineto shows what it has recorded."""
    spans = [process.name == _KINETO_SPANS for process in trace.processes]
    return np.array(
        [
            lane.thread is not None and spans[trace.threads[lane.thread].process]
            for lane in trace.lanes
        ],
        np.bool_,
    )
