"""The packets of a Trace's slices, for `.pftrace` files: many at once.

`PacketSequence` makes the pieces (names, categories, arguments), each once for all slices of some
ten thousand that have it; here they are laid side by side with the times and lengths. The bytes are
those that `begin` and `end` of the same sequence would give slice by slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from tilelang_trace import long_work
from tilelang_trace.formats.flows import Flows
from tilelang_trace.formats.pftrace import byte_columns
from tilelang_trace.formats.pftrace.byte_columns import Column, Ints, Pieces, Varints
from tilelang_trace.formats.pftrace.numbers import KEY
from tilelang_trace.formats.pftrace.packets import (
    COLOURS,
    DIFFERENCE_COLOURS,
    END,
    PacketSequence,
    flow_fields,
)
from tilelang_trace.formats.pftrace.wire import field_bytes, varint
from tilelang_trace.trace import failures
from tilelang_trace.trace.arguments import ERROR_STATUSES
from tilelang_trace.trace.model import Column as ArgumentColumn
from tilelang_trace.trace.model import Trace

_FIRST_ROWS, _MOST_ROWS = 1 << 10, 1 << 15
_CHUNK_BYTES = 4 << 20
"""What a piece of the file aims at, so that long arguments don't make it huge."""

_STATUSES = ("", *ERROR_STATUSES)
"""The statuses that change how a slice looks, by their number here; the first stands for all
others.
"""


