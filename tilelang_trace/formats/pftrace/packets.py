"""Perfetto trace packets, as bytes: what both the `.pftrace` writer and the recorder's journal
write.

A file is a row of packets, each whole in itself, so that files can be appended to and cut:

    0a <length> <TracePacket>  0a <length> <TracePacket>  ...

What the functions here give is `<length> <TracePacket>`. The key that makes it a packet of the file
is put in front by `joined`, and by the journal once all the rest is there.

A begin of a pass on a sequence whose names are interned already, about 50 bytes (field number:
content):

    TracePacket  10: sequence id      13: 2 (needs incremental state)      8: timestamp, ns
                 11: TrackEvent  9: 1 (slice begin)  3: category iid  10: name iid
                                 4: DebugAnnotation  1: name iid  3|4|6|17|11: value      (one each)

An end has type 2 and no name. The first packet of a sequence clears the incremental state and sets
the defaults of all that follow (59: clock of the timestamps, track), which saves ten bytes an
event. A name that is new on a sequence comes in the interned data (12) of the packet that first
needs it. `slice_packets` lays out the same packets for many slices at once.

Source of the numbers and rules: Perfetto's trace_packet.proto, track_event.proto,
debug_annotation.proto, interned_data.proto and track_descriptor.proto. Tests hold the bytes against
perfetto's generated classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from tilelang_trace.formats.pftrace.numbers import KEY
from tilelang_trace.formats.pftrace.wire import (
    field_bytes,
    field_double,
    field_fixed64,
    field_text,
    field_varint,
    varint,
)
from tilelang_trace.trace.arguments import DIFFERENCE, FAILED, INCOMPLETE
from tilelang_trace.trace.json_values import storable

if TYPE_CHECKING:
    from tilelang_trace.trace.json_values import Json

COLOURS = {FAILED: "failed 942", INCOMPLETE: "error 373"}
"""Texts whose hash Perfetto shows as two reds; decoration only, the category and the argument
count.
"""

DIFFERENCE_COLOURS = {
    f"{DIFFERENCE},{what}": colour
    for what, colour in {
        **COLOURS,
        "slower": "slower 116",  # orange
        "faster": "faster 226",  # green
        **dict.fromkeys(("added", "removed", "renamed", "moved", "not_reached"), "changed 523"),
    }.items()
}
"""The same by the category of a difference; the last ones are blue."""

INTERNED_ARGUMENTS = frozenset({"phase", "status"})
"""String arguments with few different values, written as interned ids."""

_STATE_CLEARED, _NEEDS_STATE = 1, 2
_SLICE_BEGIN, _SLICE_END, _INSTANT, _COUNTER = 1, 2, 3, 4
_SIBLING_MERGE_NONE = 2
_EXPLICIT_ORDER = 1

_VARINT = rb"([\x80-\xff]*[\x00-\x7f])"

STAMPED = re.compile(
    rb"\x50%b\x68\x02\x40%b\x5a%b(\x48[\x01-\x04])(?:\x18%b)?" % ((_VARINT,) * 4), re.DOTALL
)
"""The beginning of a packet's body that `PacketSequence.stamped` made, for those who read many of
them: sequence id, time, length of the event, the event's type (it begins with that), first category
iid. All but the type are varints.
"""

SLICE_BEGINS, SLICE_ENDS = b"\x48\x01", b"\x48\x02"
"""The types of interest."""

_KEPT = 1 << 14
"""How many prepared pieces a sequence keeps: memory must not grow with the number of events."""

_KEY = bytes((KEY,))


def packet(body: bytes) -> bytes:
    """A TracePacket's bytes with their length in front."""
    return varint(len(body)) + body


def joined(packets: Iterable[bytes]) -> bytes:
    """Packets as a file, or a piece of one."""
    return _KEY.join((b"", *packets))


def track_packet(
    sequence_id: int,
    uuid: int,
    *,
    name: str = "",
    parent: int | None = None,
    process: tuple[int, str] | None = None,
    labels: Iterable[str] = (),
    thread: tuple[int, int, str] | None = None,
    counter_unit: str | None = None,
    rank: int | None = None,
) -> bytes:
    """A TrackDescriptor: of a process (pid, name), a thread (pid, tid, name), a counter, or a row
    of its own.

    `rank` is the position among the siblings, for viewers that heed it (v58 and later).
    """
    body = field_varint(1, uuid)
    if name:
        body += field_text(2, name)
    if process:
        body += field_bytes(
            3,
            field_varint(1, process[0])
            + field_text(6, process[1])
            + b"".join(field_text(8, label) for label in labels),
        )
    if thread:
        body += field_bytes(
            4,
            field_varint(1, thread[0]) + field_varint(2, thread[1]) + field_text(5, thread[2]),
        )
    if parent is not None:
        body += field_varint(5, parent)
    if counter_unit is not None:
        body += field_bytes(8, field_text(6, counter_unit) if counter_unit else b"")
    if rank is not None:
        body += field_varint(12, rank)
    if not process and not thread:
        body += field_varint(15, _SIBLING_MERGE_NONE)
    return packet(field_varint(10, sequence_id) + field_bytes(60, body))


