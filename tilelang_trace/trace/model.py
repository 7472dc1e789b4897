"""What a Trace is: processes, threads, lanes, and columns of slices with their arguments.

A Trace never changes. It is made by `assemble.assemble` (or `build.TraceBuilder`, for readers),
where its invariants are made true:

- times are integer nanoseconds of one monotonic clock; a slice lasts at least 1 ns;
- the slices of a lane nest or are disjoint, and a child lies within its parent;
- rows are sorted by lane, then begin, then the longer first: a parent stands before its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.arguments import KINDS, RANK, kind_of
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.json_values import Json

Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Process:
    """A process. Its id is its place in `Trace.processes`; the real pid is an attribute."""

    name: str
    pid: int | None = None


@dataclass(frozen=True)
class Thread:
    """A thread of the process with id `process`; its own id is its place in `Trace.threads`."""

    process: int
    name: str
    tid: int | None = None


@dataclass(frozen=True)
class Lane:
    """A row of slices that nest or are disjoint.

    A thread has one lane, and more where its slices overlap. A lane without a thread is a row of
    its own, below a process or, without one, at the top.
    """

    thread: int | None = None
    process: int | None = None
    name: str = ""


@dataclass(frozen=True)
class CounterTrack:
    """A value over time, of a thread, of a process, or of the whole trace."""

    name: str
    unit: str = ""
    thread: int | None = None
    process: int | None = None


@dataclass(frozen=True, eq=False)
class Slices:
    """The columns of the slices, one entry a slice. `name` and `category` are string ids."""

    begin: Ints
    end: Ints
    name: Ids
    category: Ids
    lane: Ids
    parent: Ids
    """Row of the enclosing slice on the same lane, -1 at the top."""

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def duration(self) -> Ints:
        """Inclusive times in ns."""
        return self.end - self.begin


@dataclass(frozen=True, eq=False)
class Instants:
    """The columns of events without a duration."""

    time: Ints
    name: Ids
    category: Ids
    lane: Ids

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, eq=False)
class Counters:
    """The columns of counter values; `track` is an index into `Trace.counter_tracks`."""

    track: Ids
    time: Ints
    value: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.time)


_FEW_COLUMNS = 64

ColumnType: TypeAlias = Literal["bool", "int", "float", "string", "json"]


@dataclass(frozen=True, eq=False)
class Column:
    """The values that one argument has on the rows that bear it, all of one type."""

    name: str
    type: ColumnType
    rows: Ids
    """Rows of the table that have this argument, ascending."""
    values: npt.NDArray[Any]
    """One value a row: a number, a string id (type `string`) or a JSON value (dtype object)."""

    def places(self, start: int, stop: int) -> slice:
        """Where in the column its rows from start to stop are."""
        # With bounds of another type NumPy would convert the whole column first.
        bounds = np.array((start, stop), self.rows.dtype)
        first, last = np.searchsorted(self.rows, bounds).tolist()
        return slice(first, last)


class Arguments:
    """Typed columns of arguments of one table; a name may have columns of several types, a row only
    one of them.

    Sparse: a column lists the rows that bear it, so that rare arguments cost nothing on other rows.
    """

    def __init__(self, columns: Sequence[Column], strings: Sequence[str]) -> None:
        self._strings = strings
        self.columns = tuple(
            sorted(
                (c for c in columns if len(c.rows)),
                key=lambda c: (RANK.get(c.name, len(RANK)), c.name, c.type),
            )
        )

    def _decoded(self, column: Column, values: npt.NDArray[Any]) -> list[Json]:
        if column.type == "string":
            strings = self._strings
            return [strings[i] for i in values.tolist()]
        decoded: list[Json] = values.tolist()
        return decoded

    def on(self, starts: npt.NDArray[Any], stops: npt.NDArray[Any]) -> Sequence[Column]:
        """The columns that some rows bear, those from starts to stops, in order; where there are
        few columns, all of them. A file may have a million, each on one row.
        """
        if len(self.columns) <= _FEW_COLUMNS:
            return self.columns
        rows, columns = self._by_row
        first, last = np.searchsorted(rows, starts), np.searchsorted(rows, stops)
        counts = last - first
        places = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        return [self.columns[number] for number in np.unique(columns[places]).tolist()]

    @cached_property
    def _by_row(self) -> tuple[Ids, Ints]:
        """For each value its row, ascending, and the number of its column."""
        rows = np.concatenate([column.rows for column in self.columns])
        numbers = np.repeat(np.arange(len(self.columns)), [len(c.rows) for c in self.columns])
        order = np.argsort(rows, kind="stable")
        return rows[order], numbers[order]

    def named(self, name: str) -> Iterator[Column]:
        """The columns of an argument, one for each type that it has."""
        return (column for column in self.columns if column.name == name)

    def values(self, name: str) -> dict[int, Json]:
        """The argument's value on each row that bears it."""
        found: dict[int, Json] = {}
        for column in self.named(name):
            found.update(zip(column.rows.tolist(), self._decoded(column, column.values)))
        return found

    def strings(self, name: str, count: int) -> Ids:
        """The string ids of an argument on `count` rows, -1 where it is absent or no string."""
        ids = np.full(count, -1, np.int32)
        for column in self.named(name):
            if column.type == "string":
                ids[column.rows] = column.values
        return ids

    def content(self) -> list[tuple[Json, ...]]:
        """All columns as plain values; 1, 1.0 and True differ by the type of their column."""
        return [
            (c.name, c.type, c.rows.tolist(), _comparable(self._decoded(c, c.values)))
            for c in self.columns
        ]

    def between(self, start: int, stop: int) -> list[dict[str, Json]]:
        """The arguments of rows start to stop, one dictionary a row, in the contract's order."""
        found: list[dict[str, Json]] = [{} for _ in range(start, stop)]
        for column in self.on(np.array([start]), np.array([stop])):
            places = column.places(start, stop)
            values = self._decoded(column, column.values[places])
            for row, value in zip(column.rows[places].tolist(), values):
                found[row - start][column.name] = value
        return found

    def of_rows(self, rows: Ids) -> list[dict[str, Json]]:
        """The arguments of some rows, a dictionary each."""
        found: list[dict[str, Json]] = [{} for _ in range(len(rows))]
        for column in self.on(rows, rows + 1):
            at = np.searchsorted(column.rows, rows)
            at[at == len(column.rows)] = 0
            bears = np.flatnonzero(column.rows[at] == rows)
            values = self._decoded(column, column.values[at[bears]])
            for place, value in zip(bears.tolist(), values):
                found[place][column.name] = value
        return found

    def of(self, row: int) -> dict[str, Json]:
        """The arguments of one row."""
        return self.between(row, row + 1)[0]