class SlicePackets:
    """Makes the packets of a Trace's slices, lane by lane, with times less `origin` (ns)."""

    def __init__(self, trace: Trace, origin: int, flows: Flows) -> None:
        self._trace = trace
        self._origin = origin
        self._flows = flows
        self._with_flows = np.array(sorted({*flows.starting, *flows.ending}), np.int64)
        numbers = {status: number for number, status in enumerate(_STATUSES)}
        of_text = np.array([*(numbers.get(text, 0) for text in trace.strings), 0], np.int8)
        self._status = of_text[trace.arguments.strings("status", len(trace.slices))]

    def of_lane(self, lane: range, sequence: PacketSequence) -> Iterator[bytes]:
        """The packets of these rows, which are all of one lane, as pieces of a file.

        They are in the order of their times, of equal ones the ends first.
        """
        slices = self._trace.slices
        # An end says nothing but when, and inner slices end no later than what is around them: so
        # the ends are in order when their times are, whichever slice each of them belongs to.
        # The stable sort takes a tenth of the default one's time on what is nearly in order.
        ends = np.sort(slices.end[lane.start : lane.stop], kind="stable") - self._origin
        start, ended, count = lane.start, 0, _FIRST_ROWS
        while start < lane.stop:
            stop = min(start + count, lane.stop)
            begins = slices.begin[start:stop] - self._origin
            ends_before = np.searchsorted(ends, begins, side="right")
            until = int(ends_before[-1]) if stop < lane.stop else len(ends)
            piece = _merged(
                self._begins(start, begins, sequence),
                _ends(ends[ended:until], sequence),
                ends_before - ended,
            )
            yield piece
            long_work.reached(stop)
            count = max(1, min(_MOST_ROWS, (stop - start) * _CHUNK_BYTES // len(piece)))
            start, ended = stop, until

    def _begins(self, start: int, begins: Ints, sequence: PacketSequence) -> list[Column]:
        """The packets of the begins of the slices from `start` on, as columns."""
        count = len(begins)
        every = np.arange(count)
        event, interned = self._event(start, every, sequence)
        size_of_event = byte_columns.total_sizes(count, event)
        body: list[Column] = [
            Varints(every, begins, lambda _: sequence.before_time, b"\x5a"),
            Varints(every, size_of_event, lambda _: b""),
            *event,
        ]
        if interned:
            rows = np.array(list(interned))
            fields = [field_bytes(12, content) for content in interned.values()]
            body.append(Pieces(rows, np.arange(len(rows)), fields.__getitem__).made())
        sizes = byte_columns.total_sizes(count, body)
        return [Varints(every, sizes, lambda _: bytes((KEY,))), *body]

    def _event(
        self, start: int, every: Ints, sequence: PacketSequence
    ) -> tuple[list[Column], dict[int, bytes]]:
        """The events of these begins, and by row the interned data that come with it."""
        columns: list[Column] = []
        # Names get their numbers in the order in which the file comes to them, row by row.
        uses: list[tuple[int, int, Callable[[], object]]] = []
        for column, name in self._parts(start, every, sequence):
            if isinstance(column, Pieces):
                uses += [
                    (row, len(columns), partial(column.make, number))
                    for number, row in enumerate(column.first_rows)
                ]
            else:
                uses.append((int(column.rows[0]), len(columns), partial(sequence.integer, name, 1)))
            columns.append(column)
        uses.sort(key=itemgetter(0, 1))
        interned: dict[int, bytes] = {}
        for row, _, make in uses:
            make()
            if new := sequence.take_new():
                interned[row] = interned.get(row, b"") + new
        return columns, interned

    def _parts(
        self, start: int, every: Ints, sequence: PacketSequence
    ) -> Iterator[tuple[Varints | Pieces, str]]:
        """The columns of an event, with the names of arguments."""
        trace, stop = self._trace, start + len(every)
        looks = trace.slices.category[start:stop] * len(_STATUSES) + self._status[start:stop]
        yield Pieces(every, looks, partial(self._labels, sequence)), ""
        names = trace.slices.name[start:stop]
        yield Pieces(every, names, lambda id_: sequence.event_name(trace.strings[id_])), ""
        for column in trace.arguments.on(np.array([start]), np.array([stop])):
            first, last = np.searchsorted(
                column.rows, np.array((start, stop), column.rows.dtype)
            ).tolist()
            if first < last:
                yield _argument(column, first, last, start, trace.strings, sequence), column.name
        first, last = np.searchsorted(self._with_flows, (start, stop)).tolist()
        if first < last:
            rows = self._with_flows[first:last]
            yield Pieces(rows - start, rows, self._flow_fields), ""

    def _labels(self, sequence: PacketSequence, look: int) -> bytes:
        category, status = divmod(look, len(_STATUSES))
        text = self._trace.strings[category]
        written = failures.written_category(text, _STATUSES[status])
        flagged = written != text
        colour = COLOURS[_STATUSES[status]] if flagged else DIFFERENCE_COLOURS.get(written, "")
        return sequence.begin_of(written, colour)

    def _flow_fields(self, row: int) -> bytes:
        return flow_fields(self._flows.starting.get(row, ()), self._flows.ending.get(row, ()))


def _argument(
    column: ArgumentColumn,
    first: int,
    last: int,
    start: int,
    strings: Sequence[str],
    sequence: PacketSequence,
) -> Varints | Pieces:
    """Some rows of an argument; `start` is the row that is row 0 here."""
    name, rows, values = column.name, column.rows[first:last] - np.int64(start), column.values
    values = values[first:last]
    if column.type == "int":
        return Varints(rows, values, partial(sequence.integer, name))
    if column.type == "string":
        return Pieces(rows, values, lambda id_: sequence.argument(name, strings[id_]))
    if column.type == "bool":
        return Pieces(rows, values, lambda value: sequence.argument(name, bool(value)))
    # Not looked for a second time: 0.0 is equal to -0.0, and containers can't be compared.
    plain = values.tolist()
    return Pieces(rows, np.arange(len(rows)), lambda k: sequence.argument(name, plain[k]))


def _ends(times: Ints, sequence: PacketSequence) -> Varints:
    """Packets of ends, which differ by their time only."""
    event = b"\x5a" + varint(len(END)) + END

    def before(width: int) -> bytes:
        size = len(sequence.before_time) + width + len(event)
        return bytes((KEY,)) + varint(size) + sequence.before_time

    return Varints(np.arange(len(times)), times, before, event)


def _merged(begins: list[Column], ends: Varints, ends_before: Ints) -> bytes:
    """Begins and ends as they follow each other; before each begin stand so many ends."""
    begins_at = np.arange(len(ends_before)) + ends_before
    is_end = np.ones(len(ends_before) + len(ends.rows), np.bool_)
    is_end[begins_at] = False
    sizes = np.empty(len(is_end), np.int64)
    sizes[begins_at] = byte_columns.total_sizes(len(begins_at), begins)
    sizes[is_end] = ends.sizes
    starts = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()), np.uint8)
    byte_columns.put(out, starts[begins_at], begins)
    byte_columns.put(out, starts[is_end], [ends])
    return out.tobytes()
