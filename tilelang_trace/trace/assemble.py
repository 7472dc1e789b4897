"""How columns become a Trace: `assemble` sorts, nests and checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.collect import sorted_column
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.json_values import Json, storable
from tilelang_trace.trace.mending import mend
from tilelang_trace.trace.model import (
    Arguments,
    Column,
    ColumnType,
    Counters,
    CounterTrack,
    Ids,
    Instants,
    Ints,
    Lane,
    Process,
    Slices,
    Thread,
    Trace,
)
from tilelang_trace.trace.nesting import nest


def _renumbered(columns: Iterable[Column], new_row: Ids) -> list[Column]:
    """Columns whose rows got new numbers, one for each name and type."""
    parts: dict[tuple[str, ColumnType], list[Column]] = {}
    for column in columns:
        moved = replace(column, rows=new_row[column.rows])
        parts.setdefault((column.name, column.type), []).append(moved)
    return [
        sorted_column(
            Column(
                name,
                kind,
                np.concatenate([part.rows for part in same]),
                np.concatenate([part.values for part in same]),
            )
        )
        for (name, kind), same in parts.items()
    ]


def _inverse(order: npt.NDArray[Any]) -> Ids:
    """For each old row its place in `order`, -1 if it is not in it."""
    inverse = np.full(int(order.max()) + 1 if len(order) else 0, -1, np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse


@dataclass
class Parts:
    """The columns that a Trace is assembled from, in any order; rows of `columns` are rows of
    `begin`.
    """

    processes: Sequence[Process]
    threads: Sequence[Thread]
    lanes: Sequence[Lane]
    strings: Sequence[str]
    begin: Ints
    end: Ints
    name: Ids
    category: Ids
    lane: Ids
    columns: Sequence[Column] = ()
    instants: Instants | None = None
    instant_columns: Sequence[Column] = ()
    counter_tracks: Sequence[CounterTrack] = ()
    counters: Counters | None = None
    flows: Ids | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)
    place: Callable[[int], str] | None = None
    """Where a row stands in the input, for findings."""

    @classmethod
    def of(cls, trace: Trace) -> Parts:
        """The parts of a Trace, to make another one of."""
        slices = trace.slices
        return cls(
            trace.processes,
            trace.threads,
            trace.lanes,
            trace.strings,
            slices.begin,
            slices.end,
            slices.name,
            slices.category,
            slices.lane,
            trace.arguments.columns,
            trace.instants,
            trace.instant_arguments.columns,
            trace.counter_tracks,
            trace.counters,
            trace.flows,
            trace.metadata,
            trace.findings,
        )


def _mend_lanes(parts: Parts, lanes_to_mend: Iterable[int]) -> Parts:
    """Parts whose named lanes nest, with the findings of what was mended and the lanes that this
    took.
    """
    begin, end = parts.begin.copy(), parts.end.copy()
    sub_lane = np.zeros(len(begin), np.int32)
    extra: dict[int, int] = {}
    findings = parts.findings.copy()

    def place(row: int) -> str:
        return parts.place(row) if parts.place else parts.strings[int(parts.name[row])]

    by_lane = np.argsort(parts.lane, kind="stable")
    starts = np.searchsorted(parts.lane[by_lane], np.arange(len(parts.lanes) + 1))
    for lane in lanes_to_mend:
        rows = by_lane[starts[lane] : starts[lane + 1]]
        mended = mend(begin[rows], end[rows])
        begin[rows], end[rows], sub_lane[rows] = mended.begin, mended.end, mended.lane
        extra[lane] = int(mended.lane.max())
        for done in mended.mends:
            row, text = int(rows[done.index]), done.done
            if done.other >= 0:
                other = int(rows[done.other])
                mine, its = (parts.strings[int(parts.name[k])] for k in (row, other))
                text = f"{mine!r} overlaps {its!r} of {place(other)}: {text}"
            findings.add(partial(place, row), done.rule, text)

    # A further lane stands right below the one that it came from.
    first = np.zeros(len(parts.lanes), np.int32)
    lanes: list[Lane] = []
    for number, old in enumerate(parts.lanes):
        first[number] = len(lanes)
        lanes.append(old)
        for k in range(extra.get(number, 0)):
            lanes.append(replace(old, name=f"{old.name} lane {k + 2}".strip()))
    instants = parts.instants
    if instants is not None:
        instants = replace(instants, lane=first[instants.lane])
    return replace(
        parts,
        lanes=lanes,
        begin=begin,
        end=end,
        lane=first[parts.lane] + sub_lane,
        instants=instants,
        findings=findings,
    )


def _canonical(parts: Parts) -> tuple[npt.NDArray[Any], Ids, list[int]]:
    """The rows in canonical order, their parents (as new rows), and the lanes whose slices don't
    nest.
    """
    order = np.lexsort((-parts.end, parts.begin, parts.lane))
    begin, end, lane = parts.begin[order], parts.end[order], parts.lane[order]
    parent = np.full(len(order), -1, np.int32)
    broken = []
    starts = np.flatnonzero(np.diff(lane, prepend=-1)) if len(lane) else np.empty(0, np.int64)
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(lane)]):
        parents = nest(begin[start:stop], end[start:stop])
        if parents is None:
            broken.append(int(lane[start]))
        else:
            parent[start:stop] = np.where(parents >= 0, parents + start, -1)
    return order, parent, broken


Named = TypeVar("Named", Process, Thread, Lane, CounterTrack)


def _storable(entries: Iterable[Named]) -> tuple[Named, ...]:
    """The same with names that every format can hold."""
    return tuple(
        entry if entry.name == (name := storable(entry.name)) else replace(entry, name=name)
        for entry in entries
    )


def assemble(parts: Parts) -> Trace:
    """The Trace of these parts: rows sorted, parents found, invariants made true (each mend is a
    finding).
    """
    order, parent, broken = _canonical(parts)
    if broken:
        parts = _mend_lanes(parts, broken)
        order, parent, broken = _canonical(parts)
        if broken:
            raise AssertionError(f"lanes {broken} don't nest after mending")
    new_row = _inverse(order)
    slices = Slices(
        parts.begin[order],
        parts.end[order],
        parts.name[order],
        parts.category[order],
        parts.lane[order],
        parent,
    )

    none = np.empty(0, np.int64)
    ids = none.astype(np.int32)
    instants = parts.instants or Instants(none, ids, ids, ids)
    instant_order = np.lexsort((instants.time, instants.lane))
    counters = parts.counters or Counters(ids, none, none.astype(np.float64))
    counter_order = np.lexsort((counters.time, counters.track))
    flows = parts.flows if parts.flows is not None else np.empty((0, 2), np.int32)
    flows = new_row[flows] if len(flows) else flows.astype(np.int32)
    return Trace(
        processes=_storable(parts.processes),
        threads=_storable(parts.threads),
        lanes=_storable(parts.lanes),
        strings=tuple(parts.strings),
        slices=slices,
        arguments=Arguments(_renumbered(parts.columns, new_row), parts.strings),
        instants=Instants(
            instants.time[instant_order],
            instants.name[instant_order],
            instants.category[instant_order],
            instants.lane[instant_order],
        ),
        instant_arguments=Arguments(
            _renumbered(parts.instant_columns, _inverse(instant_order)), parts.strings
        ),
        counter_tracks=_storable(
            replace(track, unit=storable(track.unit)) for track in parts.counter_tracks
        ),
        counters=Counters(
            counters.track[counter_order],
            counters.time[counter_order],
            counters.value[counter_order],
        ),
        flows=flows[np.lexsort((flows[:, 1], flows[:, 0]))],
        metadata=storable(dict(parts.metadata)),
        findings=parts.findings,
    )
