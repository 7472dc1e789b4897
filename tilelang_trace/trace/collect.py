"""What a Trace is collected in: a table of texts, and typed columns of arguments."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.limits import UNLIMITED, Limits, exceeded
from tilelang_trace.trace.json_values import Json, is_utf8, storable, storable_keys
from tilelang_trace.trace.model import (
    Column,
    ColumnType,
)


class StringTable:
    """Texts and their ids, in the order in which they came."""

    def __init__(self, strings: Iterable[str] = (), limits: Limits = UNLIMITED) -> None:
        self.ids: dict[str, int] = {}
        """The id of each text, in order."""
        self.limits = limits
        for text in strings:
            self.id(text)

    def id(self, text: str) -> int:
        """The id of this text."""
        known = self.ids.get(text)
        if known is None:
            if len(text) > self.limits.text:
                raise exceeded(f"a text of {len(text):,} characters", "text")
            if len(self.ids) >= self.limits.strings:
                raise exceeded("too many different texts", "strings")
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
        has_odd_names = False
        for name, value in arguments.items():
            try:
                type_, take_value, take_row = usual[name]
                if value.__class__ is not type_:
                    self._add_any(row, name, value)
                    continue
                take_value(text_ids[value] if type_ is str else value)
            except (KeyError, OverflowError):  # a new name or text; an integer wider than 64 bits
                if is_utf8(name):
                    self._add_any(row, name, value)
                else:
                    has_odd_names = True
            else:
                take_row(row)
        if has_odd_names:
            for name, odd in storable_keys(arguments).items():
                if name != odd:
                    self._add_any(row, name, arguments[odd])

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
            value = storable(value, self._strings.limits.nesting)
            kind = "string" if isinstance(value, str) else kind
            value = self._strings.id(value) if kind == "string" else value
        column = self._column(name, kind)
        column.values.append(value)
        column.rows.append(row)

    def add_column(self, column: Column) -> None:
        """Put one argument on many rows, in any order; text as ids of the string table."""
        known = self._column(column.name, column.type)
        if isinstance(known.values, list):
            deepest = self._strings.limits.nesting
            known.values.extend(storable(value, deepest) for value in column.values)
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
                sorted_column(Column(name, kind, np.array(column.rows, np.int32), values))
            )
        return columns


def sorted_column(column: Column) -> Column:
    """The column with ascending rows."""
    if np.all(column.rows[1:] > column.rows[:-1]):
        return column
    order = np.argsort(column.rows, kind="stable")
    return replace(column, rows=column.rows[order], values=column.values[order])
