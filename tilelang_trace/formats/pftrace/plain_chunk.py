"""The plain events of a chunk of packets, with what their ids mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.annotations import AnnotationReader, is_changed, joined
from tilelang_trace.formats.pftrace.event_columns import ENDS, JOINS, EventColumns
from tilelang_trace.formats.pftrace.packet_chunks import Chunk
from tilelang_trace.formats.pftrace.packet_sequence import (
    ARGUMENTS,
    CATEGORIES,
    NAMES,
    TEXTS,
    SequenceState,
    Told,
    texts_told,
)
from tilelang_trace.formats.pftrace.plain_events import (
    BOOL,
    DOUBLE,
    TEXT,
    PlainEvents,
    plain_events,
)
from tilelang_trace.formats.pftrace.wire_columns import Ints, distinct
from tilelang_trace.trace import rules
from tilelang_trace.trace.collect import extend
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.model import Column, ColumnType

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    from tilelang_trace.trace.json_values import Json

_NEVER = 2**62
"""After all packets."""

_OTHERS_AT_MOST = 4
"""One in so many packets may be other than plain: else all are, for to go back and forth costs
more.
"""


class NewTexts(NamedTuple):
    """The new texts beside a plain event."""

    sequence: int
    texts: list[Told]
    needs_state: bool


class PlainChunk:
    """Reads the plain events of a chunk of packets into `columns`, when it is told to: the others
    say what their ids mean.
    """

    def __init__(
        self,
        chunk: Chunk,
        sequences: dict[int, SequenceState],
        columns: EventColumns,
        reader: AnnotationReader,
        tell: Tell,
    ) -> None:
        self._chunk = chunk
        self._reader = reader
        self._tell = tell
        self.first = chunk.first
        """The number of the first packet."""
        self._sequences = sequences
        self._columns = columns
        self._annotations: dict[int, pb.DebugAnnotation] = {}
        """Arguments that are not plain, by where they begin."""
        self.told: dict[int, NewTexts] = {}
        """By the packet's place in the chunk."""
        self._events = plain_events(chunk.data, chunk.starts, chunk.stops)
        is_other = np.ones(len(chunk), np.bool_)
        is_other[self._events.packet] = False
        if np.count_nonzero(is_other) * _OTHERS_AT_MOST > len(chunk):
            self._events = self._events.where(np.zeros(len(self._events), np.bool_))
        self._decode()
        is_other[:] = True
        is_other[self._events.packet] = False
        is_other[list(self.told)] = True
        self.others: list[int] = np.flatnonzero(is_other).tolist()
        """The packets, by their places in the chunk, that are not plain or tell new texts."""
        self.has_events = len(self._events) > 0
        self._done = 0
        """How many packets have been read, or were passed by."""

    def _decode(self) -> None:
        """Decode what is in plain events as protobuf's messages. Those where this fails aren't
        plain: the fault is found when the whole packet is decoded.
        """
        from google.protobuf.message import DecodeError
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

        events, data = self._events, self._chunk.data
        is_sound = np.ones(len(events), np.bool_)
        others = events.other_annotations
        for event, start, stop in zip(*(c.tolist() for c in vars(others).values())):
            try:
                self._annotations[start] = pb.DebugAnnotation.FromString(data[start:stop])
            except DecodeError:
                is_sound[event] = False
        for event in np.flatnonzero(events.interned[:, 0] < events.interned[:, 1]).tolist():
            start, stop = events.interned[event].tolist()
            try:
                told = texts_told(pb.InternedData.FromString(data[start:stop]))
            except DecodeError:
                is_sound[event] = False
            else:
                self.told[int(events.packet[event])] = NewTexts(
                    int(events.sequence[event]), told, bool(events.needs_state[event])
                )
        for event in np.flatnonzero(~is_sound).tolist():
            self.told.pop(int(events.packet[event]), None)
        self._events = events.where(is_sound)

    def read_until(self, index: int) -> None:
        """Read the plain events before this packet, by its place in the chunk, that were not read
        yet, with what the sequences know now.
        """
        first, stop = np.searchsorted(self._events.packet, [self._done, index]).tolist()
        self._done = max(self._done, index)
        if first < stop:
            wanted = np.zeros(len(self._events), np.bool_)
            wanted[first:stop] = True
            reading = _Reading(self._events.where(wanted), self)
            reading.read(self._annotations)


