"""The packets of a `.pftrace` -> events as columns, tracks and documents.

Packets are taken in chunks. The plain events of a chunk (nearly all, in files of ours) are read
together, as columns; the other packets one by one with protobuf's classes, which takes some twenty
times as long for each. What the ids in a plain event mean depends on the packets around it. So the
others are taken first, in their order, and each text that they tell is good from there on. What
makes something else of an id waits until the plain events before it are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace.event_columns import EventColumns
from tilelang_trace.formats.pftrace.packet_chunks import Chunk, chunks, parsed
from tilelang_trace.formats.pftrace.packet_sequence import (
    CATEGORIES,
    NAMES,
    SequenceState,
    Told,
    annotation_name,
    annotation_value,
    texts_told,
    utf8,
)
from tilelang_trace.formats.pftrace.plain_chunk import PlainChunk
from tilelang_trace.formats.pftrace.wire import Truncated
from tilelang_trace.trace import findings
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_STATE_CLEARED = 1
_FARTHEST = 2**63


class PacketReader:
    """Reads the packets of a file."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        """What gets the texts and the findings; the events come later."""
        self.events = EventColumns(builder.strings)
        self.tracks: dict[int, pb.TrackDescriptor] = {}
        self.documents: dict[str, Json] = {}
        """JSON values that the file holds under a name (ChromeMetadata)."""
        self._sequences: dict[int, SequenceState] = {}

    def read(self, data: bytes) -> None:
        """Read a file. Raises UserError if it is no protobuf trace."""
        try:
            for chunk in chunks(data):
                self._take(chunk, data)
        except Truncated as cut:
            self._builder.finding(
                f"byte {cut.offset}",
                findings.CUT_OFF,
                "no whole packet from here on, what there is is left out",
            )
        except ValueError as error:
            raise UserError(f"not a Perfetto trace: {error}") from None

    def _take(self, chunk: Chunk, data: bytes) -> None:
        plain = PlainChunk(chunk, self._sequences, self.events)
        try:
            for index in plain.others:
                number, place = chunk.first + index, chunk.places[index]
                told = plain.told.get(index)
                if told is not None:
                    self._learn(*told, number, plain)
                    continue
                for packet in parsed(data, place, chunk.packet(index)):
                    self._take_packet(packet, number, place, plain)
        except Truncated:
            plain.read_until(len(chunk))
            raise
        plain.read_until(len(chunk))
        for state in self._sequences.values():
            state.since.clear()

    def _learn(self, id_: int, told: list[Told], number: int, plain: PlainChunk) -> SequenceState:
        """Take the texts that a packet tells on a sequence."""
        state = self._sequences.setdefault(id_, SequenceState())
        if state.contradicts(told):
            plain.read_until(number - plain.first)
        state.learn(told, number)
        return state

    def _take_packet(
        self, packet: pb.TracePacket, number: int, place: int, plain: PlainChunk
    ) -> None:
        id_ = packet.trusted_packet_sequence_id
        is_cleared = bool(packet.sequence_flags & _STATE_CLEARED)
        if is_cleared or packet.HasField("trace_packet_defaults"):
            plain.read_until(number - plain.first)
        if is_cleared:
            self._sequences[id_] = SequenceState()
        told = texts_told(packet.interned_data) if packet.HasField("interned_data") else []
        state = self._learn(id_, told, number, plain)
        if packet.HasField("trace_packet_defaults"):
            state.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("track_event"):
            if packet.timestamp >= _FARTHEST:
                raise UserError(
                    f"not a Perfetto trace: the time {packet.timestamp} of the packet at byte "
                    f"{place} is beyond any clock"
                )
            self._take_event(number, packet.timestamp, packet.track_event, state)
        elif packet.HasField("track_descriptor"):
            self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        elif packet.HasField("chrome_events"):
            for entry in packet.chrome_events.metadata:
                if entry.json_value:
                    try:
                        self.documents[entry.name] = orjson.loads(entry.json_value)
                    except ValueError:
                        self._builder.finding(
                            f"byte {place}",
                            findings.BAD_METADATA,
                            f"{entry.name!r} is no JSON, left out",
                        )

    def _take_event(
        self, number: int, time: int, event: pb.TrackEvent, state: SequenceState
    ) -> None:
        categories = [state.texts[CATEGORIES].get(iid, "") for iid in event.category_iids]
        categories += map(utf8, event.categories)
        value = event.double_counter_value if event.HasField("double_counter_value") else 0.0
        if event.HasField("counter_value"):
            value = float(event.counter_value)
        self.events.add(
            number,
            time,
            event.type,
            event.track_uuid if event.HasField("track_uuid") else state.track,
            state.texts[NAMES].get(event.name_iid, "") if event.name_iid else utf8(event.name),
            ",".join(filter(None, categories)),
            {
                annotation_name(annotation, state, number): annotation_value(
                    annotation, state, number
                )
                for annotation in event.debug_annotations
            },
            [
                *((flow, False) for flow in event.flow_ids),
                *((flow, True) for flow in event.terminating_flow_ids),
            ],
            value,
        )