def root_packet(sequence_id: int) -> bytes:
    """The root descriptor: processes and threads stand in the order of their ranks (from v58)."""
    body = field_varint(1, 0) + field_varint(19, _EXPLICIT_ORDER)
    body += field_varint(20, _EXPLICIT_ORDER)
    return packet(field_varint(10, sequence_id) + field_bytes(60, body))


def clock_packet(sequence_id: int, clocks: Mapping[int, int]) -> bytes:
    """A ClockSnapshot: what several clocks (id: ns) showed at one moment."""
    body = b"".join(
        field_bytes(1, field_varint(1, clock) + field_varint(2, time))
        for clock, time in clocks.items()
    )
    return packet(field_varint(10, sequence_id) + field_bytes(6, body))


def metadata_packet(sequence_id: int, timestamp: int, name: str, value: Json) -> bytes:
    """A JSON value under a name, as ChromeMetadata: Perfetto keeps it and draws nothing."""
    try:
        text = orjson.dumps(value)
    except TypeError:  # a command line, for one, may be anything
        text = orjson.dumps(storable(value))
    entry = field_text(1, name) + field_bytes(5, text)
    return packet(
        field_varint(8, timestamp)
        + field_varint(10, sequence_id)
        + field_bytes(5, field_bytes(2, entry))
    )


END = field_varint(9, _SLICE_END)
"""The fields of a slice's end without arguments."""


def _colour(text: str) -> bytes:
    return field_text(53, text) if text else b""


def flow_fields(starting: Iterable[int], ending: Iterable[int]) -> bytes:
    """The arrows that start and that end at an event, as fields of it."""
    starts = b"".join(field_fixed64(47, flow) for flow in starting)
    return starts + b"".join(field_fixed64(48, flow) for flow in ending)


class _Names:
    """Interned texts of one kind on one sequence; `new` gets those that no packet has yet."""

    def __init__(self, field: int, new: bytearray) -> None:
        self._field = field
        self._ids: dict[str, bytes] = {}
        self._new = new

    def iid(self, text: str) -> bytes:
        """The id of a text, as a varint."""
        known = self._ids.get(text)
        if known is None:
            known = self._ids[text] = varint(len(self._ids) + 1)
            self._new += field_bytes(self._field, b"\x08" + known + field_text(2, text))
        return known


