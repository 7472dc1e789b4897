"""Perfetto protobuf traces (`.pftrace`): packets -> Trace.

Reads what the writer and the recorder's journal write, and track events of other tools: names
inline or interned, tracks of processes and threads and rows of their own, counters, flows,
compressed packets. Packets of other kinds are passed by.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import orjson

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.formats.wire import Truncated, top_level_fields
from tilelang_trace.trace import failures, findings
from tilelang_trace.trace.begin_end import OpenSlices
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import CounterTrack, Lane

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_SLICE_BEGIN, _SLICE_END, _INSTANT, _COUNTER = 1, 2, 3, 4
_STATE_CLEARED = 1


class _Step(NamedTuple):
    """One step of a flow; in order, what ends it comes last even at one time."""

    ends: bool
    time: int
    row: int


class _Event(NamedTuple):
    time: int
    kind: int
    name: str
    category: str
    arguments: dict[str, Json]
    flows: tuple[int, ...]
    ended_flows: tuple[int, ...]
    value: float


@dataclass
class _Sequence:
    """Incremental state of one packet sequence."""

    categories: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    track: int = 0


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
    arguments: dict[int, dict[str, Json]]
    """The arguments of each row, not yet added to the builder."""
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
    for row, arguments in reading.arguments.items():
        reading.builder.arguments.add(row, arguments)
    return reading.builder


def read_events(data: bytes, builder: TraceBuilder) -> Reading:
    """The events of a file, added to what a builder has. Raises UserError if it is no protobuf
    trace.
    """
    return _Reader(builder).read(data)


class _Reader:
    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.sequences: dict[int, _Sequence] = {}
        self.tracks: dict[int, pb.TrackDescriptor] = {}
        self.events: dict[int, list[_Event]] = {}
        self.documents: dict[str, Json] = {}

    def read(self, data: bytes) -> Reading:
        try:
            for offset, packet in self._packets(data):
                self._take(offset, packet)
        except Truncated as cut:
            self.builder.finding(
                f"byte {cut.offset}",
                findings.CUT_OFF,
                "no whole packet from here on, what there is is left out",
            )
        except ValueError as error:
            raise UserError(f"not a Perfetto trace: {error}") from None
        return self._place()

    def _packets(self, data: bytes) -> Iterator[tuple[int, pb.TracePacket]]:
        from google.protobuf.message import DecodeError
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

        for offset, number, body in top_level_fields(data):
            if number != 1:
                continue
            packet = pb.TracePacket()
            try:
                packet.ParseFromString(bytes(body))
                if packet.compressed_packets:
                    inner = zlib.decompress(packet.compressed_packets)
                    for _, packet in self._packets(inner):
                        yield offset, packet
                    continue
            except (DecodeError, zlib.error) as error:
                if offset and not bytes(data[offset + len(body) :]).strip(b"\0"):
                    raise Truncated(offset) from None  # a file that was cut and filled with zeros
                raise UserError(
                    f"not a Perfetto trace: the packet at byte {offset} can't be decoded ({error})"
                ) from None
            yield offset, packet

    def _take(self, offset: int, packet: pb.TracePacket) -> None:
        id_ = packet.trusted_packet_sequence_id
        sequence = self.sequences.get(id_)
        if sequence is None or packet.sequence_flags & _STATE_CLEARED:
            sequence = self.sequences[id_] = _Sequence()
        if packet.HasField("trace_packet_defaults"):
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            interned = packet.interned_data
            for known, new in (
                (sequence.categories, interned.event_categories),
                (sequence.names, interned.event_names),
                (sequence.arguments, interned.debug_annotation_names),
            ):
                for entry in new:
                    known[entry.iid] = _text(entry.name)
            for text in interned.debug_annotation_string_values:
                sequence.texts[text.iid] = text.str.decode("utf-8", "replace")
        if packet.HasField("track_event"):
            if packet.timestamp >= 2**63:
                raise UserError(
                    f"not a Perfetto trace: the time {packet.timestamp} of the packet at byte "
                    f"{offset} is beyond any clock"
                )
            self._take_event(packet.timestamp, packet.track_event, sequence)
        elif packet.HasField("track_descriptor"):
            self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        elif packet.HasField("chrome_events"):
            for entry in packet.chrome_events.metadata:
                if entry.json_value:
                    try:
                        self.documents[entry.name] = orjson.loads(entry.json_value)
                    except ValueError:
                        self.builder.finding(
                            f"byte {offset}",
                            findings.BAD_METADATA,
                            f"{entry.name!r} is no JSON, left out",
                        )

    def _take_event(self, time: int, event: pb.TrackEvent, sequence: _Sequence) -> None:
        categories = [sequence.categories.get(i, "") for i in event.category_iids]
        categories += map(_text, event.categories)
        value = event.double_counter_value if event.HasField("double_counter_value") else 0.0
        if event.HasField("counter_value"):
            value = float(event.counter_value)
        uuid = event.track_uuid if event.HasField("track_uuid") else sequence.track
        self.events.setdefault(uuid, []).append(
            _Event(
                time,
                event.type,
                sequence.names.get(event.name_iid, "") if event.name_iid else _text(event.name),
                ",".join(filter(None, categories)),
                {_name(a, sequence): _value(a, sequence) for a in event.debug_annotations},
                tuple(event.flow_ids),
                tuple(event.terminating_flow_ids),
                value,
            )
        )

    # ------------------------------------------------------------------ from tracks to lanes

    def _place(self) -> Reading:
        opened = envelope.Opened(0, {}, [])
        first_row = len(self.builder.begins)
        sealed = self.documents.get(envelope.NAME)
        if isinstance(sealed, dict):
            opened = envelope.unseal(sealed, self.builder)
        origin, lanes = opened.origin, dict(opened.lanes)
        for uuid, track in self.tracks.items():
            if not sealed and track.HasField("thread"):
                lanes[uuid] = self._lane(uuid)
        reading = Reading(
            self.builder,
            {},
            {},
            self.documents,
            origin + max((e.time for events in self.events.values() for e in events), default=0),
            range(0),
        )
        counters = self._counters(opened)
        steps: dict[int, list[_Step]] = {}
        for uuid, events in self.events.items():
            if any(a.time > b.time for a, b in zip(events, events[1:])):
                events.sort(key=itemgetter(0))
            if uuid in counters:
                for event in events:
                    self.builder.counter(counters[uuid], event.time + origin, event.value)
                continue
            if uuid not in lanes:
                if sealed and self._track_name(uuid) == failures.ROW_NAME:
                    continue  # it is derived from the failed slices when the trace is written
                lanes[uuid] = self._lane(uuid)
            self._fill(lanes[uuid], events, origin, reading, steps)
        for flow in steps.values():
            flow.sort()
            self.builder.flows.extend((a.row, b.row) for a, b in zip(flow, flow[1:]))
        reading.rows = range(first_row, len(self.builder.begins))
        return reading

    def _fill(
        self,
        lane: int,
        events: list[_Event],
        origin: int,
        reading: Reading,
        steps: dict[int, list[_Step]],
    ) -> None:
        stack = OpenSlices(self.builder, lane)
        strays = 0
        for event in events:
            time = event.time + origin
            if event.kind == _SLICE_BEGIN:
                status = event.arguments.get("status")
                category = failures.read_category(event.category, status)
                row: int | None = stack.begin(time, event.name, category)
            elif event.kind == _SLICE_END:
                row = stack.end(time)
                strays += row is None
            elif event.kind == _INSTANT:
                self.builder.instant(lane, time, event.name, event.category, event.arguments)
                continue
            else:
                continue
            if row is None:
                continue
            if event.arguments:
                _join(reading.arguments.setdefault(row, {}), event.arguments)
            for flow in event.flows:
                steps.setdefault(flow, []).append(_Step(False, time, row))
            for flow in event.ended_flows:
                steps.setdefault(flow, []).append(_Step(True, time, row))
        if strays:
            self.builder.finding(
                f"lane {lane}",
                findings.END_WITHOUT_BEGIN,
                f"{strays} ends without a begin, left out",
            )
        if stack.rows:
            reading.unfinished[lane] = list(stack.rows)
            for row in reversed(stack.rows):
                self.builder.ends[row] = max(reading.last_time, self.builder.begins[row] + 1)

    def _counters(self, opened: envelope.Opened) -> dict[int, int]:
        """The counter track of each uuid."""
        found = {uuid: number for number, uuid in enumerate(opened.counters)}
        for uuid, track in self.tracks.items():
            if track.HasField("counter") and uuid not in found:
                thread, process = self._owner(uuid)
                found[uuid] = len(self.builder.counter_tracks)
                self.builder.counter_tracks.append(
                    CounterTrack(
                        self._track_name(uuid), _text(track.counter.unit_name), thread, process
                    )
                )
        return found

    def _track_name(self, uuid: int) -> str:
        track = self.tracks.get(uuid)
        return _text(track.name or track.static_name) if track is not None else ""

    def _lane(self, uuid: int) -> int:
        """The lane of a track that no envelope names: a thread's own, or a new one."""
        thread, process = self._owner(uuid)
        track = self.tracks.get(uuid)
        if track is not None and not track.HasField("thread") and not track.HasField("process"):
            return self.builder.lane(Lane(thread, process, self._track_name(uuid)))
        lane = Lane(thread, process)
        if lane in self.builder.lanes:
            return self.builder.lanes.index(lane)
        return self.builder.lane(lane)

    def _owner(self, uuid: int) -> tuple[int | None, int | None]:
        """The thread, or else the process, that a track belongs to: its own or that of its
        ancestors.
        """
        seen: set[int] = set()
        while uuid in self.tracks and uuid not in seen:
            seen.add(uuid)
            track = self.tracks[uuid]
            if track.HasField("thread"):
                return self._thread(track.thread), None
            if track.HasField("process"):
                return None, self._process(track.process.pid)
            uuid = track.parent_uuid
        return None, None

    def _process(self, pid: int) -> int:
        for number, process in enumerate(self.builder.processes):
            if process.pid == pid:
                return number
        names = [
            t.process.process_name
            for t in self.tracks.values()
            if t.HasField("process") and t.process.pid == pid
        ]
        return self.builder.process(_text(names[-1]) if names else "", pid)

    def _thread(self, descriptor: pb.ThreadDescriptor) -> int:
        process = self._process(descriptor.pid)
        for number, thread in enumerate(self.builder.threads):
            if thread.process == process and thread.tid == descriptor.tid:
                return number
        return self.builder.thread(process, _text(descriptor.thread_name), descriptor.tid)


def _join(known: dict[str, Json], more: dict[str, Json]) -> None:
    """Add the arguments of a slice's end to those of its begin. Objects become one, as in Perfetto,
    to which their members are arguments by themselves.
    """
    for name, value in more.items():
        before = known.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            value = {**before, **value}
        known[name] = value


def _text(value: str | bytes) -> str:
    """A text field; protobuf gives bytes where it is not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _name(annotation: pb.DebugAnnotation, sequence: _Sequence) -> str:
    if annotation.name_iid:
        return sequence.arguments.get(annotation.name_iid, "")
    return _text(annotation.name)


def _value(annotation: pb.DebugAnnotation, sequence: _Sequence) -> Json:
    if annotation.dict_entries:
        return {_name(e, sequence): _value(e, sequence) for e in annotation.dict_entries}
    if annotation.array_values:
        return [_value(e, sequence) for e in annotation.array_values]
    which = annotation.WhichOneof("value")
    if which is None:
        return None
    value = getattr(annotation, which)
    if which == "string_value_iid":
        return sequence.texts.get(value, "")
    if which == "legacy_json_value":
        try:
            return orjson.loads(value)
        except ValueError:
            return _text(value)
    return _text(value) if isinstance(value, bytes) else value
