"""The packets of a `.pftrace` -> events as columns, tracks and documents.

Packets are taken in chunks. The plain events of a chunk (nearly all, in files of ours) are read
together, as columns; the other packets one by one with protobuf's classes, which takes some twenty
times as long for each. What the ids in a plain event mean depends on the packets around it. So the
others are taken first, in their order, and each text that they tell is good from there on. What
makes something else of an id waits until the plain events before it are read.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import orjson

from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace.annotations import AnnotationReader
from tilelang_trace.formats.pftrace.clock_times import TRACE_CLOCK, Clocks
from tilelang_trace.formats.pftrace.event_columns import EventColumns
from tilelang_trace.formats.pftrace.packet_chunks import Chunk, chunks
from tilelang_trace.formats.pftrace.packet_sequence import (
    SequenceState,
    Told,
    texts_told,
    utf8,
)
from tilelang_trace.formats.pftrace.places import Places
from tilelang_trace.formats.pftrace.plain_chunk import PlainChunk
from tilelang_trace.formats.pftrace.track_descriptors import TrackDescriptors
from tilelang_trace.formats.pftrace.track_event_reader import TrackEventReader
from tilelang_trace.formats.pftrace.track_keys import ThreadKey
from tilelang_trace.formats.pftrace.wire_reading import top_level_places
from tilelang_trace.trace import rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.rules import Rule

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_STATE_CLEARED, _NEEDS_STATE = 1, 2


class PacketReader:
    """Reads the packets of a file."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        """What gets the texts and the findings; the events come later."""
        self.events = EventColumns(builder.strings)
        self.tracks = TrackDescriptors(self.tell)
        self.documents: dict[str, Json] = {}
        """JSON values that the file holds under a name (ChromeMetadata)."""
        self.clocks = Clocks()
        self.annotations = AnnotationReader(self.tell)
        self.passed_by: Counter[str] = Counter()
        """The kinds of packets without an event, and how many there are of each."""
        self._track_events = TrackEventReader(
            self.events, self.tracks, self.clocks, self.annotations, self.tell
        )
        self.places = Places()
        self._sequences: dict[int, SequenceState] = {}
        self._learned: list[SequenceState] = []
        """Those that were told texts in the chunk that is being read."""
        self.has_events = False
        """Whether any packet holds a track event."""
        self._states = 0
        self._good = 0
        """How many packets could be decoded."""

    def read(self, data: bytes, *, is_live: bool = False) -> None:
        """Read a file, which may still be written to. Raises UserError if nothing in it is a
        packet.
        """
        faults: list[tuple[int, str]] = []

        def tell(place: int, rule: Rule, done: str) -> None:
            if rule is not rules.CUT_OFF:
                faults.append((place, done))
            self._builder.finding(f"byte {place}", rule, done)

        self._whole = _Whole(data)
        for chunk in chunks(data, tell, is_live=is_live):
            self.places.add(chunk)
            self._take(chunk)
        if not self._good and (faults or self._builder.findings.counts[rules.BROKEN_PACKET.name]):
            place, fault = (faults or [(0, "no packet can be decoded")])[0]
            raise UserError(f"not a Perfetto trace: byte {place}: {fault}")

    def tell(self, number: int, rule: Rule, done: str) -> None:
        """Tell of what is wrong with a packet."""
        self._builder.finding(lambda: f"byte {self.places.of(number)}", rule, done)

    def _take(self, chunk: Chunk) -> None:
        from google.protobuf.message import DecodeError
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

        plain = PlainChunk(chunk, self._sequences, self.events, self.annotations, self.tell)
        self._good += len(chunk) - len(plain.others)
        self.has_events |= plain.has_events
        for index in plain.others:
            number = chunk.first + index
            told = plain.told.get(index)
            if told is not None:
                self._good += 1
                self._learn(told.sequence, told.texts, number, plain, told.needs_state)
                continue
            body = chunk.packet(index)
            try:
                packet = pb.TracePacket.FromString(body)
            except DecodeError as error:
                self._tell_broken(number, chunk.places[index], error)
                continue
            self._good += 1
            self._take_packet(packet, number, plain)
        plain.read_until(len(chunk))
        for state in self._learned:
            state.since.clear()
        self._learned.clear()

    def _tell_broken(self, number: int, place: int, error: Exception) -> None:
        if self._whole.ends_within_packet(place):  # it was cut, and filled with zeros
            self.tell(number, rules.CUT_OFF, "no whole packet from here on, left out")
        else:
            self.tell(
                number,
                rules.BROKEN_PACKET,
                f"the packet can't be decoded ({error}), left out",
            )

    def _learn(
        self, id_: int, told: list[Told], number: int, plain: PlainChunk, needs_state: bool
    ) -> SequenceState:
        """Take the texts that a packet tells on a sequence."""
        state = self._sequences.get(id_) or self._new_state(id_, False, None)
        if told:
            if not state.is_valid and not needs_state:
                done = "used nevertheless: no packet before them clears the state"
                self.tell(number, rules.NAMES_WITHOUT_STATE, done)
            if state.contradicts(told):
                plain.read_until(number - plain.first)
            state.learn(told, number)
            self._learned.append(state)
        return state

    def _new_state(self, id_: int, is_valid: bool, thread: ThreadKey | None) -> SequenceState:
        self._states += 1
        state = self._sequences[id_] = SequenceState(self._states, is_valid, thread)
        return state

    # ------------------------------------------------------------------------------ packets

    def _take_packet(self, packet: pb.TracePacket, number: int, plain: PlainChunk) -> None:
        id_ = packet.trusted_packet_sequence_id
        state = self._state_after(packet, id_, number, plain)
        self.has_events |= packet.HasField("track_event")
        if packet.HasField("clock_snapshot"):
            self.clocks.take(number, id_, packet.clock_snapshot)
        if packet.sequence_flags & _NEEDS_STATE and id_ and not state.is_valid:
            self.tell(number, rules.NO_STATE, "left out")
            return
        clock = state.clock
        if packet.timestamp_clock_id:
            clock = self.clocks.number(id_, packet.timestamp_clock_id)
        if packet.HasField("track_event"):
            self._track_events.take(number, packet, clock, state)
            return
        if packet.HasField("timestamp") and clock:
            self.clocks.tick(number, clock, packet.timestamp)
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            self.tracks.take(number, descriptor)
            if descriptor.HasField("thread") and state.is_valid:
                self._take_thread(descriptor.thread, state, number, plain)
        elif packet.HasField("thread_descriptor"):
            self.tracks.take_thread(packet.thread_descriptor)
            if state.is_valid:
                self._take_thread(packet.thread_descriptor, state, number, plain)
            else:
                self.tell(number, rules.NO_STATE, "its thread is not used for events")
        elif packet.HasField("process_descriptor"):
            self.tracks.take_process(packet.process_descriptor)
        elif packet.HasField("chrome_events"):
            self._take_documents(packet.chrome_events, number)
        else:
            self.passed_by[packet.WhichOneof("data") or "others"] += 1

    def _state_after(
        self, packet: pb.TracePacket, id_: int, number: int, plain: PlainChunk
    ) -> SequenceState:
        """What is known on the packet's sequence with what the packet itself says."""
        known = self._sequences.get(id_)
        is_cleared = bool(packet.sequence_flags & _STATE_CLEARED) or (
            packet.incremental_state_cleared
        )
        is_lost = bool(packet.previous_packet_dropped)
        has_defaults = packet.HasField("trace_packet_defaults")
        if is_cleared or is_lost or has_defaults:
            plain.read_until(number - plain.first)
        if is_lost and known is not None:
            self.tell(number, rules.LOST_PACKETS, "packets before it were lost")
        if is_cleared or is_lost:
            thread = known.thread if known is not None else None
            new = self._new_state(id_, is_cleared, thread)
            if not is_cleared and known is not None:
                new.track, new.clock, new.counters = known.track, known.clock, known.counters
        needs_state = bool(packet.sequence_flags & _NEEDS_STATE)
        told = texts_told(packet.interned_data) if packet.HasField("interned_data") else []
        state = self._learn(id_, told, number, plain, needs_state)
        if has_defaults:
            defaults = packet.trace_packet_defaults
            of_events = defaults.track_event_defaults
            state.track = of_events.track_uuid if of_events.HasField("track_uuid") else None
            state.counters = (
                tuple(of_events.extra_counter_track_uuids),
                tuple(of_events.extra_double_counter_track_uuids),
            )
            state.clock = TRACE_CLOCK
            if defaults.timestamp_clock_id:
                state.clock = self.clocks.number(id_, defaults.timestamp_clock_id)
        return state

    def _take_thread(
        self, thread: pb.ThreadDescriptor, state: SequenceState, number: int, plain: PlainChunk
    ) -> None:
        """Take a thread as that of the sequence's events that name no track."""
        if not (thread.HasField("pid") and thread.HasField("tid")):
            return
        key = ThreadKey(thread.pid, thread.tid)
        if key != state.thread:
            plain.read_until(number - plain.first)
            state.thread = key
        state.reference = [
            thread.reference_timestamp_us * 1000,
            thread.reference_thread_time_us * 1000,
            thread.reference_thread_instruction_count,
        ]

    def _take_documents(self, events: pb.ChromeEventBundle, number: int) -> None:
        for entry in events.metadata:
            if entry.json_value:
                try:
                    self.documents[utf8(entry.name)] = orjson.loads(entry.json_value)
                except ValueError:
                    done = f"{entry.name!r} is no JSON, left out"
                    self.tell(number, rules.BAD_METADATA, done)


class _Whole:
    """Where the bytes of a file end that are not zeros."""

    _BLOCK = 1 << 16

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end = -1

    def ends_within_packet(self, place: int) -> bool:
        """Whether from the packet at this place on, which can't be decoded, no other has begun:
        behind its bytes that say something there are only zeros.
        """
        if self._end < 0:
            end = len(self._data)
            while end and not self._data[max(0, end - self._BLOCK) : end].strip(b"\0"):
                end = max(0, end - self._BLOCK)
            tail = self._data[max(0, end - self._BLOCK) : end]
            self._end = end - len(tail) + len(tail.rstrip(b"\0"))
        try:
            _, _, _, stop = next(top_level_places(self._data, place))
        except (ValueError, StopIteration):
            return True
        return place > 0 and self._end <= stop
