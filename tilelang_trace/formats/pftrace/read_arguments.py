"""The arguments of the slices that were read from a file, before they are put into a builder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tilelang_trace.trace.collect import ArgumentCollector, StringTable
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Arguments, Column, Ids, Mask


class ReadArguments:
    """Arguments by the rows of a builder: as columns, and as dictionaries where somebody has asked
    for those of a row, who may change them.
    """

    def __init__(self, columns: Iterable[Column], strings: StringTable) -> None:
        self._columns = list(columns)
        self._strings = strings
        self._texts = strings.texts()
        self._taken: dict[int, dict[str, Json]] = {}

    def __getitem__(self, row: int) -> dict[str, Json]:
        """The arguments of a row; what is changed in them counts."""
        if row not in self._taken:
            self._taken[row] = Arguments(self._columns, self._texts).of(row)
        return self._taken[row]

    def rows_with(self, name: str) -> list[int]:
        """The rows that have this argument, ascending."""
        rows = {row for column in self._columns if column.name == name for row in column.rows}
        for row, arguments in self._taken.items():
            (rows.add if name in arguments else rows.discard)(row)
        return sorted(map(int, rows))

    def set_default(self, name: str, text: str, rows: range) -> None:
        """Give this argument to those of the rows that don't have it."""
        lacks = np.ones(len(rows), np.bool_)
        for column in self._columns:
            if column.name == name:
                lacks[column.rows - rows.start] = False
        for row, arguments in self._taken.items():
            lacks[row - rows.start] = False
            arguments.setdefault(name, text)
        lacking = (np.flatnonzero(lacks) + rows.start).astype(np.int32)
        ids = np.full(len(lacking), self._strings.id(text), np.int32)
        self._columns.append(Column(name, "string", lacking, ids))
        self._texts = self._strings.texts()

    def add_to(self, collector: ArgumentCollector) -> None:
        """Put them into a builder's."""
        taken = np.array(sorted(self._taken), np.int32)
        for column in self._columns:
            if len(taken):
                column = _where(column, ~np.isin(column.rows, taken))
            collector.add_column(column)
        for row, arguments in self._taken.items():
            collector.add(row, arguments)


def arguments_of(
    columns: Iterable[Column], row_of_event: Ids, strings: StringTable, ends: Mask | None = None
) -> ReadArguments:
    """The arguments of rows from the columns of their events: which row each event belongs to (-1:
    none), and whether it ends that; the arguments of an end join those of the begin.
    """
    begun: list[Column] = []
    ended: list[Column] = []
    for column in columns:
        rows = row_of_event[column.rows]
        moved = replace(column, rows=rows)
        of_end = np.zeros(len(rows), np.bool_) if ends is None else ends[column.rows]
        for of_kind, found in ((~of_end, begun), (of_end, ended)):
            wanted = (rows >= 0) & of_kind
            if wanted.any():
                found.append(_sorted(_where(moved, wanted)))
    arguments = ReadArguments([*begun, *ended], strings)
    # Hardly any file has one, and np.unique imports numpy.ma.
    if twice := {row for rows in _twice(begun, ended) for row in rows.tolist()}:
        of_begins, of_ends = ReadArguments(begun, strings), ReadArguments(ended, strings)
        for row in sorted(twice):
            # What is taken counts more than what stands in the columns.
            known = arguments[row]
            known.update(of_begins[row])
            _join(known, of_ends[row])
    return arguments


def _twice(begun: list[Column], ended: list[Column]) -> Iterable[Ids]:
    """The rows whose begin and end both have an argument of one name."""
    ended_rows: dict[str, list[Ids]] = {}
    for column in ended:
        if len(column.rows):
            ended_rows.setdefault(column.name, []).append(column.rows)
    for column in begun:
        for rows in ended_rows.get(column.name, ()):
            yield np.intersect1d(column.rows, rows)


def _join(known: dict[str, Json], more: dict[str, Json]) -> None:
    """Add the arguments of a slice's end to those of its begin. Objects become one, as in Perfetto,
    to which their members are arguments by themselves.
    """
    for name, value in more.items():
        before = known.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            value = {**before, **value}
        known[name] = value


def _where(column: Column, wanted: Mask) -> Column:
    if wanted.all():
        return column
    return replace(column, rows=column.rows[wanted], values=column.values[wanted])


def _sorted(column: Column) -> Column:
    if np.all(column.rows[1:] > column.rows[:-1]):
        return column
    order = np.argsort(column.rows, kind="stable")
    return replace(column, rows=column.rows[order], values=column.values[order])
