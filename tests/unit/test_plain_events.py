"""Packets that are read many at a time say the same as one by one through protobuf's classes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.random_packets import packets
from tests.random_traces import traces
from tests.traces import TRACES, one_lane, said
from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace import packet_chunks, plain_chunk
from tilelang_trace.formats.pftrace import reader as pftrace_reader
from tilelang_trace.formats.pftrace.packet_reader import PacketReader
from tilelang_trace.formats.pftrace.plain_events import PlainEvents, plain_events
from tilelang_trace.formats.pftrace.wire import field_bytes, varint
from tilelang_trace.formats.pftrace.wire_columns import PADDING, distinct, field_table
from tilelang_trace.formats.pftrace.wire_reading import fields
from tilelang_trace.formats.pftrace.writer import write
from tilelang_trace.trace.begin_end import OpenSlices, paired
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace


def none_plain(data: bytes, starts: Any, stops: Any) -> PlainEvents:
    """What makes the reader take each packet by itself."""
    return plain_events(data, starts[:0], stops[:0])


def outcome(data: bytes) -> Any:
    """All that comes of a file, its Trace and the findings, or why it is refused."""
    try:
        trace = pftrace_reader.read(data).build()
    except UserError as error:
        return str(error)
    # An argument that a later one of its name replaces may be looked at, or not.
    findings = sorted({(finding.place, finding.rule) for finding in trace.findings})
    return repr((said(trace), findings))


def assert_read_alike(data: bytes) -> None:
    """However many packets are read together, all of them or none, the same comes of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_chunk, "plain_events", none_plain)
        expected = outcome(data)
    assert outcome(data) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_chunks, "CHUNK", 9)
        assert outcome(data) == expected


def joined(file: list[pb.TracePacket]) -> bytes:
    """The bytes of a file."""
    data: bytes = pb.Trace(packet=file).SerializeToString()
    return data


