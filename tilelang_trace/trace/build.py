"""How a Trace comes about: `assemble` sorts, nests and checks columns; `TraceBuilder` collects them
row by row, or many rows at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.findings import Finding
from tilelang_trace.trace.json_values import Json, storable
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
from tilelang_trace.trace.nesting import mend, nest


class StringTable:
    """Texts and their ids, in the order in which they came."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.ids: dict[str, int] = {}
        """The id of each text, in order."""
        for text in strings:
            self.id(text)

    def id(self, text: str) -> int:
        """The id of this text."""
        known = self.ids.get(text)
        if known is None:
            known = self.ids.setdefault(storable(text), len(self.ids))
        return known

    def __len__(self) -> int:
        return len(self.ids)

    def texts(self) -> tuple[str, ...]:
        """All texts, by id."""
        return tuple(self.ids)


_DTYPE: dict[ColumnType, Any] = {
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
    "string": np.int32,
    "json": object,
}
_TYPECODE: dict[ColumnType, str] = {"bool": "b", "int": "q", "float": "d", "string": "i"}
"""What collects the values of such a column (JSON values: a list)."""

_INT64 = range(-(2**63), 2**63)


def extend(column: array[Any], values: npt.ArrayLike) -> None:
    """Add many numbers to an array of Python's, which grows where NumPy's don't."""
    column.frombytes(np.ascontiguousarray(values, column.typecode).data.cast("B"))


class _Growing:
    """A column that is being collected. Arrays take a fifth of the memory of lists of numbers, and
    become NumPy's by one copy.
    """

    __slots__ = ("rows", "values")

    def __init__(self, kind: ColumnType) -> None:
        self.rows = array("i")
        self.values: array[Any] | list[Json] = [] if kind == "json" else array(_TYPECODE[kind])


