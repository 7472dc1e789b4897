"""The pass timing report of a recorded compile, one for each PassContext that nothing encloses.

What `TILELANG_PASS_PROFILE=1` asks for, of plain TVM too: TileLang prints its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, time_below
from tilelang_trace.analysis.runs import Places
from tilelang_trace.pass_timing import PassTimingRecord, render_report
from tilelang_trace.trace.arguments import ERROR_STATUSES, FAILED, PASS
from tilelang_trace.trace.failures import first_line
from tilelang_trace.trace.model import Ids, Ints, Trace


def render(trace: Trace, threshold_ms: float = 0.0) -> str:
    """The reports, one after the other; empty if no pass ran."""
    is_pass = trace.is_kind(PASS)
    above = nearest_above(trace.slices.parent, is_pass)
    duration = trace.slices.duration
    self_ns = duration - time_below(above, duration, is_pass)
    places = Places(trace)
    texts = []
    for first, last in _groups(trace):
        rows = [row for row in range(first, last) if is_pass[row]]
        if rows:
            texts.append(_report(trace, places, rows, above, self_ns, threshold_ms))
    return "\n\n".join(texts)


def _groups(trace: Trace) -> Iterator[tuple[int, int]]:
    """Rows that belong together: each top-level context, and the passes between two of them."""
    contexts = trace.arguments.values("context")
    top = np.flatnonzero(trace.slices.parent < 0).tolist()
    start: int | None = None
    for row, following in zip(top, [*top[1:], len(trace.slices)]):
        alone = row in contexts
        if start is not None and (alone or trace.slices.lane[row] != trace.slices.lane[start]):
            yield start, row
            start = None
        if alone:
            yield row, following
        elif start is None:
            start = row
    if start is not None:
        yield start, len(trace.slices)


def _report(
    trace: Trace,
    places: Places,
    rows: list[int],
    above: Ids,
    self_ns: Ints,
    threshold_ms: float,
) -> str:
    kernel = places.kernel(rows[0])
    depth: dict[int, int] = {-1: -1}
    complete: list[PassTimingRecord] = []
    incomplete: list[PassTimingRecord] = []
    failures = []
    for sequence, row in enumerate(rows):
        depth[row] = depth[int(above[row])] + 1
        arguments = trace.arguments.of(row)
        record = PassTimingRecord(
            name=trace.name(row),
            duration_s=int(trace.slices.end[row] - trace.slices.begin[row]) / 1e9,
            depth=depth[row],
            self_duration_s=int(self_ns[row]) / 1e9,
            sequence=sequence,
            kernel=kernel,
        )
        status = arguments.get("status")
        (incomplete if status in ERROR_STATUSES else complete).append(record)
        if status == FAILED:
            failures.append(f"{record.name} did not end: {first_line(arguments.get('error'))}")
    return render_report(complete, incomplete, failures, threshold_ms)
