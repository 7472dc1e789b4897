"""The packets of a `.pftrace`, some thousands at a time.

What is no packet is passed by, as far as the place where packets go on: a file may be cut anywhere,
filled with zeros, or damaged in its middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tilelang_trace import long_work
from tilelang_trace.formats.pftrace.numbers import KEY
from tilelang_trace.formats.pftrace.unpacking import Unpacker
from tilelang_trace.formats.pftrace.wire_columns import PADDING, Ints
from tilelang_trace.formats.pftrace.wire_reading import (
    Truncated,
    fields_with_type,
    read_varint,
    top_level_places,
)
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.rules import BROKEN_PACKET, CUT_OFF, Rule

CHUNK = 1 << 14
"""Packets that are read together: the columns of so many fit into a processor's cache."""

_CHUNK_BYTES = 1 << 22

_COMPRESSED = (0x92, 0x03), (0xAA, 0x08)
"""How a packet begins that holds compressed ones: the keys of fields 50 (zlib) and 133 (zstd)."""

_CHAIN = 3
"""So many packets in a row, or one with a time and a sequence, are taken for packets, and not for
bytes that look so.
"""

_TIME, _SEQUENCE, _KNOWN_FIELDS = 8, 10, 2000
_LOOKED_AT = 16
"""So many fields of a packet tell whether it is one: the time stands at its beginning."""


@dataclass(frozen=True)
class Chunk:
    """Some packets that follow each other."""

    data: bytes
    """From the first to the last one, and padding."""
    first: int
    """The number of the first packet in the file."""
    places: list[int]
    """Where each packet's field begins in the file; of a compressed one that of what holds it."""
    starts: Ints
    """Where the packets themselves begin in the data, and where they end."""
    stops: Ints

    def __len__(self) -> int:
        return len(self.places)

    def packet(self, index: int) -> bytes:
        """The bytes of one packet."""
        return self.data[self.starts[index] : self.stops[index]]


def chunks(data: bytes, tell: Tell, *, is_live: bool = False) -> Iterator[Chunk]:
    """The packets of a file, with those that lie compressed in others in their place. Raises
    UserError for what unpacks to more than the limits allow.

    If the file `is_live`, what follows zeros came later than what will be there: it is left out.
    """
    count = 0
    for chunk in _unpacked(_plain_chunks(data, tell, is_live), Unpacker(len(data)), tell):
        yield Chunk(chunk.data, count, chunk.places, chunk.starts, chunk.stops)
        count += len(chunk)


def _plain_chunks(data: bytes, tell: Tell, is_live: bool = False) -> Iterator[Chunk]:
    """The packets of a file or of what was compressed, as they stand there."""
    at, size = 0, len(data)
    while at < size:
        begin, limit = at, at + _CHUNK_BYTES
        places: list[int] = []
        starts: list[int] = []
        stops: list[int] = []
        while at < limit and len(stops) < CHUNK:
            place = at
            try:
                # What nearly all packets begin with, a key and a short length, is read here.
                key, low, high = data[at], data[at + 1], data[at + 2]
            except IndexError:
                key = low = high = 0xFF
            if key == KEY and (low < 0x80 or high < 0x80):
                start, length = (at + 2, low) if low < 0x80 else (at + 3, low & 0x7F | high << 7)
                at = start + length
                if at > size:
                    at = _behind_fault(data, place, Truncated(place), tell, is_live)
                    continue
            else:
                try:
                    place, number, start, at = next(top_level_places(data, at))
                except StopIteration:
                    at = size
                    break
                except ValueError as error:
                    at = _behind_fault(data, place, error, tell, is_live)
                    continue
                if number != 1:
                    continue
            places.append(place)
            starts.append(start)
            stops.append(at)
        if places:
            yield Chunk(
                data[begin : stops[-1]] + bytes(PADDING),
                0,
                places,
                np.array(starts, np.int64) - begin,
                np.array(stops, np.int64) - begin,
            )
        long_work.reached(at)


# ------------------------------------------------------------------------------------- damages


def _behind_fault(data: bytes, place: int, fault: ValueError, tell: Tell, is_live: bool) -> int:
    """Where to go on behind what is no packet."""
    behind = len(data) if is_live else _next_packet(data, place + 1)
    if behind < len(data):
        tell(place, BROKEN_PACKET, f"{behind - place} bytes are no packet, passed by")
    elif isinstance(fault, Truncated):
        tell(place, CUT_OFF, "no whole packet from here on, what there is is left out")
    else:
        tell(place, BROKEN_PACKET, f"no packet from here on ({fault}), the rest is left out")
    return behind


