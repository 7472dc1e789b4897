"""Perfetto protobuf traces (`.pftrace`): packets -> Trace.

Reads what the writer and the recorder's journal write, and track events of other tools: names
inline or interned, tracks of processes and threads and rows of their own, counters, flows,
compressed packets. Packets of other kinds are passed by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.formats.pftrace.event_columns import INSTANT, SLICE_BEGIN, SLICE_END
from tilelang_trace.formats.pftrace.packet_reader import PacketReader
from tilelang_trace.formats.pftrace.read_arguments import ReadArguments, arguments_of
from tilelang_trace.formats.pftrace.track_owners import TrackOwners
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace import failures, findings
from tilelang_trace.trace.arguments import ERROR_STATUSES, FAILED
from tilelang_trace.trace.begin_end import Pairs, paired
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Arguments, Ids


class _Step(NamedTuple):
    """One step of a flow; in order, what ends it comes last even at one time."""

    ends: bool
    time: int
    row: int


@dataclass
class Reading:
    """What a file holds: a builder with all its events, and what a reader of journals needs to
    know.
    """

    builder: TraceBuilder
    unfinished: dict[int, list[int]]
    """Per lane the rows of slices that never ended, outermost first; their ends are set to the last
    time.
    """
    arguments: ReadArguments
    """The arguments of the rows, not yet added to the builder."""
    documents: dict[str, Json]
    """JSON values that the file holds under a name (ChromeMetadata)."""
    last_time: int
    """Time of the last event, ns."""
    rows: range
    """The rows of the builder that came from this file."""


def read(data: bytes) -> TraceBuilder:
    """A builder with all that the file says. Raises UserError if it is no protobuf trace."""
    reading = read_events(data, TraceBuilder())
    names = reading.builder.strings.texts()
    for rows in reading.unfinished.values():
        for row in rows:
            name = names[reading.builder.names[row]]
            reading.builder.finding(
                f"slice {name!r}", findings.NEVER_ENDED, "ends at the end of the trace"
            )
    reading.arguments.add_to(reading.builder.arguments)
    return reading.builder


def read_events(data: bytes, builder: TraceBuilder) -> Reading:
    """The events of a file, added to what a builder has. Raises UserError if it is no protobuf
    trace.
    """
    packets = PacketReader(builder)
    packets.read(data)
    return _Placing(builder, packets).place()


class _Placing:
    """Puts the events of a file into a builder: what is on a track goes to a lane or a counter."""

    def __init__(self, builder: TraceBuilder, packets: PacketReader) -> None:
        self._builder = builder
        self._packets = packets
        self._events = packets.events
        self._sealed = packets.documents.get(envelope.NAME)
        opened = envelope.Opened(0, {}, [])
        if isinstance(self._sealed, dict):
            opened = envelope.unseal(self._sealed, builder)
        self._owners = TrackOwners(builder, packets.tracks)
        self._lanes = dict(opened.lanes)
        self._counters = {uuid: number for number, uuid in enumerate(opened.counters)}
        for uuid, track in packets.tracks.items():
            if not self._sealed and track.HasField("thread"):
                self._lanes[uuid] = self._owners.lane(uuid)
        for uuid, track in packets.tracks.items():
            if track.HasField("counter") and uuid not in self._counters:
                self._counters[uuid] = self._owners.counter(uuid)
        self._times = _moved(np.array(self._events.times), opened.origin)
        self._last_time = int(self._times.max()) if len(self._times) else opened.origin
        self._kinds = np.array(self._events.kinds)
        self._columns = self._events.arguments.columns()
        self._values = np.zeros(len(self._events) if self._counters else 0)
        if self._counters:
            rows, values = self._events.values
            self._values[np.array(rows)] = values

    def place(self) -> Reading:
        order, tracks = self._events.by_track()
        lane = np.full(len(order), -1, np.int32)
        track = np.zeros(len(order), np.int32)
        for number, its in enumerate(tracks):
            where = slice(its.first, its.stop)
            track[where] = number
            if its.uuid in self._counters:
                self._place_counter(self._counters[its.uuid], order[where])
            else:
                lane[where] = self._lane(its.uuid)
        kept = lane >= 0
        order, lane, track = order[kept], lane[kept], track[kept]
        self._place_instants(order, lane)
        is_slice = np.isin(self._kinds[order], (SLICE_BEGIN, SLICE_END))
        return self._place_slices(order[is_slice], lane[is_slice], track[is_slice])

    def _lane(self, uuid: int) -> int:
        """The lane of a track; -1 if its events are left out."""
        if uuid not in self._lanes:
            if self._sealed and self._owners.name(uuid) == failures.ROW_NAME:
                return -1  # it is derived from the failed slices when the trace is written
            self._lanes[uuid] = self._owners.lane(uuid)
        return self._lanes[uuid]

    def _place_counter(self, counter: int, events: Ints) -> None:
        self._builder.counters(counter, self._times[events], self._values[events])

    def _place_instants(self, order: Ints, lane: Ids) -> None:
        is_instant = self._kinds[order] == INSTANT
        events = order[is_instant]
        first = self._builder.instants(
            lane[is_instant],
            self._times[events],
            np.array(self._events.names)[events],
            np.array(self._events.categories)[events],
        )
        number = np.full(len(self._events), -1, np.int32)
        number[events] = np.arange(first, first + len(events))
        arguments_of(self._columns, number, self._builder.strings).add_to(
            self._builder.instant_arguments
        )

    def _place_slices(self, events: Ints, lane: Ids, track: Ids) -> Reading:
        builder = self._builder
        begins = self._kinds[events] == SLICE_BEGIN
        pairs = paired(track, self._times[events], begins)
        ends = np.where(pairs.is_open, np.maximum(pairs.end, self._last_time), pairs.end)
        begin_events = events[begins]
        first = builder.slices(
            lane[begins],
            pairs.begin,
            ends,
            np.array(self._events.names)[begin_events],
            self._categories(begin_events),
        )
        row = np.full(len(self._events), -1, np.int32)
        row[events] = np.where(pairs.of_event >= 0, pairs.of_event + np.int32(first), -1)
        self._place_flows(row)
        self._tell_of_strays(lane[pairs.of_event < 0], track[pairs.of_event < 0])
        return Reading(
            builder,
            _unfinished(pairs, lane[begins], track[begins], first),
            arguments_of(self._columns, row, builder.strings, self._kinds == SLICE_END),
            self._packets.documents,
            self._last_time,
            range(first, len(builder.begins)),
        )

    def _categories(self, begins: Ints) -> Ids:
        """The categories of slices, without the derived `error`."""
        strings = self._builder.strings
        written = np.array(self._events.categories)[begins]
        categories = written.copy()
        texts = strings.texts()
        flagged = {}
        for id_ in np.flatnonzero(np.bincount(written)).tolist():
            bare = failures.read_category(texts[id_], FAILED)
            if bare != texts[id_]:
                flagged[id_] = strings.id(bare)
        if flagged:
            statuses = Arguments(self._columns, texts).strings("status", len(self._events))[begins]
            known = [strings.ids[status] for status in ERROR_STATUSES if status in strings.ids]
            is_error = np.isin(statuses, known)
            written = categories.copy()  # what is bare now may be what another one was
            for id_, bare_id in flagged.items():
                categories[is_error & (written == id_)] = bare_id
        return categories

    def _place_flows(self, row: Ids) -> None:
        steps: dict[int, list[_Step]] = {}
        for event, flow, ends in self._events.flows:
            if row[event] >= 0:
                step = _Step(ends, int(self._times[event]), int(row[event]))
                steps.setdefault(flow, []).append(step)
        for joined in steps.values():
            joined.sort()
            self._builder.flows.extend((a.row, b.row) for a, b in zip(joined, joined[1:]))

    def _tell_of_strays(self, lane: Ids, track: Ids) -> None:
        _, first, counts = np.unique(track, return_index=True, return_counts=True)
        for its_lane, count in zip(lane[first].tolist(), counts.tolist()):
            self._builder.finding(
                f"lane {its_lane}",
                findings.END_WITHOUT_BEGIN,
                f"{count} ends without a begin, left out",
            )


def _moved(times: Ints, origin: int) -> Ints:
    """Times from where the file's own header says that zero is."""
    for time in (times.min(), times.max()) if len(times) else (0,):
        if not -(2**63) <= int(time) + origin < 2**63:
            raise UserError(
                f"the trace's own header is damaged: no time is {int(time) + origin} ns"
            )
    return times + origin


def _unfinished(pairs: Pairs, lane: Ids, track: Ids, first: int) -> dict[int, list[int]]:
    """Per lane the rows of the slices that never ended; of several tracks those of the last one."""
    found: dict[int, list[int]] = {}
    last = -1
    for number in np.flatnonzero(pairs.is_open).tolist():
        if track[number] != last:
            last = track[number]
            found[int(lane[number])] = []
        found[int(lane[number])].append(first + number)
    return found