class PacketSequence:
    """The packets of one track: one sequence each, so that names and defaults are said once.

    `clock` is the builtin clock of the timestamps; None means the trace's own. An event is put
    together from `head` and `argument`, which can be kept and used again on this sequence, and
    becomes a packet with `stamped`; `begin_event`, `end_event`, `instant` and `counter` are for
    those who don't count each microsecond.
    """

    def __init__(self, sequence_id: int, track_uuid: int, clock: int | None = None) -> None:
        sequence = field_varint(10, sequence_id)
        defaults = b"" if clock is None else field_varint(58, clock)
        defaults += field_bytes(11, field_varint(11, track_uuid))
        self._first = sequence + field_varint(13, _STATE_CLEARED) + field_bytes(59, defaults)
        self.before_time = sequence + field_varint(13, _NEEDS_STATE) + b"\x40"
        """The fields before those of the event, up to the key of the timestamp."""
        self.new = bytearray()
        """Interned data that the next packet has to carry; `take_new` takes it."""
        self._categories = _Names(1, self.new)
        self._events = _Names(2, self.new)
        self._arguments = _Names(3, self.new)
        self._texts = _Names(29, self.new)
        self._heads: dict[tuple[str, str], bytes] = {}
        self._annotations: dict[tuple[str, Json, type], bytes] = {}

    def first(self) -> bytes:
        """The packet that must stand before all others of this sequence."""
        return packet(self._first)

    def begin_event(
        self, name: str, category: str, arguments: Mapping[str, Json], colour: str = ""
    ) -> bytes:
        """The fields of a slice's begin; `colour` is a text whose hash Perfetto takes for the
        slice's colour.
        """
        if colour:
            event = self.begin_of(category, colour) + self.event_name(name)
        else:
            event = self.head(name, category)
        return event + self._arguments_of(arguments)

    def end_event(self, arguments: Mapping[str, Json], colour: str = "") -> bytes:
        """The fields of the end of the innermost open slice; its arguments join those of the
        begin.
        """
        return END + self._arguments_of(arguments) + _colour(colour)

    def instant(
        self,
        time: int,
        name: str,
        category: str,
        arguments: Mapping[str, Json],
        *,
        ended_flows: Iterable[int] = (),
    ) -> bytes:
        """An event without a duration."""
        event = field_varint(9, _INSTANT) + self._categories_of(category) + self.event_name(name)
        event += self._arguments_of(arguments)
        return self.stamped(time, event + flow_fields((), ended_flows))

    def counter(self, time: int, value: float) -> bytes:
        """A value of a counter track."""
        return self.stamped(time, field_varint(9, _COUNTER) + field_double(44, value))

    def stamped(self, time: int, event: bytes) -> bytes:
        """The packet of an event (the fields of a TrackEvent) at a time, ns."""
        body = self.before_time + varint(time) + b"\x5a" + varint(len(event)) + event
        if self.new:
            body += field_bytes(12, self.take_new())
        return varint(len(body)) + body

    def take_new(self) -> bytes:
        """The interned data (a field's content) that no packet has yet; the caller writes them, no
        later than what needs them.
        """
        new = bytes(self.new)
        self.new.clear()
        return new

    def head(self, name: str, category: str) -> bytes:
        """The fields of a slice's begin that are the same each time."""
        known = self._heads.get((name, category))
        if known is None:
            known = self.begin_of(category) + self.event_name(name)
            if len(self._heads) < _KEPT:
                self._heads[name, category] = known
        return known

    def begin_of(self, category: str, colour: str = "") -> bytes:
        """The fields of a slice's begin apart from its name and arguments."""
        return field_varint(9, _SLICE_BEGIN) + self._categories_of(category) + _colour(colour)

    def event_name(self, name: str) -> bytes:
        """The name of an event, as a field of it."""
        return b"\x50" + self._events.iid(name)

    def argument(self, name: str, value: Json) -> bytes:
        """An argument, as a field of an event."""
        if isinstance(value, (dict, list, tuple, float)):
            # Neither can be looked up: containers have no hash, and 0.0 is equal to -0.0.
            return field_bytes(4, self._named(name) + self._value(value))
        key = (name, value, type(value))
        known = self._annotations.get(key)
        if known is None:
            if name in INTERNED_ARGUMENTS and isinstance(value, str):
                content = b"\x88\x01" + self._texts.iid(value)
            else:
                content = self._value(value)
            known = field_bytes(4, self._named(name) + content)
            if len(self._annotations) < _KEPT and len(known) < 64:
                self._annotations[key] = known
        return known

    def integer(self, name: str, width: int) -> bytes:
        """What stands in front of an integer that takes `width` bytes as a varint: with it, this is
        what `argument` gives.
        """
        named = self._named(name)
        return b"\x22" + varint(len(named) + 1 + width) + named + b"\x20"

    def _arguments_of(self, arguments: Mapping[str, Json]) -> bytes:
        return b"".join([self.argument(name, value) for name, value in arguments.items()])

    def _categories_of(self, category: str) -> bytes:
        parts = category.split(",") if category else []
        if "" in parts:  # readers leave out a category without a name
            parts = [category]
        return b"".join(b"\x18" + self._categories.iid(part) for part in parts)

    def _named(self, name: str) -> bytes:
        return b"\x08" + self._arguments.iid(name)

    def _value(self, value: Any) -> bytes:
        """The value of a DebugAnnotation. What it has no field for is written as JSON text."""
        if isinstance(value, bool):
            return field_varint(2, value)
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return field_varint(4, value)
            if 0 <= value < 2**64:
                return field_varint(3, value)
            return field_text(6, str(value))
        if isinstance(value, float) and math.isfinite(value):
            return field_double(5, value)
        if isinstance(value, str):
            return field_text(6, value)
        if isinstance(value, dict) and value:
            return b"".join(
                field_bytes(11, field_text(10, key) + self._value(item))
                for key, item in value.items()
            )
        if isinstance(value, (list, tuple)) and value:
            return b"".join(field_bytes(12, self._value(item)) for item in value)
        if value is None or isinstance(value, float):
            return b""  # JSON's null: Perfetto shows nothing, and v52 crashes on the text "null"
        return field_bytes(9, orjson.dumps(value))  # {} and []