class _Reading:
    """Adds plain events to the columns of a chunk, with what their sequences know."""

    def __init__(self, events: PlainEvents, chunk: PlainChunk) -> None:
        self._columns = chunk._columns
        self._reader = chunk._reader
        self._tell = chunk._tell
        ids, state = distinct(events.sequence)
        nothing = SequenceState(0, False, None)
        self._states = [chunk._sequences.get(id_) or nothing for id_ in ids.tolist()]
        is_valid = np.array([state.is_valid for state in self._states])
        is_lost = events.needs_state & ~is_valid[state]
        if is_lost.any():
            for packet in events.packet[is_lost].tolist():
                self._tell(packet + chunk.first, rules.NO_STATE, "left out")
            events, state = events.where(~is_lost), state[~is_lost]
        self._events = events
        self._numbers = events.packet + chunk.first
        self._state = state
        """Which of the states each event has."""

    def read(self, annotations: dict[int, pb.DebugAnnotation]) -> None:
        """Add them, with these arguments that are not plain, by where they begin."""
        events, columns = self._events, self._columns
        names = np.full(len(events), columns.strings.id(""), np.int64)
        named = np.flatnonzero(events.name)
        names[named] = self._string_ids(NAMES, named, events.name[named])
        clocks = np.array([state.clock for state in self._states], np.int32)[self._state]
        tracks = self._tracks()
        row = columns.add_many(
            self._numbers, events.time, clocks, events.kind, tracks, names, self._categories()
        )
        flows, values = events.flows, events.values
        steps = np.where(flows.ends, ENDS, JOINS)
        columns.flows.extend(zip((flows.event + row).tolist(), flows.flow.tolist(), steps.tolist()))
        if len(values.event):
            numbers = np.array([state.number for state in self._states], np.int32)
            known_rows, known_tracks, known_values, known_states = columns.values
            extend(known_rows, values.event + row)
            extend(known_tracks, tracks[values.event])
            extend(known_values, values.value)
            extend(known_states, numbers[self._state[values.event]])
        self._add_arguments(row, annotations)

    def _texts(self, kind: int, event: Ints, iid: Ints) -> tuple[list[str], Ints]:
        """Texts, and which of them each id means in its event."""
        span = int(iid.max(initial=0)) + 1
        found, which = distinct(self._state[event] * span + iid)
        texts, since = [], []
        is_untold = False
        for state, id_ in (divmod(both, span) for both in found.tolist()):
            text, packet = self._states[state].known(kind, id_)
            texts.append(text or "")
            since.append(_NEVER if text is None else packet)
            is_untold |= text is None
        if is_untold or any(since):  # in the packets before that one it means nothing
            too_early = np.array(since)[which] > self._numbers[event]
            for at in np.flatnonzero(too_early).tolist():
                self._reader.tell_untold(int(self._numbers[event[at]]), int(iid[at]))
            which = np.where(too_early, len(texts), which)
            texts.append("")
        return texts, which

    def _string_ids(self, kind: int, event: Ints, iid: Ints) -> Ints:
        """The same as ids of the string table."""
        texts, which = self._texts(kind, event, iid)
        return np.array([self._columns.strings.id(text) for text in texts], np.int64)[which]

    def _categories(self) -> Ints:
        """The categories of each event, joined by commas."""
        event, strings = self._events.categories.event, self._columns.strings
        texts, which = self._texts(CATEGORIES, event, self._events.categories.iid)
        ids = np.array([strings.id(text) for text in texts], np.int64)
        joined = np.full(len(self._events), strings.id(""), np.int64)
        joined[event] = ids[which]
        count = np.bincount(event, minlength=len(self._events))
        parts: dict[int, list[str]] = {}
        for row in np.flatnonzero(count[event] > 1).tolist():
            parts.setdefault(int(event[row]), []).append(texts[which[row]])
        for several, its_texts in parts.items():
            joined[several] = strings.id(",".join(filter(None, its_texts)))
        return joined

    def _tracks(self) -> Ints:
        """The track of each event, as its number in the columns."""
        tracks = np.zeros(len(self._events), np.int64)
        own = np.flatnonzero(self._events.has_track)
        uuids, which = np.unique(self._events.track[own], return_inverse=True)
        tracks[own] = np.array([*map(self._columns.track, uuids.tolist())], np.int64)[which]
        other = np.flatnonzero(~self._events.has_track)
        states, which = distinct(self._state[other])
        defaults = [
            self._columns.track(self._states[state].default_track()) for state in states.tolist()
        ]
        tracks[other] = np.array(defaults, np.int64)[which]
        return tracks

    # ---------------------------------------------------------------------------- arguments

    def _add_arguments(self, row: int, annotations: dict[int, pb.DebugAnnotation]) -> None:
        plain = self._events.annotations
        names, which = self._texts(ARGUMENTS, plain.event, plain.name)
        for number, name in enumerate(names):
            if is_changed(name) and (which == number).any():
                at = plain.event[np.argmax(which == number)]
                self._reader.note(name, int(self._numbers[at]))
        extra = self._other_arguments(annotations)
        overruled = self._overruled(names, which, extra)
        for event, start, name, value in extra:
            if start not in overruled:
                self._columns.arguments.add(event + row, {name: value})

        # Those of one name and kind make a column.
        column, column_of = distinct(which << 8 | plain.kind)
        order = np.argsort(column_of.astype(np.uint16), kind="stable")  # in linear time
        if len(column) > 1 << 16:
            order = np.argsort(column_of, kind="stable")
        if overruled:
            order = order[~np.isin(plain.start[order], list(overruled))]
        stops = np.searchsorted(column_of[order], np.arange(len(column)), side="right").tolist()
        for start, stop, both in zip([0, *stops], stops, column.tolist()):
            rows = order[start:stop]
            kind, values = self._values(both & 0xFF, rows)
            self._columns.arguments.add_column(
                Column(names[both >> 8], kind, (plain.event[rows] + row).astype(np.int32), values)
            )

    def _other_arguments(
        self, annotations: dict[int, pb.DebugAnnotation]
    ) -> list[tuple[int, int, str, Json]]:
        """The arguments that are not plain: event, where it begins, name and value."""
        others = self._events.other_annotations
        extra: list[tuple[int, int, str, Json]] = []
        containers: dict[tuple[int, str], Json] = {}
        for event, start in zip(others.event.tolist(), others.start.tolist()):
            number = int(self._numbers[event])
            annotation, state = annotations[start], self._states[self._state[event]]
            if annotation.HasField("proto_value"):
                self._reader.tell_unread(number)
                continue
            name = self._reader.name(annotation, state, number)
            value = self._reader.value(annotation, state, number)
            if isinstance(value, (dict, list)):
                value = containers[event, name] = joined(containers.get((event, name)), value)
            extra.append((event, start, name, value))
        return extra

    def _values(self, kind: int, rows: Ints) -> tuple[ColumnType, npt.NDArray[Any]]:
        """The type and the values of plain arguments of one kind."""
        plain = self._events.annotations
        value = plain.value[rows]
        if kind == TEXT:
            return "string", self._string_ids(TEXTS, plain.event[rows], value.view(np.int64))
        if kind == BOOL:
            return "bool", value != 0
        if kind == DOUBLE:
            return "float", value.view(np.float64)
        return "int", value.view(np.int64)

    def _overruled(
        self, names: list[str], which: Ints, extra: list[tuple[int, int, str, Json]]
    ) -> set[int]:
        """Where the arguments begin that a later one of the same event and name replaces."""
        plain = self._events.annotations
        number = {name: n for n, name in enumerate(dict.fromkeys(names))}
        name = np.array([number[name] for name in names], np.int64)[which]
        extra_names = [number.setdefault(name, len(number)) for _, _, name, _ in extra]
        event = np.concatenate([plain.event, np.array([e for e, *_ in extra], np.int64)])
        start = np.concatenate([plain.start, np.array([s for _, s, *_ in extra], np.int64)])
        both = event * len(number) + np.concatenate([name, np.array(extra_names, np.int64)])
        if len(distinct(both)[0]) == len(both):
            return set()
        order = np.lexsort((start, both))
        is_overruled = np.diff(both[order], append=-1) == 0
        return set(start[order[is_overruled]].tolist())
