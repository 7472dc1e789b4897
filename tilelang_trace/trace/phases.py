"""Phase slices, which are derived and never recorded: runs of outermost passes of one context with
one label.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.arguments import (
    CONTEXT,
    ERROR_STATUSES,
    INCOMPLETE,
    KINDS,
    OK,
    OPEN,
    PASS,
    PHASE,
)
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.collect import ArgumentCollector, StringTable
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Column, Ids, Ints, Trace

Rows: TypeAlias = npt.NDArray[np.int64]


def with_phases(trace: Trace) -> Trace:
    """The Trace with a phase slice around each run of outermost passes; those that it has already
    stay.

    A run is broken by another label, by a pass without one, and by another context beside it. A
    phase has the name of the label, begins with its first pass and ends with its last one.
    """
    first_rows, last_rows = _runs(trace)
    if not len(first_rows):
        return trace
    strings = StringTable(trace.strings)
    slices, count = trace.slices, len(first_rows)
    statuses, errors = _endings(trace, first_rows, last_rows)
    ids = np.full(count, strings.id(OK), np.int32)
    ids[[*statuses]] = [strings.id(status) for status in statuses.values()]
    collector = ArgumentCollector(strings)
    for number, error in errors.items():
        collector.add(number, {"error": error})
    status = Column("status", "string", np.arange(count, dtype=np.int32), ids)

    labels = trace.arguments.strings("phase", len(slices))
    category = strings.id(PHASE)
    parts = Parts.of(trace)
    # Where times are equal the earlier row is the parent: a phase stands between its context and
    # its first pass.
    moved = np.arange(len(slices)) + np.searchsorted(first_rows, np.arange(len(slices)), "right")
    own = first_rows + np.arange(count)

    def inserted(column: Ints | Ids, of_phases: Ints | Ids) -> Any:
        return np.insert(column, first_rows, of_phases)

    return assemble(
        replace(
            parts,
            strings=strings.texts(),
            begin=inserted(slices.begin, slices.begin[first_rows]),
            end=inserted(slices.end, slices.end[last_rows]),
            name=inserted(slices.name, labels[first_rows]),
            category=inserted(slices.category, np.full(count, category, np.int32)),
            lane=inserted(slices.lane, slices.lane[first_rows]),
            columns=[
                *(
                    replace(c, rows=own[c.rows].astype(np.int32))
                    for c in (status, *collector.columns())
                ),
                *(replace(c, rows=moved[c.rows].astype(np.int32)) for c in parts.columns),
            ],
            flows=moved[trace.flows] if len(trace.flows) else trace.flows,
        )
    )


def _endings(trace: Trace, first: Rows, last: Rows) -> tuple[dict[int, str], dict[int, Json]]:
    """The statuses of those runs that have not ended well, and the errors of those that have one,
    by their numbers.
    """
    badly = [id_ for id_, text in enumerate(trace.strings) if text in (OPEN, *ERROR_STATUSES)]
    ids = trace.arguments.strings("status", len(trace.slices))
    statuses, errors = {}, {}
    numbers = np.flatnonzero(np.isin(ids[last], badly)).tolist()
    all_statuses = trace.arguments.values("status") if numbers else {}
    all_errors = trace.arguments.values("error") if numbers else {}
    for number in numbers:
        row, parent = int(last[number]), int(trace.slices.parent[first[number]])
        status = _status(all_statuses[row], all_statuses.get(parent, INCOMPLETE))
        statuses[number] = status
        error = all_errors.get(row)
        if status == INCOMPLETE and isinstance(error, dict):
            errors[number] = {k: v for k, v in error.items() if k != "detail"}
    return statuses, errors


def _runs(trace: Trace) -> tuple[Rows, Rows]:
    """The runs of outermost passes with one label: first and last row of each, in order."""
    slices = trace.slices
    kinds = trace.kinds()
    labels = trace.arguments.strings("phase", len(slices))
    if not np.any(labels >= 0):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    is_pass = kinds == KINDS.index(PASS)
    parent_kinds = np.where(slices.parent >= 0, kinds[slices.parent], -1)
    outermost = ~np.isin(parent_kinds, [KINDS.index(PASS), KINDS.index(PHASE)])
    breaks = outermost & np.isin(kinds, [KINDS.index(CONTEXT), KINDS.index(PHASE)])

    rows = np.flatnonzero((is_pass & outermost) | breaks)
    rows = rows[np.lexsort((rows, slices.parent[rows], slices.lane[rows]))]
    # What lies beside each other, in the same slice, stands in a row now.
    is_part = ~breaks[rows] & (labels[rows] >= 0)
    goes_on = is_part.copy()
    goes_on[:1] = False
    goes_on[1:] &= is_part[:-1]
    for column in (slices.lane, slices.parent, labels):
        goes_on[1:] &= column[rows[1:]] == column[rows[:-1]]
    first = rows[is_part & ~goes_on]
    last = rows[is_part & ~np.append(goes_on[1:], False)]
    order = np.argsort(first)
    return first[order], last[order]


def _status(last_pass: Json, enclosing: Json) -> str:
    """A phase is incomplete if its last pass failed and took the enclosing slice along."""
    if last_pass == OPEN:
        return OPEN
    if last_pass in ERROR_STATUSES and enclosing in ERROR_STATUSES:
        return INCOMPLETE
    return OK