def damages(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """What may have become of a file."""
    cut = data[: chance.randrange(len(data) + 1)]
    yield cut
    yield cut + bytes(chance.randrange(1, 500))
    yield data + bytes(300)
    yield data + b"\x7a\x03abc" + data
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    yield bytes(changed)


@pytest.mark.parametrize("seed", range(24))
def test_random_packets(seed: int) -> None:
    chance = random.Random(seed)
    data = joined(packets(chance))
    assert_read_alike(data)
    assert_read_alike(chance.choice(list(damages(data, chance))))


@settings(max_examples=25, deadline=None)
@given(traces())
def test_random_traces(trace: Trace) -> None:
    assert_read_alike(b"".join(write(trace)))


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_hand_made_traces(make: Callable[[], Trace]) -> None:
    assert_read_alike(b"".join(write(make())))


def test_nearly_all_packets_of_ours_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = [
        (k, k + 1, f"s{k % 9}", "pass", {"sequence": k, "status": "ok", "x": k / 7, "b": k > 5})
        for k in range(1000)
    ]
    one_by_one = []
    take = PacketReader._take_packet

    def noting(reader: PacketReader, packet: pb.TracePacket, *more: Any) -> None:
        one_by_one.append(packet)
        take(reader, packet, *more)

    monkeypatch.setattr(PacketReader, "_take_packet", noting)
    trace = one_lane(*slices)
    assert said(pftrace_reader.read(b"".join(write(trace))).build()) == said(trace)
    assert 0 < len(one_by_one) < 10


# ------------------------------------------------------------------------- what ids mean


def an_event(time: int, kind: int = 1, **more: Any) -> pb.TracePacket:
    event = pb.TrackEvent(type=kind, track_uuid=5, **more)
    return pb.TracePacket(timestamp=time, trusted_packet_sequence_id=9, track_event=event)


def names(*texts: str, first: int = 1, cleared: bool = False) -> pb.TracePacket:
    interned = pb.InternedData()
    for iid, text in enumerate(texts, first):
        interned.event_names.add(iid=iid, name=text)
        interned.debug_annotation_names.add(iid=iid, name=text)
    return pb.TracePacket(
        trusted_packet_sequence_id=9, interned_data=interned, sequence_flags=1 if cleared else 2
    )


def slice_names(*file: pb.TracePacket) -> list[str]:
    """The names of the slices, by time; other packets stand around them, so that a chunk has
    enough plain ones.
    """
    many = [an_event(time, kind) for time in range(10**6, 10**6 + 50) for kind in (1, 2)]
    trace = pftrace_reader.read(joined([*file, *many])).build()
    return [trace.name(row) for row in range(len(trace.slices) - 50)]


def test_a_name_means_something_from_the_packet_on_that_tells_it() -> None:
    event = [an_event(time, name_iid=1) for time in range(5)]
    assert slice_names(event[0], names("a"), event[1]) == ["", "a"]
    assert slice_names(names("a"), event[0], names("a"), event[1]) == ["a", "a"]
    assert slice_names(names("a"), event[0], names("b"), event[1]) == ["a", "b"]
    cleared = names("c", first=2, cleared=True)
    assert slice_names(names("a"), event[0], cleared, event[1]) == ["a", ""]
    assert slice_names(names("zero", first=0), an_event(0, name_iid=0)) == [""]


def test_of_two_arguments_of_one_name_the_later_counts() -> None:
    event = an_event(0)
    for iid, value in ((1, 10), (2, 20), (1, 30)):
        event.track_event.debug_annotations.add(name_iid=iid, int_value=value)
    event.track_event.debug_annotations.add(name="two", string_value="text")
    event.track_event.debug_annotations.add(name_iid=2, double_value=0.5)
    data = joined([names("one", "two"), event, *(an_event(k, 1 + k % 2) for k in range(1, 40))])
    assert pftrace_reader.read(data).build().arguments.of(0) == {"one": 30, "two": 0.5}


def test_the_arguments_of_an_end_join_those_of_its_begin() -> None:
    begin, end = an_event(0), an_event(5, 2)
    for event, value, key in ((begin, 1, "a"), (end, 2, "b")):
        event.track_event.debug_annotations.add(name_iid=1, int_value=value)
        nested = event.track_event.debug_annotations.add(name_iid=2)
        nested.dict_entries.add(name=key, int_value=value)
    end.track_event.debug_annotations.add(name_iid=3, bool_value=True)
    data = joined(
        [names("n", "o", "end"), begin, *(an_event(3, 1 + k % 2) for k in range(40)), end]
    )
    trace = pftrace_reader.read(data).build()
    assert trace.arguments.of(0) == {"n": 2, "o": {"a": 1, "b": 2}, "end": True}


@pytest.mark.parametrize("place", ["annotation", "interned", "annotation beside interned"])
def test_a_fault_deep_in_a_plain_packet_is_told_with_its_place(place: str) -> None:
    broken = field_bytes(11, b"\x08\x80")  # a varint that doesn't end
    event = b"\x48\x01" + (field_bytes(4, b"\x08\x01" + broken) if "annot" in place else b"")
    packet = b"\x50\x09\x40\x05" + field_bytes(11, event)
    if place == "interned":
        packet += field_bytes(12, field_bytes(2, broken[:1]))
    elif "interned" in place:
        packet += field_bytes(12, b"")
    before, after = (joined([an_event(k, 1 + k % 2) for k in range(40)]) for _ in range(2))
    (fault,) = [
        finding
        for finding in pftrace_reader.read(before + field_bytes(1, packet) + after).findings
        if finding.rule == "broken-packet"
    ]
    assert fault.place == f"byte {len(before)}"
    assert_read_alike(before + field_bytes(1, packet) + after)
    assert_read_alike(before + field_bytes(1, packet) + bytes(100))


# --------------------------------------------------------------------------------- the wire


def padded(value: int, chance: random.Random, longest: int) -> bytes:
    """A varint with bytes behind it that say nothing."""
    data = bytearray(varint(value))
    for _ in range(chance.randint(0, longest - len(data))):
        data[-1] |= 0x80
        data.append(0)
    return bytes(data)


def test_varints_may_be_longer_than_they_need() -> None:
    chance = random.Random(3)

    def longer(message: bytes, inner: tuple[int, ...]) -> bytes:
        out = b""
        at = 0
        for number, value, content in fields(message):
            size = len(field_bytes(number, bytes(content)))
            if content or message[at:].startswith(field_bytes(number, b"")):
                at += size
                body = bytes(content)
                body = longer(body, inner[1:]) if inner and number == inner[0] else body
                out += padded(number << 3 | 2, chance, 5) + padded(len(body), chance, 5) + body
            else:
                at += len(varint(number << 3)) + len(varint(value))
                out += padded(number << 3, chance, 5) + padded(value, chance, 10)
        return out

    slices = [(k, k + 1, "s", "pass", {"sequence": -k, "status": "ok"}) for k in range(300)]
    trace = one_lane((-5, 10**18, "outer", ""), *slices)
    data = b"".join(write(trace))
    assert len(longer(data, (1, 11, 4))) > 1.5 * len(data)
    assert said(pftrace_reader.read(longer(data, (1, 11, 4))).build()) == said(trace)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=20))
