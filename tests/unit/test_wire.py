"""Protobuf's wire format, held against protobuf itself."""

from __future__ import annotations

import random
import struct

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tilelang_trace.formats.pftrace.wire import (
    field_bytes,
    field_double,
    field_fixed64,
    field_text,
    field_varint,
    varint,
)
from tilelang_trace.formats.pftrace.wire_reading import Truncated, read_varint, top_level_fields

EDGES = sorted({2**k + d for k in range(64) for d in (-1, 0, 1)} | {0, 2**64 - 1})
RANDOM = [random.Random(seed).getrandbits(1 + seed % 64) for seed in range(500)]


def test_varints_over_the_whole_range_are_those_of_protobuf() -> None:
    for value in [*EDGES, *RANDOM]:
        key, expected = b"\x40", pb.TracePacket(timestamp=value).SerializeToString()
        assert key + varint(value) == expected, value
        assert field_varint(8, value) == expected, value


def test_varints_known_by_hand() -> None:
    assert varint(0) == b"\x00"
    assert varint(127) == b"\x7f"
    assert varint(128) == b"\x80\x01"
    assert varint(300) == b"\xac\x02"
    assert varint(2**64 - 1) == b"\xff" * 9 + b"\x01"


def test_varints_come_back() -> None:
    for value in [*EDGES, *RANDOM]:
        data = b"\xff" + varint(value) + b"\xff"
        assert read_varint(data, 1) == (value, len(data) - 1)
        assert read_varint(memoryview(data), 1) == (value, len(data) - 1)


@pytest.mark.parametrize("value", [-1, -128, -(2**31), -(2**63)])
def test_negative_integers_are_two_s_complement(value: int) -> None:
    assert pb.DebugAnnotation.FromString(field_varint(4, value)).int_value == value


def test_padded_varints_are_read() -> None:
    assert read_varint(b"\x85\x80\x80\x00", 0) == (5, 4)


def test_a_varint_that_is_cut_or_endless_is_told() -> None:
    for data in (b"", b"\x80", b"\xff" * 9):
        with pytest.raises(Truncated) as cut:
            read_varint(data, 0)
        assert cut.value.offset == 0
    with pytest.raises(ValueError, match="byte 1 is longer than 10 bytes") as endless:
        read_varint(b"\x00" + b"\xff" * 10, 1)
    assert not isinstance(endless.value, Truncated)


@pytest.mark.parametrize("number", [1, 15, 16, 100, 2047, 2048, 536_870_911])
def test_keys_of_all_sizes(number: int) -> None:
    key, _ = read_varint(field_varint(number, 1), 0)
    assert (key >> 3, key & 7) == (number, 0)
    assert list(top_level_fields(field_bytes(number, b"x"))) == [(0, number, b"x")]


@pytest.mark.parametrize("text", ["", "plain", "größe 漢字 😀", "a\0b", "x" * 200, "x" * 20_000])
def test_texts_are_those_of_protobuf(text: str) -> None:
    assert field_text(6, text) == pb.DebugAnnotation(string_value=text).SerializeToString()


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.5, -1e308, 5e-324, float("inf"), float("-inf"), float("nan")]
)
def test_doubles_are_those_of_protobuf(value: float) -> None:
    data = field_double(5, value)
    assert data == pb.DebugAnnotation(double_value=value).SerializeToString()
    assert struct.pack("<d", value) == data[1:]


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64 - 1])
def test_fixed_integers_are_those_of_protobuf(value: int) -> None:
    event = pb.TrackEvent.FromString(field_fixed64(47, value))
    assert list(event.flow_ids) == [value]


# ---------------------------------------------------------------------------- the top level


def a_file() -> tuple[bytes, list[int]]:
    """A small file of three packets, and the offsets at which one begins and at which it ends."""
    packets = [
        pb.TracePacket(timestamp=2**40, trusted_packet_sequence_id=1),
        pb.TracePacket(track_descriptor=pb.TrackDescriptor(uuid=5, name="x" * 130)),
        pb.TracePacket(timestamp=7),
    ]
    data, offsets = b"", [0]
    for packet in packets:
        data += pb.Trace(packet=[packet]).SerializeToString()
        offsets.append(len(data))
    return data, offsets


def test_packets_come_one_by_one_with_their_places() -> None:
    data, offsets = a_file()
    packets = list(pb.Trace.FromString(data).packet)
    for kind in (bytes, memoryview):
        found = list(top_level_fields(kind(data)))
        assert [offset for offset, _, _ in found] == offsets[:3]
        assert [number for _, number, _ in found] == [1, 1, 1]
        assert [pb.TracePacket.FromString(bytes(body)) for _, _, body in found] == packets


def cut_at(data: bytes, end: int) -> tuple[list[int], int | None]:
    """The packets found in a file that ends there, and the place that `Truncated` tells."""
    found: list[int] = []
    try:
        for offset, _, _ in top_level_fields(data[:end]):
            found.append(offset)
    except Truncated as error:
        return found, error.offset
    return found, None


def test_a_file_cut_at_any_byte_loses_only_its_last_packet() -> None:
    data, offsets = a_file()
    for end in range(len(data)):
        found, cut = cut_at(data, end)
        whole = [start for start, stop in zip(offsets, offsets[1:]) if stop <= end]
        assert found == whole, end
        assert (cut is None) == (end in offsets), end


def test_the_place_of_a_cut_is_the_field_that_is_not_whole() -> None:
    data, offsets = a_file()
    for end in set(range(len(data))) - set(offsets):
        assert cut_at(data, end)[1] == max(offset for offset in offsets if offset < end), end


@pytest.mark.parametrize("count", [1, 2, 9, 4095, 4096, 4097, 100_000])
def test_zeros_at_the_end_are_passed_by(count: int) -> None:
    data, offsets = a_file()
    found = [offset for offset, _, _ in top_level_fields(data + bytes(count))]
    assert found == offsets[:3]


@pytest.mark.parametrize("count", [1, 5_000])
def test_zeros_in_the_middle_end_what_is_whole(count: int) -> None:
    data, offsets = a_file()
    damaged = data + bytes(count) + data
    assert cut_at(damaged, len(damaged)) == (offsets[:3], len(data))


def test_fields_of_other_types_are_passed_by() -> None:
    data = (
        field_varint(3, 2**50)
        + field_bytes(1, b"one")
        + field_double(4, 1.5)
        + b"\x2d\x01\x02\x03\x04"  # field 5, four bytes
        + field_bytes(2, b"two")
    )
    assert [(number, body) for _, number, body in top_level_fields(data)] == [
        (1, b"one"),
        (2, b"two"),
    ]


@pytest.mark.parametrize("field", [b"\x21\x01\x02\x03", b"\x2d\x01", b"\x18\x80", b"\x0a\x05ab"])
def test_any_field_that_is_cut_is_told(field: bytes) -> None:
    with pytest.raises(Truncated):
        list(top_level_fields(field_bytes(1, b"ok") + field))


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_wire_types_that_no_trace_has_are_an_error(kind: int) -> None:
    with pytest.raises(ValueError, match=f"wire type {kind} at byte 4 "):
        list(top_level_fields(field_bytes(1, b"ok") + bytes([8 | kind]) + b"rest"))
