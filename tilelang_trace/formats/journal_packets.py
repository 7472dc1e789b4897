"""The packets of a journal: those of `packets`, made in a fraction of the time.

A recorder makes two of them for each pass, inside somebody's compile, and what costs most is to
encode numbers and to put pieces together one by one. So times and the numbers of passes are varints
of a fixed size, longer than need be, which leaves all around them the same each time: that is
prepared. Their bytes come from a table, 14 bits at once; the high bits of a time change four times
a second.

    <length> 50 <sequence id> 68 02 40   aa aa bb bb cc cc cc cc cc   5a <length>   <event>
    prepared, by the event's size        time: bits 0-13, 14-27, 28-  prepared
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_trace.formats.packets import PacketSequence
from tilelang_trace.formats.wire import LOW_BITS, varint

_MASK = len(LOW_BITS) - 1

_HIGH_BYTES = 5
"""Bytes for the bits of a time from 28 on: with them a time may be any below 2^63."""

_LARGEST_EVENT = 256
"""Events of less bytes than that are put together fast."""


class JournalPackets(PacketSequence):
    """The packets of one track, as `PacketSequence` makes them but for the size of numbers."""

    def __init__(self, sequence_id: int, track_uuid: int, clock: int) -> None:
        super().__init__(sequence_id, track_uuid, clock)
        self._high = (-1, b"")
        """The bits of the last time from 28 on, and their bytes."""
        self._around: list[tuple[bytes, bytes] | None] = [None] * _LARGEST_EVENT
        """What stands before the time and between it and the event, by the event's size."""

    def stamped(self, time: int, event: bytes) -> bytes:
        """The packet of an event (the fields of a TrackEvent) at a time, ns, below 2^63."""
        size = len(event)
        if self._new or size >= _LARGEST_EVENT:
            return super().stamped(time, event)
        around = self._around[size] or self._prepare(size)
        bits, high = self._high
        if time >> 28 != bits:
            high = self._take_high(time >> 28)
        low, middle = LOW_BITS[time & _MASK], LOW_BITS[time >> 14 & _MASK]
        return b"".join((around[0], low, middle, high, around[1], event))

    def integers(self, name: str) -> Callable[[int], bytes]:
        """The same as `argument` for one name, for numbers from 0 on."""
        prefix = self.integer(name, 5)

        def field(value: int) -> bytes:
            if value >> 28:
                return self.argument(name, value)
            return prefix + LOW_BITS[value & _MASK] + LOW_BITS[value >> 14] + b"\0"

        return field

    def _prepare(self, size: int) -> tuple[bytes, bytes]:
        between = b"\x5a" + varint(size)
        length = len(self.before_time) + 4 + _HIGH_BYTES + len(between) + size
        around = self._around[size] = varint(length) + self.before_time, between
        return around

    def _take_high(self, bits: int) -> bytes:
        groups = [bits >> 7 * place & 0x7F for place in range(_HIGH_BYTES)]
        high = bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
        self._high = bits, high
        return high