class ArgumentCollector:
    """Arguments of one table, row by row, sorted into typed columns."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._columns: dict[tuple[str, ColumnType], _Growing] = {}
        self._usual: dict[str, tuple[Any, Callable[[Any], None], Callable[[int], None]]] = {}
        """Per name the Python type of its first plain value, and what takes the next one and its
        row.
        """

    def add(self, row: int, arguments: Mapping[str, Json]) -> None:
        """Put arguments on a row; a name must not come twice for one row."""
        usual, text_ids = self._usual, self._strings.ids
        for name, value in arguments.items():
            try:
                type_, take_value, take_row = usual[name]
                if value.__class__ is not type_:
                    self._add_any(row, storable(name), value)
                    continue
                take_value(text_ids[value] if type_ is str else value)
            except (KeyError, OverflowError):  # a new name or text; an integer wider than 64 bits
                self._add_any(row, storable(name), value)
            else:
                take_row(row)

    def _add_any(self, row: int, name: str, value: Json) -> None:
        kind: ColumnType = "json"
        if isinstance(value, str):
            kind, value = "string", self._strings.id(value)
        elif isinstance(value, bool):
            kind = "bool"
        elif isinstance(value, int):
            if value in _INT64:
                kind = "int"
        elif isinstance(value, float):
            kind = "float"
        if kind == "json":
            value = storable(value)
            kind = "string" if isinstance(value, str) else kind
            value = self._strings.id(value) if kind == "string" else value
        column = self._column(name, kind)
        column.values.append(value)
        column.rows.append(row)

    def add_column(self, column: Column) -> None:
        """Put one argument on many rows, in any order; text as ids of the string table."""
        known = self._column(column.name, column.type)
        if isinstance(known.values, list):
            known.values.extend(storable(value) for value in column.values)
        else:
            extend(known.values, column.values)
        extend(known.rows, column.rows)

    def _column(self, name: str, kind: ColumnType) -> _Growing:
        column = self._columns.get((name, kind))
        if column is None:
            column = self._columns[name, kind] = _Growing(kind)
            if kind != "json":
                type_ = {"bool": bool, "int": int, "float": float, "string": str}[kind]
                self._usual.setdefault(name, (type_, column.values.append, column.rows.append))
        return column

    def columns(self) -> list[Column]:
        """The columns, each with ascending rows."""
        columns = []
        for (name, kind), column in self._columns.items():
            if isinstance(column.values, list):
                values = np.fromiter(column.values, object, len(column.values))
            else:
                values = np.array(column.values, _DTYPE[kind])
            columns.append(
                _sorted_column(Column(name, kind, np.array(column.rows, np.int32), values))
            )
        return columns


def _sorted_column(column: Column) -> Column:
    if np.all(column.rows[1:] > column.rows[:-1]):
        return column
    order = np.argsort(column.rows, kind="stable")
    return replace(column, rows=column.rows[order], values=column.values[order])


def _renumbered(columns: Iterable[Column], new_row: Ids) -> list[Column]:
    """Columns whose rows got new numbers, one for each name and type."""
    parts: dict[tuple[str, ColumnType], list[Column]] = {}
    for column in columns:
        moved = replace(column, rows=new_row[column.rows])
        parts.setdefault((column.name, column.type), []).append(moved)
    return [
        _sorted_column(
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
    findings: Sequence[Finding] = ()
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
    findings = list(parts.findings)
    for lane in lanes_to_mend:
        rows = np.flatnonzero(parts.lane == lane)
        mended = mend(begin[rows], end[rows])
        begin[rows], end[rows], sub_lane[rows] = mended.begin, mended.end, mended.lane
        extra[lane] = int(mended.lane.max())
        for index, rule, done in mended.mends:
            row = int(rows[index])
            place = parts.place(row) if parts.place else parts.strings[int(parts.name[row])]
            findings.append(Finding(place, rule, done))

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


def _storable(entries: Sequence[Named]) -> tuple[Named, ...]:
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
        counter_tracks=_storable(parts.counter_tracks),
        counters=Counters(
            counters.track[counter_order],
            counters.time[counter_order],
            counters.value[counter_order],
        ),
        flows=flows[np.lexsort((flows[:, 1], flows[:, 0]))],
        metadata=storable(dict(parts.metadata)),
        findings=tuple(parts.findings),
    )


class TraceBuilder:
    """Collects a Trace, row by row or many rows at once; what readers, the pass-event log and tests
    use.

    Slices may come in any order; of slices with equal times on one lane the first that came is the
    parent.
    """

    def __init__(self) -> None:
        self.strings = StringTable()
        self.processes: list[Process] = []
        self.threads: list[Thread] = []
        self.lanes: list[Lane] = []
        self.counter_tracks: list[CounterTrack] = []
        self.metadata: dict[str, Json] = {}
        self.findings: list[Finding] = []
        self.place: Callable[[int], str] | None = None
        self.begins = array("q")
        self.ends = array("q")
        self.names = array("i")
        self.categories = array("i")
        self.slice_lanes = array("i")
        self.arguments = ArgumentCollector(self.strings)
        self.flows: list[tuple[int, int]] = []
        self._instants = array("q"), array("i"), array("i"), array("i")
        """Time, name, category and lane of each."""
        self.instant_arguments = ArgumentCollector(self.strings)
        self._counters = array("i"), array("q"), array("d")
        """Track, time and value of each."""

    def process(self, name: str, pid: int | None = None) -> int:
        """Add a process; returns its id."""
        self.processes.append(Process(name, pid))
        return len(self.processes) - 1

    def thread(self, process: int, name: str, tid: int | None = None) -> int:
        """Add a thread of a process; returns its id. It has no lane yet."""
        self.threads.append(Thread(process, name, tid))
        return len(self.threads) - 1

    def lane(self, lane: Lane) -> int:
        """Add a lane; returns its id."""
        self.lanes.append(lane)
        return len(self.lanes) - 1

    def slice(
        self,
        lane: int,
        begin: int,
        end: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json] | None = None,
    ) -> int:
        """Add a slice (times in ns); returns its row here. `ends[row]` may be set later."""
        row = len(self.begins)
        self.begins.append(begin)
        self.ends.append(end)
        self.names.append(self.strings.id(name))
        self.categories.append(self.strings.id(category))
        self.slice_lanes.append(lane)
        if arguments:
            self.arguments.add(row, arguments)
        return row

    def slices(
        self,
        lanes: npt.ArrayLike,
        begins: npt.ArrayLike,
        ends: npt.ArrayLike,
        names: npt.ArrayLike,
        categories: npt.ArrayLike,
    ) -> int:
        """Add many slices, as columns (times in ns, texts as ids of `strings`); returns the row of
        the first.
        """
        row = len(self.begins)
        extend(self.begins, begins)
        extend(self.ends, ends)
        extend(self.names, names)
        extend(self.categories, categories)
        extend(self.slice_lanes, lanes)
        return row

    def instant(
        self,
        lane: int,
        time: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json] | None = None,
    ) -> None:
        """Add an event without a duration (time in ns)."""
        times, names, categories, lanes = self._instants
        if arguments:
            self.instant_arguments.add(len(times), arguments)
        times.append(time)
        names.append(self.strings.id(name))
        categories.append(self.strings.id(category))
        lanes.append(lane)

    def instants(
        self,
        lanes: npt.ArrayLike,
        times: npt.ArrayLike,
        names: npt.ArrayLike,
        categories: npt.ArrayLike,
    ) -> int:
        """Add many events without a duration, as `slices`; returns the row of the first."""
        row = len(self._instants[0])
        known_times, known_names, known_categories, known_lanes = self._instants
        extend(known_times, times)
        extend(known_names, names)
        extend(known_categories, categories)
        extend(known_lanes, lanes)
        return row

    def counter(self, track: int, time: int, value: float) -> None:
        """Add a counter value (time in ns)."""
        tracks, times, values = self._counters
        tracks.append(track)
        times.append(time)
        values.append(value)

    def counters(self, track: int, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Add many values of one counter (times in ns)."""
        known_tracks, known_times, known_values = self._counters
        extend(known_tracks, np.full(np.shape(times), track))
        extend(known_times, times)
        extend(known_values, values)

    def finding(self, place: str, rule: str, done: str) -> None:
        """Tell of something in the input that was not as it should be."""
        self.findings.append(Finding(place, rule, done))

    def build(self) -> Trace:
        """The Trace of all that was added."""
        times, *ids = self._instants
        counters = self._counters
        return assemble(
            Parts(
                self.processes,
                self.threads,
                self.lanes,
                self.strings.texts(),
                np.array(self.begins, np.int64),
                np.array(self.ends, np.int64),
                np.array(self.names, np.int32),
                np.array(self.categories, np.int32),
                np.array(self.slice_lanes, np.int32),
                self.arguments.columns(),
                Instants(np.array(times, np.int64), *(np.array(c, np.int32) for c in ids)),
                self.instant_arguments.columns(),
                self.counter_tracks,
                Counters(
                    np.array(counters[0], np.int32),
                    np.array(counters[1], np.int64),
                    np.array(counters[2], np.float64),
                ),
                np.array(self.flows, np.int32).reshape(-1, 2),
                self.metadata,
                self.findings,
                self.place,
            )
        )