def test_fields_of_any_bytes(messages: list[bytes]) -> None:
    sizes = np.array([len(message) for message in messages], np.int64)
    stops = np.cumsum(sizes)
    table = field_table(b"".join(messages) + bytes(PADDING), stops - sizes, stops)
    for number, message in enumerate(messages):
        rows = np.flatnonzero(table.message == number)
        columns = (table.key[rows], table.value[rows], table.start[rows] - (stops - sizes)[number])
        found = []
        for key, value, start in zip(*(column.tolist() for column in columns)):
            content = message[start : start + value] if key & 7 == 2 else value
            found.append((key >> 3, key & 7, content))
        try:
            expected = [
                (f.field_number, f.wire_type, f.data)
                for f in UnknownFieldSet(Empty.FromString(message))
            ]
        except DecodeError:
            assert table.broken[number] or any(key == 0 for key, _, _ in found)
        else:  # groups, which no trace has, are refused here
            assert found == expected or table.broken[number]
            assert not table.broken[number] or any(kind == 3 for _, kind, _ in expected)


def test_an_event_with_very_many_fields_is_left_to_protobuf() -> None:
    messages = [b"\x08\x01" * count for count in (256, 257, 9_000)]
    sizes = np.array([len(message) for message in messages], np.int64)
    stops = np.cumsum(sizes)
    table = field_table(b"".join(messages) + bytes(PADDING), stops - sizes, stops)
    assert table.broken.tolist() == [False, True, True]
    assert len(table.key) == 3 * 256

    arguments = {f"a{number}": number for number in range(300)}
    trace = one_lane((0, 9, "many", "", arguments), (1, 2, "few", "", {"a1": 1}))
    assert said(pftrace_reader.read(b"".join(write(trace))).build()) == said(trace)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(0, 10))
def test_varints_of_any_value(values: list[int], pad: int) -> None:
    chance = random.Random(pad)
    messages = [b"\x08" + padded(value, chance, 10) for value in values]
    sizes = np.array([len(message) for message in messages], np.int64)
    stops = np.cumsum(sizes)
    table = field_table(b"".join(messages) + b"\xff" * PADDING, stops - sizes, stops)
    assert table.value.tolist() == values
    assert not table.broken.any()


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**40) | st.integers(0, 9)))
def test_distinct_values(values: list[int]) -> None:
    found, places = distinct(np.array(values, np.int64))
    assert found.tolist() == sorted(set(values))
    assert found[places].tolist() == values


# ------------------------------------------------------------------------- begins and ends


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30), max_size=4))
def test_begins_and_ends_are_paired_as_one_by_one(lanes: list[list[tuple[int, bool]]]) -> None:
    events: list[tuple[int, int, bool]] = []
    spans: list[tuple[int, int, bool]] = []
    of_event: list[int] = []
    for lane, its_events in enumerate(lanes):
        builder = TraceBuilder()
        stack = OpenSlices(builder, 0)
        at = -5
        for gap, is_begin in its_events:
            at += gap
            events.append((lane, at, is_begin))
            row = stack.begin(at, "", "") if is_begin else stack.end(at)
            of_event.append(-1 if row is None else len(spans) + row)
        columns = zip(range(len(builder.begins)), builder.begins, builder.ends)
        spans += [(begin, end, row in stack.rows) for row, begin, end in columns]
    pairs = paired(
        np.array([lane for lane, _, _ in events], np.int32),
        np.array([time for _, time, _ in events], np.int64),
        np.array([is_begin for _, _, is_begin in events], np.bool_),
    )
    assert pairs.of_event.tolist() == of_event
    columns = (pairs.begin.tolist(), pairs.end.tolist(), pairs.is_open.tolist())
    assert list(zip(*columns)) == spans