def _next_packet(data: bytes, at: int) -> int:
    """Where packets go on: the end of the data if they don't."""
    while (at := data.find(KEY, at)) >= 0:
        if _are_packets(data, at):
            return at
        at += 1
    return len(data)


def _are_packets(data: bytes, at: int) -> bool:
    """Whether whole packets begin there, the first one with what a packet says of itself."""
    first = True
    for _ in range(_CHAIN):
        if at == len(data):
            break
        try:
            length, start = read_varint(data, at + 1)
        except ValueError:
            return False
        stop = start + length
        if data[at] != KEY:
            return False
        if first:
            said = _said(data[start : min(stop, start + 256)])
            if not said:
                return False
            if len(said) == 2 and stop <= len(data):
                return True
        if stop > len(data):
            return not first
        at, first = stop, False
    return True


def _said(beginning: bytes) -> set[int]:
    """Which of a time and a sequence a packet tells that begins so; nothing if it is none."""
    said = set()
    try:
        for number, kind in islice(fields_with_type(beginning), _LOOKED_AT):
            if not 0 < number < _KNOWN_FIELDS:
                return set()
            if kind == 0 and number in (_TIME, _SEQUENCE):
                said.add(number)
    except Truncated:
        pass
    except ValueError:
        return set()
    return said


# --------------------------------------------------------------------------- compressed packets


def _unpacked(found: Iterator[Chunk], unpacker: Unpacker, tell: Tell) -> Iterator[Chunk]:
    """The chunks, with what lies compressed in packets in place of those."""
    for chunk in found:
        compressed = _compressed(chunk)
        if not compressed:
            yield chunk
            continue
        joining = _Joining()
        done = 0
        for index in compressed:
            yield from joining.add(_part(chunk, done, index))
            place = chunk.places[index]
            inner, fault = unpacker.unpack(chunk.packet(index))
            if fault:
                tell(place, BROKEN_PACKET, fault)

            def tell_of_inner(_: int, rule: Rule, done: str, place: int = place) -> None:
                tell(place, rule, f"in what is compressed there: {done}")

            if inner:
                packets = _plain_chunks(inner, tell_of_inner)
                with unpacker.deeper():
                    for part in _unpacked(packets, unpacker, tell_of_inner):
                        places = [place] * len(part)
                        yield from joining.add(Chunk(part.data, 0, places, part.starts, part.stops))
            done = index + 1
        yield from joining.add(_part(chunk, done, len(chunk)))
        yield from joining.rest()


def _compressed(chunk: Chunk) -> list[int]:
    """Which packets of a chunk begin with compressed ones."""
    octets = np.frombuffer(chunk.data, np.uint8)
    first, second = octets[chunk.starts], octets[chunk.starts + 1]
    either = [(first == low) & (second == high) for low, high in _COMPRESSED]
    found: list[int] = np.flatnonzero(np.logical_or(*either)).tolist()
    return found


def _part(chunk: Chunk, start: int, stop: int) -> Chunk:
    """Some packets of a chunk."""
    starts, stops = chunk.starts[start:stop], chunk.stops[start:stop]
    begin = int(starts[0]) if start < stop else 0
    data = chunk.data[begin : stops[-1]] if start < stop else b""
    return Chunk(data, 0, chunk.places[start:stop], starts - begin, stops - begin)


class _Joining:
    """Makes chunks of the usual size from smaller ones."""

    def __init__(self) -> None:
        self._parts: list[Chunk] = []
        self._packets = self._bytes = 0

    def add(self, part: Chunk) -> Iterator[Chunk]:
        """Take some packets more; gives a chunk if there are enough."""
        if len(part):
            self._parts.append(part)
            self._packets += len(part)
            self._bytes += len(part.data)
        if self._packets >= CHUNK or self._bytes >= _CHUNK_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[Chunk]:
        """What there is."""
        parts = self._parts
        if parts:
            sizes = np.array([len(part.data) for part in parts], np.int64)
            begins = np.repeat(np.cumsum(sizes) - sizes, [len(part) for part in parts])
            yield Chunk(
                b"".join(part.data for part in parts) + bytes(PADDING),
                0,
                [place for part in parts for place in part.places],
                np.concatenate([part.starts for part in parts]) + begins,
                np.concatenate([part.stops for part in parts]) + begins,
            )
        self._parts, self._packets, self._bytes = [], 0, 0
