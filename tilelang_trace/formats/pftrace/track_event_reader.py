"""One track event of a packet -> the columns of events: when it is, where, and what it says.

Source of the rules: Perfetto's track_event_tokenizer.cc and track_event_event_importer.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang_trace.formats.pftrace.annotations import AnnotationReader
from tilelang_trace.formats.pftrace.clock_times import MONOTONIC_CLOCK, Clocks
from tilelang_trace.formats.pftrace.event_columns import COMPLETE, COUNTER, FARTHEST, EventColumns
from tilelang_trace.formats.pftrace.legacy_events import (
    KINDS,
    METADATA,
    flow_steps,
    phase_of,
    thread_of,
    track_of,
)
from tilelang_trace.formats.pftrace.packet_sequence import (
    CATEGORIES,
    NAMES,
    SequenceState,
    utf8,
)
from tilelang_trace.formats.pftrace.track_descriptors import TrackDescriptors
from tilelang_trace.formats.pftrace.track_keys import ThreadCounterKey, TrackKey
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Tell

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_EVENT_TYPES = range(1, COUNTER + 1)
_CARRIED = ("thread_time", "thread_instruction_count")
"""The counters that events of threads carry along."""


class TrackEventReader:
    """Reads events, with what the sequence of their packet knows."""

    def __init__(
        self,
        events: EventColumns,
        tracks: TrackDescriptors,
        clocks: Clocks,
        annotations: AnnotationReader,
        tell: Tell,
    ) -> None:
        self._events = events
        self._tracks = tracks
        self._clocks = clocks
        self._annotations = annotations
        self._tell = tell

    def take(self, number: int, packet: pb.TracePacket, clock: int, state: SequenceState) -> None:
        """Take the event of a packet, whose timestamp is on a clock."""
        event = packet.track_event
        if not packet.trusted_packet_sequence_id:
            self._tell(number, rules.MISSING_SEQUENCE, "read nevertheless")
        time = packet.timestamp if packet.HasField("timestamp") else None
        if event.HasField("timestamp_delta_us") or event.timestamp_absolute_us:
            if time is not None and clock:
                self._clocks.tick(number, clock, time)
            clock = MONOTONIC_CLOCK
            time = event.timestamp_absolute_us * 1000
            if event.HasField("timestamp_delta_us"):
                if state.reference is None:
                    done = "its time counts from a ThreadDescriptor that isn't there: left out"
                    self._tell(number, rules.NO_STATE, done)
                    return
                state.reference[0] += event.timestamp_delta_us * 1000
                time = state.reference[0]
        if time is None:
            self._tell(number, rules.NO_TIME, "left out")
        elif not 0 <= time <= FARTHEST:
            self._tell(number, rules.FAR_TIME, f"at {time} ns, left out")
        else:
            self._add_event(number, time, clock, event, state)

    def _add_event(
        self, number: int, time: int, clock: int, event: pb.TrackEvent, state: SequenceState
    ) -> None:
        phase = phase_of(event)
        uuid = event.track_uuid if event.HasField("track_uuid") else state.track
        key: TrackKey = uuid or thread_of(event, state)
        name = self._name(event, state, number)
        category = self._category(event, state, number)
        if phase == METADATA:
            self._tracks.rename(key, name, event.debug_annotations)
            return
        kind = int(event.type)
        on: TrackKey | None = key
        if phase and kind != COUNTER:
            if phase not in KINDS:
                self._tell(number, rules.UNKNOWN_PHASE, f"phase {phase!r}, left out")
                return
            kind = KINDS[phase]
            on = track_of(phase, event, key, name, category)
        reason = ""
        if on is None:
            reason = f"an event of phase {phase!r} without an id"
        elif not phase and kind not in _EVENT_TYPES:
            reason = f"an event of type {kind}" if kind else "an event without a type"
        if reason or on is None:
            self._tell(number, rules.UNPLACED, f"{reason}, left out")
            return
        arguments = self._annotations.arguments(event.debug_annotations, state, number)
        row = self._events.add(number, time, clock, kind, on, name, category, arguments)
        if kind == COMPLETE:
            self._events.add_duration(row, event.legacy_event.duration_us * 1000)
        self._events.flows += [
            (row, flow, step) for flow, step in flow_steps(phase, event, name, category)
        ]
        self._add_values(row, number, event, key, state)

    def _name(self, event: pb.TrackEvent, state: SequenceState, number: int) -> str:
        iid = event.name_iid or event.legacy_event.name_iid
        if not iid:
            return utf8(event.name)
        told = state.text(NAMES, iid, number)
        if told is None:
            self._annotations.tell_untold(number, iid)
        return told or ""

    def _category(self, event: pb.TrackEvent, state: SequenceState, number: int) -> str:
        categories = []
        for iid in event.category_iids:
            told = state.text(CATEGORIES, iid, number)
            if told is None:
                self._annotations.tell_untold(number, iid)
            categories.append(told or "")
        categories += map(utf8, event.categories)
        return ",".join(filter(None, categories))

    def _add_values(
        self, row: int, number: int, event: pb.TrackEvent, key: TrackKey, state: SequenceState
    ) -> None:
        """Add the values of counters that an event has."""
        events = self._events
        if event.type == COUNTER:
            if event.HasField("counter_value"):
                events.add_value(row, key, float(event.counter_value), state.number)
            elif event.HasField("double_counter_value"):
                events.add_value(row, key, event.double_counter_value, state.number)
            else:
                self._tell(number, rules.UNPLACED, "an event of a counter without a value")
        for values, own, default in (
            (event.extra_counter_values, event.extra_counter_track_uuids, state.counters[0]),
            (
                event.extra_double_counter_values,
                event.extra_double_counter_track_uuids,
                state.counters[1],
            ),
        ):
            uuids = own or default
            for value, uuid in zip(values, uuids):
                events.add_value(row, uuid, float(value), state.number)
            if len(values) > len(uuids):
                done = f"{len(values) - len(uuids)} further values of counters without a track"
                self._tell(number, rules.UNPLACED, done)
        self._add_carried(row, event, key, state)

    def _add_carried(
        self, row: int, event: pb.TrackEvent, key: TrackKey, state: SequenceState
    ) -> None:
        """Add the values of the thread's own counters, in the older form."""
        carried = (
            ("thread_time_delta_us", "thread_time_absolute_us", 1000),
            ("thread_instruction_count_delta", "thread_instruction_count_absolute", 1),
        )
        for place, (delta, absolute, unit) in enumerate(carried, 1):
            value = None
            if event.HasField(absolute):
                value = getattr(event, absolute) * unit
            if event.HasField(delta) and state.reference is not None:
                state.reference[place] += getattr(event, delta) * unit
                value = state.reference[place]
            if value is not None:
                counter = ThreadCounterKey(key, _CARRIED[place - 1])
                self._events.add_value(row, counter, float(value), state.number)
