"""Leaves slices out so that the numbers still make sense: what goes is counted where it was.

The nearest slice around what goes says so in `hidden`: `count`, all passes that were left out below
it, and `ns`, their time, where one inside another counts once. What had nothing around it is in the
metadata `hidden`: the total of the top-level slices is shorter by that.

`depth`, `sequence` and `parent_sequence` stay as they were recorded, so `parent_sequence` may be
the number of a pass that was left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, sum_by
from tilelang_trace.analysis.hidden import HIDDEN, hidden_of
from tilelang_trace.analysis.selection.subset import renumbered, subset_parts
from tilelang_trace.trace.arguments import ERROR_STATUSES, OPEN, PASS
from tilelang_trace.trace.assemble import assemble
from tilelang_trace.trace.model import Column, Ids, Ints, Mask, Trace


def without_short(trace: Trace, min_ns: int) -> Trace:
    """Leaves out the passes shorter than `min_ns`, with all that lies in them.

    What did not end well stays, with all that encloses it. Slices of other kinds (a context, a
    phase, a tool) only go with a pass around them. In a Trace without any pass, from another tool,
    its slices are meant, as in the report.
    """
    short = _measured(trace) & (trace.slices.duration < min_ns) & ~_to_be_seen(trace)
    if not short.any():
        return trace
    return leave_out(trace, short | (nearest_above(trace.slices.parent, short) >= 0))


def leave_out(trace: Trace, gone: Mask) -> Trace:
    """The Trace without these slices; with a slice all that lies in it must be among them."""
    slices = trace.slices
    counts, times = _hidden(trace)
    passes = gone & _measured(trace)
    # A pass inside another one that goes is in the time of that one, and so is what had been left
    # out in it before.
    ns = np.where(passes, slices.duration, times)
    ns[nearest_above(slices.parent, passes) >= 0] = 0
    rows = np.flatnonzero(gone)
    holder = nearest_above(slices.parent, ~gone)[rows]
    # Number 0 is for what has nothing around it.
    more_count = sum_by(holder + 1, (counts + passes)[rows], len(slices) + 1)
    more_ns = sum_by(holder + 1, ns[rows], len(slices) + 1)

    parts = subset_parts(trace, ~gone)
    holders = np.flatnonzero(more_count[1:])
    told = zip(
        (counts[holders] + more_count[holders + 1]).tolist(),
        (times[holders] + more_ns[holders + 1]).tolist(),
    )
    hidden = np.fromiter(({"count": n, "ns": ns} for n, ns in told), np.object_, len(holders))
    own = renumbered(~gone)[holders]
    columns = [_without_rows(c, own) if c.name == HIDDEN else c for c in parts.columns]
    metadata = dict(trace.metadata)
    if more_count[0]:
        known_count, known_ns = hidden_of(metadata.get(HIDDEN))
        metadata[HIDDEN] = {
            "count": known_count + int(more_count[0]),
            "ns": known_ns + int(more_ns[0]),
        }
    columns.append(Column(HIDDEN, "json", own, hidden))
    return assemble(replace(parts, columns=columns, metadata=metadata))


def _hidden(trace: Trace) -> tuple[Ints, Ints]:
    """The count and the time that `hidden` says on each row, 0 where there is none."""
    counts, times = np.zeros((2, len(trace.slices)), np.int64)
    for row, value in trace.arguments.values(HIDDEN).items():
        counts[row], times[row] = hidden_of(value)
    return counts, times


def _measured(trace: Trace) -> Mask:
    passes = trace.is_kind(PASS)
    return passes if passes.any() else trace.kinds() < 0


def _to_be_seen(trace: Trace) -> Mask:
    """The slices that did not end well, and all around them."""
    told = {*ERROR_STATUSES, OPEN}
    codes = [number for number, text in enumerate(trace.strings) if text in told]
    # What a `status` on slices of other tools means is not ours to say.
    ours = trace.kinds() >= 0
    seen: Mask = ours & np.isin(trace.arguments.strings("status", len(trace.slices)), codes)
    rows = np.flatnonzero(seen)
    while len(rows):
        above = trace.slices.parent[rows]
        rows = np.unique(above[above >= 0])
        rows = rows[~seen[rows]]
        seen[rows] = True
    return seen


def _without_rows(column: Column, rows: Ids) -> Column:
    stays = ~np.isin(column.rows, rows)
    return replace(column, rows=column.rows[stays], values=column.values[stays])
