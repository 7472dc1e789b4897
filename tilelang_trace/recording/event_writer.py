"""The events of one track, written straight into the journal: two a pass, inside somebody's
compile.

What takes time there is to encode numbers, to put bytes together piece by piece, and each function
that is called. So a time is a varint of a fixed size, longer than need be. What is around it is the
same for all events of a size, and is prepared; `struct` writes it all in one call. The digits of a
time from bit 21 on stay the same for two milliseconds.

    7a <length> 50 <sequence id> 68 02 40   aa bb cc dd dd dd dd dd dd   5a <length>   <event>
    prepared, by the event's size           time: bits 0-6, ... 21-      prepared

No lock keeps other threads out, for it would take as long as all the rest. CPython changes to
another thread, or to a signal's handler, only where something is called or a jump is taken. Neither
happens from where the journal's end is read to where `struct` writes: nobody else takes that place,
and what is appended later lies behind it. Then comes the key that makes a packet of it (see
`journal`).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TypeAlias

from tilelang_trace.formats.pftrace.numbers import KEY
from tilelang_trace.formats.pftrace.packets import PacketSequence
from tilelang_trace.formats.pftrace.wire import LOW_BITS, field_bytes, varint
from tilelang_trace.recording.journal import HAS_GIL, UNFINISHED, Journal
from tilelang_trace.trace.arguments import PASS

_MASK = len(LOW_BITS) - 1
_LAST_DIGIT = [bytes((value,)) for value in range(0x80)]

_LOW_BITS = 21
_HIGH_BYTES = 6
"""For the other bits of a time, which may be any below 2^63."""

_NUMBER_BYTES = 5
"""Numbers of passes may be any below 2^35."""

_PREPARED_SIZE = 256
"""What is around events of up to so many bytes is kept."""

_KEPT_HEADS = 1 << 14
"""Memory must not grow with the number of passes, though each may have a name of its own."""

_Frame: TypeAlias = tuple[Callable[..., None], int, bytes, bytes]
"""What is around an event: the function that writes it all, the size of it all, what stands before
the time, and what between it and the event.
"""


class EventWriter:
    """Writes the events of a track; `packets` knows which names its packets have told."""

    def __init__(self, journal: Journal, packets: PacketSequence) -> None:
        self._journal = journal
        self._packets = packets
        self._frames: dict[int, _Frame] = {}
        """By the size of the event."""
        self._high = (0, b"\x80\x80\x80\x80\x80\x00")
        """The last time without its low bits, and the digits of it."""
        self._heads: dict[str, bytes] = {}
        """By the name of a pass."""
        self._begin = packets.begin_of(PASS)
        self._number = packets.integer("sequence", _NUMBER_BYTES)
        self.at: int | None = None
        """Where in the file the last event is, from the moment on when it has its place."""

    def head_of_pass(self, name: str) -> bytes:
        """What the begins of the passes of this name have in common, for `begin_of_pass`."""
        head = self._heads.get(name)
        if head is None:
            head = self._begin + self._packets.event_name(str(name)) + self._number
            if len(self._heads) < _KEPT_HEADS:
                self._heads[str(name)] = head
        return head

    def begin_of_pass(self, head: bytes, number: int, arguments: bytes) -> bytes:
        """The event of a pass's begin: `number` is its `sequence`, `arguments` are the others, as
        fields of the event.
        """
        low, middle = LOW_BITS[number & _MASK], LOW_BITS[number >> 14 & _MASK]
        return b"".join((head, low, middle, _LAST_DIGIT[number >> 28], arguments))

    def _write(self, time: int, event: bytes) -> None:
        """Write an event (the fields of a TrackEvent) at a time, ns."""
        frame = None if self._packets.new else self._frames.get(len(event))
        if frame is None:
            frame, event = self._prepare(event)
        pack_into, size, before, between = frame
        since, high = self._high
        low = time - since
        if low >> _LOW_BITS:  # also if it is negative
            since, high = self._take_high(time)
            low = time - since
        a, b, c = low & 0x7F | 0x80, low >> 7 & 0x7F | 0x80, low >> 14 | 0x80
        journal = self._journal
        while True:
            map_, begin = journal.map, journal.position
            if begin + size <= journal.room:
                at = journal.start + begin
                try:
                    journal.position, self.at = begin + size, at
                    pack_into(map_, begin, before, a, b, c, high, between, event)
                    map_[begin] = KEY
                except BaseException:
                    if self.at == at and map_[begin] != KEY:  # never finished: readers pass it by
                        map_[begin : begin + len(before)] = before
                    raise
                return
            del map_  # to unmap it lets other threads run: not when a new one is set in its place
            journal.make_room(size)

    def _write_locked(self, time: int, event: bytes) -> None:
        with self._journal.lock:
            self._write(time, event)

    write = _write if HAS_GIL else _write_locked

    def has_written(self, last: int | None) -> bool:
        """Whether an event was written since `at` was `last`, and not given up in the middle."""
        return self.at is not None and self.at != last and self._journal.byte_at(self.at) == KEY

    def _prepare(self, event: bytes) -> tuple[_Frame, bytes]:
        """What is around an event, and the event with the new names, if any, that come with it."""
        size = len(event)
        if self._packets.new:
            event += field_bytes(12, self._packets.take_new())
        between = b"\x5a" + varint(size)
        length = len(self._packets.before_time) + 3 + _HIGH_BYTES + len(between) + len(event)
        before = bytes((UNFINISHED,)) + varint(length) + self._packets.before_time
        struct = Struct(f"<{len(before)}sBBB{_HIGH_BYTES}s{len(between)}s{len(event)}s")
        frame = struct.pack_into, struct.size, before, between
        if size == len(event) <= _PREPARED_SIZE:
            self._frames[size] = frame
        return frame, event

    def _take_high(self, time: int) -> tuple[int, bytes]:
        high = time >> _LOW_BITS
        groups = [high >> 7 * place & 0x7F for place in range(_HIGH_BYTES)]
        self._high = (
            high << _LOW_BITS,
            bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]]),
        )
        return self._high
