"""The packets of a `.pftrace`, some thousands at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilelang_trace import long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace.packets import KEY
from tilelang_trace.formats.pftrace.wire import Truncated, top_level_fields, top_level_places
from tilelang_trace.formats.pftrace.wire_columns import PADDING, Ints

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

CHUNK = 1 << 14
"""Packets that are read together: the columns of so many fit into a processor's cache."""

_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Chunk:
    """Some packets that follow each other."""

    data: bytes
    """From the first to the last one, and padding."""
    first: int
    """The number of the first packet in the file."""
    places: list[int]
    """Where each packet's field begins in the file."""
    starts: Ints
    """Where the packets themselves begin in the data, and where they end."""
    stops: Ints

    def __len__(self) -> int:
        return len(self.places)

    def packet(self, index: int) -> bytes:
        """The bytes of one packet."""
        return self.data[self.starts[index] : self.stops[index]]


def chunks(data: bytes) -> Iterator[Chunk]:
    """The packets of a file. What is no packet raises `Truncated` or ValueError, behind those that
    stand before it.
    """
    at, size, count = 0, len(data), 0
    fault: ValueError | None = None
    while at < size and fault is None:
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
                    fault = Truncated(place)
                    break
            else:
                try:
                    place, number, start, at = next(top_level_places(data, at))
                except StopIteration:
                    at = size
                    break
                except ValueError as error:
                    fault = error
                    break
                if number != 1:
                    continue
            places.append(place)
            starts.append(start)
            stops.append(at)
        if places:
            yield Chunk(
                data[begin : stops[-1]] + bytes(PADDING),
                count,
                places,
                np.array(starts, np.int64) - begin,
                np.array(stops, np.int64) - begin,
            )
        count += len(places)
        long_work.reached(at)
    if fault is not None:
        raise fault


def parsed(data: bytes, place: int, body: bytes) -> Iterator[pb.TracePacket]:
    """The packet whose field begins at this place of the data, or those that are compressed in it.
    Raises UserError if it can't be decoded, `Truncated` if the file may have been cut there.
    """
    from google.protobuf.message import DecodeError
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    packet = pb.TracePacket()
    try:
        packet.ParseFromString(body)
        if packet.compressed_packets:
            inner = zlib.decompress(packet.compressed_packets)
            for inner_place, number, inner_body in top_level_fields(inner):
                if number == 1:
                    yield from parsed(inner, inner_place, bytes(inner_body))
            return
    except (DecodeError, zlib.error) as error:
        if place and not data[place + len(body) :].strip(b"\0"):
            raise Truncated(place) from None  # a file that was cut and filled with zeros
        raise UserError(
            f"not a Perfetto trace: the packet at byte {place} can't be decoded ({error})"
        ) from None
    yield packet
