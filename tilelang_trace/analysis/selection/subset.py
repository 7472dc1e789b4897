"""Some of the slices of a Trace: what the selections are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.assemble import Parts
from tilelang_trace.trace.model import Column, Ids, Mask, Trace

Rows: TypeAlias = npt.NDArray[np.int64]


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


class Ranges:
    """Ranges of rows that overlap in no more than their ends, by their numbers: what each column
    has in them is found by one walk through the columns, however many ranges there are.
    """

    def __init__(self, columns: Iterable[Column], starts: Rows, stops: Rows) -> None:
        self._columns: list[list[Column]] = [[] for _ in range(len(starts))]
        order = np.argsort(starts, kind="stable")
        for column in columns:
            first = np.searchsorted(stops[order], column.rows, "right")
            last = np.searchsorted(starts[order], column.rows, "right") - 1
            inside = first <= last
            for number in order[np.unique([first[inside], last[inside]])].tolist():
                start, stop = int(starts[number]), int(stops[number])
                places = column.places(start, stop)
                rows, values = column.rows[places] - np.int32(start), column.values[places]
                self._columns[number].append(replace(column, rows=rows, values=values))

    def columns(self, number: int) -> list[Column]:
        """The columns on the rows of a range, which are numbered from its start."""
        return self._columns[number]


def with_own_strings(parts: Parts) -> Parts:
    """The parts with those texts alone that are used in them."""
    names: list[Ids] = [parts.name, parts.category]
    if parts.instants is not None:
        names += [parts.instants.name, parts.instants.category]
    columns = [*parts.columns, *parts.instant_columns]
    texts = [column.values for column in columns if column.type == "string"]
    used = np.unique(np.concatenate([*names, *texts]))

    def own(ids: Any) -> Ids:
        found: Ids = np.searchsorted(used, ids).astype(np.int32)
        return found

    def own_texts(columns: Iterable[Column]) -> list[Column]:
        return [replace(c, values=own(c.values)) if c.type == "string" else c for c in columns]

    instants = parts.instants
    if instants is not None:
        instants = replace(instants, name=own(instants.name), category=own(instants.category))
    return replace(
        parts,
        strings=tuple(parts.strings[i] for i in used.tolist()),
        name=own(parts.name),
        category=own(parts.category),
        instants=instants,
        columns=own_texts(parts.columns),
        instant_columns=own_texts(parts.instant_columns),
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
