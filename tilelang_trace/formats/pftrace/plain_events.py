"""The plain events among many packets, as columns: what our writer and journal make of nearly every
slice, and other tools of many.

Plain is a packet that holds one track event, and beside it only its time, its sequence and new
names; the event's names are interned. All others are left to protobuf's classes. Field numbers:
see `packets`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.wire_columns import FieldTable, Ints, Words, field_table

_VARINT, _FIXED, _BYTES = 0, 1, 2

_TIME, _SEQUENCE, _FLAGS = 8 << 3, 10 << 3, 13 << 3
_EVENT, _INTERNED = 11 << 3 | _BYTES, 12 << 3 | _BYTES

_KIND, _NAME, _TRACK = 9 << 3, 10 << 3, 11 << 3
_COUNTED, _MEASURED = 30 << 3, 44 << 3 | _FIXED
_CATEGORY, _ANNOTATION = 3 << 3, 4 << 3 | _BYTES
_FLOW, _ENDED_FLOW = 47 << 3 | _FIXED, 48 << 3 | _FIXED
_COLOUR = 53 << 3 | _BYTES

_ANNOTATION_NAME = 1 << 3
BOOL, UINT, INT, TEXT, DOUBLE = 2 << 3, 3 << 3, 4 << 3, 17 << 3, 5 << 3 | _FIXED
"""What plain annotations hold; a text is interned."""

_STATE_CLEARED, _NEEDS_STATE = np.uint64(1), np.uint64(2)
_COUNTER = 4
_LARGEST_ID = 2**31
_BEYOND_INT64 = 2**63


@dataclass(frozen=True)
class Categories:
    """The categories of events, those of one event in their order."""

    event: Ints
    iid: Ints


@dataclass(frozen=True)
class Flows:
    """Steps of flows."""

    event: Ints
    flow: Words
    ends: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Values:
    """Values of counters."""

    event: Ints
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Annotations:
    """Arguments of one value, with an interned name."""

    event: Ints
    start: Ints
    """Where it begins: of two with one name the later one counts."""
    name: Ints
    kind: Ints
    """One of `BOOL`, `UINT`, `INT`, `TEXT`, `DOUBLE`."""
    value: Words


@dataclass(frozen=True)
class OtherAnnotations:
    """All other arguments, as the bytes of a DebugAnnotation."""

    event: Ints
    start: Ints
    stop: Ints


@dataclass(frozen=True)
class PlainEvents:
    """Plain events of a chunk of packets, in the order of the file. The tables that follow refer to
    them by their place here.
    """

    packet: Ints
    """Which packet of the chunk holds it."""
    sequence: Ints
    time: Ints
    kind: Ints
    name: Ints
    """Id of the name on the sequence, 0 if it has none."""
    track: Words
    has_track: npt.NDArray[np.bool_]
    """Whether it says which track it is on; if not, its sequence does."""
    needs_state: npt.NDArray[np.bool_]
    """Whether it is good only if the state of its sequence is known."""
    interned: Ints
    """Where the new names begin that stand beside it, and where they end: shape (n, 2)."""
    categories: Categories
    flows: Flows
    values: Values
    annotations: Annotations
    other_annotations: OtherAnnotations

    def __len__(self) -> int:
        return len(self.packet)

    def where(self, wanted: npt.NDArray[np.bool_]) -> PlainEvents:
        """Those events for which this holds."""
        if wanted.all():
            return self
        place = np.cumsum(wanted) - 1

        def of_wanted(table: Any) -> Any:
            kept = wanted[table.event]
            columns = {column.name: getattr(table, column.name)[kept] for column in fields(table)}
            return replace(table, **{**columns, "event": place[columns["event"]]})

        return PlainEvents(
            self.packet[wanted],
            self.sequence[wanted],
            self.time[wanted],
            self.kind[wanted],
            self.name[wanted],
            self.track[wanted],
            self.has_track[wanted],
            self.needs_state[wanted],
            self.interned[wanted],
            of_wanted(self.categories),
            of_wanted(self.flows),
            of_wanted(self.values),
            of_wanted(self.annotations),
            of_wanted(self.other_annotations),
        )


class _Messages:
    """Many messages, and whether what was asked for so far is all that they hold."""

    def __init__(self, data: bytes, starts: Ints, stops: Ints) -> None:
        self.table: FieldTable = field_table(data, starts, stops)
        self._missing = np.bincount(self.table.message, minlength=len(starts))
        """Per message how many of its fields were not asked for."""

    def one(self, key: int) -> tuple[Words, Ints, npt.NDArray[np.bool_]]:
        """A field that plain messages have once at most: its values (0 without it), where it
        begins, and whether it is there.
        """
        rows = self.table.where(key)
        message = self.table.message[rows]
        value = np.zeros(len(self._missing), np.uint64)
        start = np.zeros(len(self._missing), np.int64)
        is_there = np.zeros(len(self._missing), np.bool_)
        value[message] = self.table.value[rows]
        start[message] = self.table.start[rows]
        is_there[message] = True
        self._missing -= is_there
        return value, start, is_there

    def all(self, key: int) -> tuple[Ints, Words, Ints]:
        """A field that may come many times: message, value and start of each; those of one message
        in their order.
        """
        rows = self.table.where(key)
        message = self.table.message[rows]
        self._missing -= np.bincount(message, minlength=len(self._missing))
        return message, self.table.value[rows], self.table.start[rows]

    def plain(self) -> npt.NDArray[np.bool_]:
        """Which messages are well-formed and hold nothing else."""
        is_plain: npt.NDArray[np.bool_] = (self._missing == 0) & ~self.table.broken
        return is_plain


def plain_events(data: bytes, starts: Ints, stops: Ints) -> PlainEvents:
    """The plain events among the packets that lie between these offsets; `wire_columns.PADDING`
    bytes must follow them.
    """
    packets = _Messages(data, starts, stops)
    time, _, has_time = packets.one(_TIME)
    sequence, _, _ = packets.one(_SEQUENCE)
    flags, _, _ = packets.one(_FLAGS)
    length, start, has_event = packets.one(_EVENT)
    new_length, new_start, _ = packets.one(_INTERNED)
    packet = np.flatnonzero(
        packets.plain()
        & has_event
        & (flags & _STATE_CLEARED == 0)
        & has_time
        & (time < _BEYOND_INT64)
        & (sequence > 0)
        & (sequence < _LARGEST_ID)
    )

    start = start[packet]
    events = _Messages(data, start, start + length[packet].view(np.int64))
    kind, _, _ = events.one(_KIND)
    name, _, _ = events.one(_NAME)
    track, _, has_track = events.one(_TRACK)
    counted, _, is_counted = events.one(_COUNTED)
    measured, _, is_measured = events.one(_MEASURED)
    category_event, category, _ = events.all(_CATEGORY)
    flow_event, flow, _ = events.all(_FLOW)
    ended_event, ended, _ = events.all(_ENDED_FLOW)
    event, size, at = events.all(_ANNOTATION)
    events.all(_COLOUR)  # decoration, nothing that is read
    is_plain = events.plain() & (kind >= 1) & (kind <= 4) & (name < _LARGEST_ID)
    # A value of a counter has a place and a value, and nothing else has one.
    is_counter = kind == _COUNTER
    is_plain &= ~(is_counted & is_measured) & (is_counter == (is_counted | is_measured))
    is_plain &= has_track <= (track > 0)
    is_plain[category_event[category >= _LARGEST_ID]] = False

    counting, measuring = np.flatnonzero(is_counted), np.flatnonzero(is_measured)
    annotations, others = _annotations(data, event, at, at + size.view(np.int64))
    return PlainEvents(
        packet,
        sequence[packet].view(np.int64),
        time[packet].view(np.int64),
        kind.view(np.int64),
        name.view(np.int64),
        track,
        has_track,
        (flags & _NEEDS_STATE != 0)[packet],
        np.stack([new_start, new_start + new_length.view(np.int64)], 1)[packet],
        Categories(category_event, category.view(np.int64)),
        Flows(
            np.concatenate([flow_event, ended_event]),
            np.concatenate([flow, ended]),
            np.repeat([False, True], [len(flow_event), len(ended_event)]),
        ),
        Values(
            np.concatenate([counting, measuring]),
            np.concatenate(
                [
                    counted[counting].view(np.int64).astype(np.float64),
                    measured[measuring].view(np.float64),
                ]
            ),
        ),
        annotations,
        others,
    ).where(is_plain)


_PLAIN_KINDS = np.zeros(256, np.bool_)
_PLAIN_KINDS[[BOOL, UINT, INT, TEXT, DOUBLE]] = True


def _annotations(
    data: bytes, event: Ints, starts: Ints, stops: Ints
) -> tuple[Annotations, OtherAnnotations]:
    annotations = _Messages(data, starts, stops)
    name, _, is_named = annotations.one(_ANNOTATION_NAME)
    table = annotations.table
    values = np.flatnonzero(table.key != _ANNOTATION_NAME)
    kind = np.zeros(len(starts), np.int64)
    value = np.zeros(len(starts), np.uint64)
    kind[table.message[values]] = table.key[values]
    value[table.message[values]] = table.value[values]
    is_plain = (
        is_named
        & (np.bincount(table.message, minlength=len(starts)) == 2)
        & _PLAIN_KINDS[np.minimum(kind, 255)]
        & ~table.broken
        & (name > 0)
        & (name < _LARGEST_ID)
        & ~((kind == TEXT) & (value >= _LARGEST_ID))
        & ~((kind == UINT) & (value >= _BEYOND_INT64))
    )
    if is_plain.all():
        none = event[:0]
        return (
            Annotations(event, starts, name.view(np.int64), kind, value),
            OtherAnnotations(none, none, none),
        )
    other = ~is_plain
    return (
        Annotations(
            event[is_plain],
            starts[is_plain],
            name[is_plain].view(np.int64),
            kind[is_plain],
            value[is_plain],
        ),
        OtherAnnotations(event[other], starts[other], stops[other]),
    )
