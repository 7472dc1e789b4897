"""Some of the slices of a Trace: what the selections are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tilelang_trace.trace.assemble import Parts
from tilelang_trace.trace.model import Column, Ids, Mask, Trace


def subset_parts(trace: Trace, keep: Mask) -> Parts:
    """The parts of a Trace of the slices to keep, numbered anew.

    Flows go where one of their ends goes, all else stays.
    """
    slices, flows = trace.slices, trace.flows
    new_row = renumbered(keep)
    return replace(
        Parts.of(trace),
        begin=slices.begin[keep],
        end=slices.end[keep],
        name=slices.name[keep],
        category=slices.category[keep],
        lane=slices.lane[keep],
        columns=columns_of(trace.arguments.columns, keep, new_row),
        flows=new_row[flows[keep[flows].all(axis=1)]] if len(flows) else flows,
    )


def rows_between(trace: Trace, start: int, stop: int) -> Parts:
    """The same for the slices from start to stop; its cost does not grow with the other ones."""
    slices, flows = trace.slices, trace.flows
    columns = []
    for column in trace.arguments.columns:
        places = column.places(start, stop)
        rows, values = column.rows[places] - np.int32(start), column.values[places]
        columns.append(replace(column, rows=rows, values=values))
    inside = ((flows >= start) & (flows < stop)).all(axis=1)
    return replace(
        Parts.of(trace),
        begin=slices.begin[start:stop],
        end=slices.end[start:stop],
        name=slices.name[start:stop],
        category=slices.category[start:stop],
        lane=slices.lane[start:stop],
        columns=columns,
        flows=flows[inside] - np.int32(start),
    )


def renumbered(keep: Mask) -> Ids:
    """For each row its new number; that of a row that goes means nothing."""
    return (np.cumsum(keep) - 1).astype(np.int32)


def columns_of(columns: Iterable[Column], keep: Mask, new_row: Ids) -> list[Column]:
    """The columns on the rows to keep."""
    kept = []
    for column in columns:
        stays = keep[column.rows]
        rows = new_row[column.rows[stays]]
        kept.append(replace(column, rows=rows, values=column.values[stays]))
    return kept
