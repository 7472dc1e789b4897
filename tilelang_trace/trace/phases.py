"""Phase slices, which are derived and never recorded: runs of outermost passes of one context with
one label.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

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
from tilelang_trace.trace.build import ArgumentCollector, Parts, StringTable, assemble
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids, Ints, Trace


def with_phases(trace: Trace) -> Trace:
    """The Trace with a phase slice around each run of outermost passes; those that it has already
    stay.

    A run is broken by another label, by a pass without one, and by another context beside it. A
    phase has the name of the label, begins with its first pass and ends with its last one.
    """
    runs = _runs(trace)
    if not runs:
        return trace
    strings = StringTable(trace.strings)
    statuses = trace.arguments.values("status")
    errors = trace.arguments.values("error")
    collector = ArgumentCollector(strings)
    slices = trace.slices
    for number, (first, last) in enumerate(runs):
        status = _status(statuses.get(last), statuses.get(int(slices.parent[first]), INCOMPLETE))
        arguments: dict[str, Json] = {"status": status}
        if status == INCOMPLETE and last in errors:
            arguments["error"] = {k: v for k, v in errors[last].items() if k != "detail"}
        collector.add(number, arguments)

    labels = trace.arguments.strings("phase", len(slices))
    first_rows = np.array([first for first, _ in runs], np.int64)
    last_rows = np.array([last for _, last in runs], np.int64)
    category = strings.id(PHASE)
    parts = Parts.of(trace)
    # Where times are equal the earlier row is the parent: a phase stands between its context and
    # its first pass.
    moved = np.arange(len(slices)) + np.searchsorted(first_rows, np.arange(len(slices)), "right")
    own = first_rows + np.arange(len(runs))

    def inserted(column: Ints | Ids, of_phases: Ints | Ids) -> Any:
        return np.insert(column, first_rows, of_phases)

    return assemble(
        replace(
            parts,
            strings=strings.texts(),
            begin=inserted(slices.begin, slices.begin[first_rows]),
            end=inserted(slices.end, slices.end[last_rows]),
            name=inserted(slices.name, labels[first_rows]),
            category=inserted(slices.category, np.full(len(runs), category, np.int32)),
            lane=inserted(slices.lane, slices.lane[first_rows]),
            columns=[
                *(replace(c, rows=own[c.rows].astype(np.int32)) for c in collector.columns()),
                *(replace(c, rows=moved[c.rows].astype(np.int32)) for c in parts.columns),
            ],
            flows=moved[trace.flows] if len(trace.flows) else trace.flows,
        )
    )


def _runs(trace: Trace) -> list[tuple[int, int]]:
    """The runs of outermost passes with one label: first and last row of each."""
    slices = trace.slices
    kinds = trace.kinds()
    labels = trace.arguments.strings("phase", len(slices))
    if not np.any(labels >= 0):
        return []
    is_pass = kinds == KINDS.index(PASS)
    parent_kinds = np.where(slices.parent >= 0, kinds[slices.parent], -1)
    outermost = ~np.isin(parent_kinds, [KINDS.index(PASS), KINDS.index(PHASE)])
    breaks = outermost & np.isin(kinds, [KINDS.index(CONTEXT), KINDS.index(PHASE)])

    runs: list[tuple[int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    """Index in `runs` of the run that a further pass below this (lane, parent) would join."""
    for row in np.flatnonzero((is_pass & outermost) | breaks).tolist():
        below = (int(slices.lane[row]), int(slices.parent[row]))
        if breaks[row] or labels[row] < 0:
            open_runs.pop(below, None)
            continue
        index = open_runs.get(below)
        if index is not None and labels[runs[index][0]] == labels[row]:
            runs[index] = (runs[index][0], row)
        else:
            open_runs[below] = len(runs)
            runs.append((row, row))
    return runs


def _status(last_pass: Json, enclosing: Json) -> str:
    """A phase is incomplete if its last pass failed and took the enclosing slice along."""
    if last_pass == OPEN:
        return OPEN
    if last_pass in ERROR_STATUSES and enclosing in ERROR_STATUSES:
        return INCOMPLETE
    return OK
