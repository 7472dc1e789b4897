"""The slices of a Chrome JSON trace as text, straight from the columns of the Trace.

There is no dictionary for an event: for some thousand slices at a time each part of the lines (the
times, the name, the arguments) is one list of texts, and one join makes the lines of them. A text
that many slices share is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import orjson

from tilelang_trace import long_work
from tilelang_trace.formats.chrome_json.text import text_of
from tilelang_trace.trace import failures
from tilelang_trace.trace.arguments import ERROR_STATUSES, FAILED, OK
from tilelang_trace.trace.model import Column, Ids, Ints, Trace

_CHUNK = 4096
_DECIMALS = [b".%03d" % number for number in range(1000)]


def slice_lines(
    trace: Trace, origin: int, pids: Sequence[int], tids: Sequence[int]
) -> Iterator[bytes]:
    """The lines of the slices, in pieces of many lines with a comma between two.

    Times are written less `origin` (ns); `pids` and `tids` are what the file calls each lane.
    """
    slices, strings = trace.slices, trace.strings
    lanes = [b',"pid":%d,"tid":%d,"name":' % ids for ids in zip(pids, tids)]
    # A category in the file is one of the strings, or one of them flagged as an error.
    is_error = failures.with_status(trace, ERROR_STATUSES)
    category = slices.category + np.int32(len(strings)) * is_error

    def category_text(number: int) -> str:
        is_error, number = divmod(number, len(strings))
        return failures.written_category(strings[number], FAILED if is_error else OK)

    for start in range(0, len(slices), _CHUNK):
        rows = slice(start, min(start + _CHUNK, len(slices)))
        columns = [
            replace(column, rows=column.rows[places] - start, values=column.values[places])
            for column in trace.arguments.on(np.array([rows.start]), np.array([rows.stop]))
            if (places := column.places(rows.start, rows.stop)).stop > places.start
        ]
        parts: list[Iterable[bytes]] = [
            repeat(b'{"ph":"X","ts":'),
            *_microseconds(slices.begin[rows] - origin),
            repeat(b',"dur":'),
            *_microseconds(slices.end[rows] - slices.begin[rows]),
            [lanes[lane] for lane in slices.lane[rows].tolist()],
            _shared(slices.name[rows], strings.__getitem__),
            repeat(b',"cat":'),
            _shared(category[rows], category_text),
            repeat(b',"args":{'),
            *_arguments(columns, strings, rows.stop - start),
            repeat(b"}},\n"),
        ]
        yield b"".join(chain.from_iterable(zip(*parts)))[:-2]
        long_work.reached(start + _CHUNK)


def _numbers(values: list[int] | list[float] | list[bool]) -> list[bytes]:
    """Each number as JSON."""
    return orjson.dumps(values)[1:-1].split(b",")


def _microseconds(times: Ints) -> tuple[list[bytes], list[bytes]]:
    """Times (ns) as microseconds: what stands before the point, and the point with all decimals."""
    whole, rest = np.divmod(times, 1000)
    return _numbers(whole.tolist()), [_DECIMALS[number] for number in rest.tolist()]


def _shared(ids: Ids, text: Callable[[int], str], before: bytes = b"") -> list[bytes]:
    """The text of each id as JSON, with something in front of it."""
    numbers = ids.tolist()
    known = {number: before + text_of(text(number)) for number in set(numbers)}
    return [known[number] for number in numbers]


def _arguments(columns: list[Column], strings: Sequence[str], count: int) -> list[list[bytes]]:
    """The arguments of `count` slices, in lists that have a text for each slice.

    An argument that most slices bear has a list of its own; rare ones share one.
    """
    parts: list[list[bytes]] = []
    has_one = np.zeros(count, np.bool_)
    rare: list[bytes] | None = None
    for column in columns:
        bears = np.zeros(count, np.bool_)
        bears[column.rows] = True
        if 2 * len(column.rows) > count:
            values = np.zeros(count, column.values.dtype)
            values[bears] = column.values
            part = _values(replace(column, values=values), strings)
            for row in np.flatnonzero(~bears).tolist():
                part[row] = b""
            parts.append(part)
            rare = None
        else:
            if rare is None:
                rare = [b""] * count
                parts.append(rare)
            part = rare
            for row, text in zip(column.rows.tolist(), _values(column, strings)):
                part[row] += text
        for row in np.flatnonzero(bears & ~has_one).tolist():
            part[row] = part[row][1:]  # no comma in front of a slice's first argument
        has_one |= bears
    return parts


def _values(column: Column, strings: Sequence[str]) -> list[bytes]:
    """Each value as JSON, with a comma and the argument's name in front of it."""
    before = b"," + text_of(column.name) + b":"
    if column.type == "string":
        return _shared(column.values, strings.__getitem__, before)
    values = column.values.tolist()
    if column.type == "json":
        return [before + text_of(value) for value in values]
    return [before + text for text in _numbers(values)]