@dataclass(frozen=True, eq=False)
class Trace:
    """One compile, or several: who ran (processes, threads, lanes) and what ran when (slices).

    Two Traces are equal when they say the same; findings, which tell of the file they were read
    from, don't count.
    """

    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    lanes: tuple[Lane, ...]
    strings: Sequence[str]
    """The string table; `name`, `category` and string arguments are indices into it."""
    slices: Slices
    arguments: Arguments
    instants: Instants
    instant_arguments: Arguments
    counter_tracks: tuple[CounterTrack, ...]
    counters: Counters
    flows: Ids
    """Shape (n, 2): rows of the slices that an arrow joins, from and to."""
    metadata: Mapping[str, Json]
    findings: Findings = field(default_factory=Findings)

    def name(self, row: int) -> str:
        """The name of a slice."""
        return self.strings[int(self.slices.name[row])]

    def category(self, row: int) -> str:
        """The categories of a slice, joined by commas, without the derived `error`."""
        return self.strings[int(self.slices.category[row])]

    def kinds(self) -> Ids:
        """The kind of each slice as an index into `KINDS`, -1 for slices of other tools."""
        codes = np.array(
            [KINDS.index(k) if (k := kind_of(s)) is not None else -1 for s in self.strings],
            np.int32,
        )
        return codes[self.slices.category] if len(codes) else np.empty(0, np.int32)

    def is_kind(self, kind: str) -> Mask:
        """Which slices are of this kind."""
        mask: Mask = self.kinds() == KINDS.index(kind)
        return mask

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and _content(self) == _content(other)

    def __hash__(self) -> int:
        return hash((len(self.slices), self.processes, self.threads))


def _content(trace: Trace) -> tuple[Json, ...]:
    """All that a Trace says, as plain values that don't depend on the order of its string table."""
    slices, instants, counters = trace.slices, trace.instants, trace.counters
    text = trace.strings.__getitem__
    return (
        trace.processes,
        trace.threads,
        trace.lanes,
        [c.tolist() for c in (slices.begin, slices.end, slices.lane, slices.parent)],
        [text(i) for i in slices.name.tolist()],
        [text(i) for i in slices.category.tolist()],
        trace.arguments.content(),
        [c.tolist() for c in (instants.time, instants.lane)],
        [text(i) for i in instants.name.tolist()],
        [text(i) for i in instants.category.tolist()],
        trace.instant_arguments.content(),
        trace.counter_tracks,
        [c.tolist() for c in (counters.track, counters.time)],
        _comparable(counters.value.tolist()),
        trace.flows.tolist(),
        dict(trace.metadata),
    )


def _comparable(values: Sequence[Json]) -> list[Json]:
    """The values, with a text for NaN, which is not equal to itself."""
    return ["NaN" if value != value else value for value in values]
