"""Perfetto protobuf files of other tools: what they may lack, what may be damaged, what is told."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.foreign_packets import (
    BREAKING,
    NEEDS,
    POINT,
    event,
    file_of,
    legacy,
    packet,
    thread,
    track,
)
from tests.random_packets import packets
from tests.traces import said
from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace import reader
from tilelang_trace.formats.pftrace.writer import write
from tilelang_trace.trace.model import Lane, Trace


def read(*parts: str) -> Trace:
    return reader.read(file_of(*parts)).build()


def rules(trace: Trace) -> list[str]:
    return [finding.rule for finding in trace.findings]


def spans(trace: Trace) -> list[tuple[str, int, int]]:
    return [(name, begin, end) for name, _, begin, end, *_ in said(trace)["slices"]]


def instants(trace: Trace) -> list[str]:
    return [trace.strings[name] for name in trace.instants.name.tolist()]


# ----------------------------------------------------------------------- what a rule is told of


@pytest.mark.parametrize("rule", BREAKING)
def test_each_pitfall_is_told_once(rule: str) -> None:
    trace = read(*BREAKING[rule])
    assert rules(trace) == [rule]
    assert trace.findings[0].place.startswith("byte ")


def test_a_finding_names_the_byte_of_its_packet() -> None:
    first = file_of(thread(), event("B", 1, "a"), event("E", 2))
    trace = reader.read(first + file_of(event("E", 3))).build()
    assert [(f.place, f.rule) for f in trace.findings] == [
        (f"byte {len(first)}", "end-without-begin")
    ]


def test_what_a_file_lacks_is_read_as_far_as_it_goes() -> None:
    assert instants(read(*BREAKING["missing-sequence"])) == ["i"]
    assert instants(read(*BREAKING["names-without-state"])) == ["i"]
    assert read(*BREAKING["lost-parent"]).lanes == (Lane(name="i"),)  # as Perfetto: of its event
    incomplete = read(*BREAKING["incomplete-ids"])
    assert incomplete.lanes[0].name == "t"


def test_slices_deeper_than_perfetto_has_room_for_are_told() -> None:
    deep = [event("B", k, "d") for k in range(514)] + [event("E", 600 + k) for k in range(514)]
    trace = read(thread(), *deep)
    assert rules(trace) == ["too-deep"] * 2


def test_parents_in_a_circle_and_very_many_are_told() -> None:
    circle = track(1, 'name: "a" parent_uuid: 2'), track(2, 'name: "b" parent_uuid: 1')
    trace = read(*circle, event("I", 5, "i", on=1))
    assert rules(trace) == ["lost-parent"] * 2
    chain = [track(k, f'name: "r{k}" parent_uuid: {k - 1}') for k in range(2, 120)]
    trace = read(track(1, "process { pid: 3 }"), *chain, event("I", 5, "i", on=119))
    assert trace.lanes[-1] == Lane(process=0, name="r119")
    assert set(rules(trace)) == {"lost-parent"}


def test_processes_of_one_pid_are_kept_apart() -> None:
    trace = read(
        track(1, 'process { pid: 4 process_name: "p" }'),
        track(2, 'process { pid: 4 process_name: "q" }'),
        thread(5, 4, 6, "parent_uuid: 1"),
        thread(6, 4, 6, "parent_uuid: 2"),
        POINT,
        event("I", 6, "j", on=6),
    )
    assert [(p.name, p.pid) for p in trace.processes] == [("p", 4), ("q", 4)]
    assert [(t.process, t.tid) for t in trace.threads] == [(0, 6), (1, 6)]


# -------------------------------------------------------------------------------- annotations


def arguments(text: str) -> dict[str, Any]:
    told = (
        "interned_data { debug_annotation_string_values { iid: 3 str: 'told' } "
        "debug_annotation_names { iid: 4 name: 'named' } }"
    )
    trace = read(thread(), packet(told, more=NEEDS), event("B", 5, "s", text), event("E", 9))
    assert not trace.findings
    return trace.arguments.of(0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("bool_value: true", True),
        ("uint_value: 18446744073709551615", 2**64 - 1),
        ("int_value: -5", -5),
        ("double_value: 0.5", 0.5),
        ("pointer_value: 4096", 4096),
        ("string_value: 'x'", "x"),
        ("string_value_iid: 3", "told"),
        ("legacy_json_value: '{\"k\": [1, null]}'", {"k": [1, None]}),
        ("legacy_json_value: '{k'", "{k"),
        ("dict_entries { name: 'k' int_value: 1 }", {"k": 1}),
        ("array_values { int_value: 1 } array_values { string_value: 'y' }", [1, "y"]),
        (
            "nested_value { nested_type: DICT dict_keys: 'k' dict_values { nested_type: ARRAY "
            "array_values { int_value: 4 } array_values { bool_value: true } } }",
            {"k": [4, True]},
        ),
        ("", None),
    ],
)
def test_every_type_of_annotation(text: str, value: Any) -> None:
    assert arguments(f"debug_annotations {{ name: 'a' {text} }}") == {"a": value}
    assert arguments(f"debug_annotations {{ name_iid: 4 {text} }}") == {"named": value}


def test_annotations_of_one_name_are_joined() -> None:
    parts = "dict_entries { name: 'x' int_value: 1 }", "dict_entries { name: 'y' int_value: 2 }"
    named = "".join(f"debug_annotations {{ name: 'd' {part} }}" for part in parts)
    assert arguments(named) == {"d": {"x": 1, "y": 2}}
    listed = "".join(
        f"debug_annotations {{ name: 'a' array_values {{ int_value: {k} }} }}" for k in (1, 2)
    )
    assert arguments(listed) == {"a": [1, 2]}


def test_zero_is_a_value_of_a_counter_and_so_is_minus_zero() -> None:
    values = "counter_value: 0", "double_counter_value: -0.0"
    trace = read(
        track(5, 'name: "c" counter { }'),
        *(event("C", k, content=value) for k, value in enumerate(values)),
    )
    assert list(map(str, trace.counters.value.tolist())) == ["0.0", "-0.0"]


# ------------------------------------------------------------------------------ older events


def test_slices_with_ids_share_a_row_unless_they_are_at_the_same_time() -> None:
    def pair(id_: int, begin: int, end: int) -> list[str]:
        said = 'name: "async" categories: "c"'
        return [
            packet(f"track_event {{ {said} {legacy(p, f'unscoped_id: {id_}')} }}", time)
            for p, time in (("b", begin), ("e", end))
        ]

    trace = read(thread(), *pair(1, 10, 20), *pair(2, 15, 30), *pair(3, 25, 40))
    rows = [(begin, lane) for _, _, begin, _, lane, *_ in said(trace)["slices"]]
    lanes = dict(rows)
    assert lanes[10] == lanes[25] != lanes[15]
    assert not trace.findings


def test_names_of_threads_and_processes_that_events_tell() -> None:
    trace = read(
        thread(),
        POINT,
        *(
            packet(
                f'track_event {{ track_uuid: 5 name: "{what}" {legacy("M")} '
                f'debug_annotations {{ name: "name" string_value: "{name}" }} }}',
                6,
            )
            for what, name in (("thread_name", "worker"), ("process_name", "tool"))
        ),
    )
    assert (trace.threads[0].name, trace.processes[0].name) == ("worker", "tool")
    assert not trace.findings


def test_a_slice_that_another_outlives_by_name_ends_with_it() -> None:
    trace = read(
        thread(),
        event("B", 10, "a"),
        event("B", 20, "b"),
        event("E", 30, "a"),
        event("I", 90, "later"),
    )
    assert spans(trace) == [("a", 10, 30), ("b", 20, 30)]
    assert rules(trace) == ["never-ended"]


def test_slices_that_cross_keep_their_times_on_two_rows() -> None:
    trace = read(
        thread(),
        event("B", 10, "a"),
        event("B", 20_000, "b"),
        event("E", 30_000, "a"),
        event("E", 50_000, "b"),
    )
    assert spans(trace) == [("a", 10, 30_000), ("b", 20_000, 50_000)]
    assert len(trace.lanes) == 2
    assert rules(trace) == ["overlap"]


# ---------------------------------------------------------------------------- damaged files

WHOLE = (thread(), event("B", 1, "a"), event("E", 2), event("B", 3, "b"), event("E", 4))


def places(data: bytes) -> list[int]:
    """Where the packets of a file end."""
    at, found = 0, [0]
    for one in pb.Trace.FromString(data).packet:
        at += len(pb.Trace(packet=[one]).SerializeToString())
        found.append(at)
    return found


def test_a_file_cut_at_any_byte_keeps_its_whole_packets() -> None:
    data = file_of(*WHOLE)
    ends = places(data)
    for end in range(1, len(data)):
        trace = reader.read(data[:end]).build()
        kept = max(k for k, place in enumerate(ends) if place <= end)
        assert len(trace.slices) == (kept >= 2) + (kept >= 4), end
        cuts = [f.place for f in trace.findings if f.rule == "cut-off"]
        assert cuts == ([] if end in ends else [f"byte {ends[kept]}"]), end


@pytest.mark.parametrize(
    "damage", [b"\xff" * 30, bytes(500), b"\x0a\x7f", b"\x0b\x01\x0c", b"text "]
)
def test_packets_behind_damage_are_found(damage: bytes) -> None:
    data = file_of(*WHOLE)
    at = places(data)[3]
    trace = reader.read(data[:at] + damage + data[at:]).build()
    assert spans(trace) == [("a", 1, 2), ("b", 3, 4)]
    assert [(f.place, f.rule) for f in trace.findings] == [(f"byte {at}", "broken-packet")]


def test_a_packet_that_can_t_be_decoded_is_passed_by() -> None:
    data = file_of(*WHOLE)
    at = places(data)[3]
    trace = reader.read(data[:at] + b"\x0a\x03\x40\x80\x80" + data[at:]).build()
    assert spans(trace) == [("a", 1, 2), ("b", 3, 4)]
    assert [(f.place, f.rule) for f in trace.findings] == [(f"byte {at}", "broken-packet")]


def test_groups_and_unknown_fields_are_passed_by() -> None:
    (one,) = pb.Trace.FromString(file_of(event("I", 5, "i"))).packet
    unknown = b"\xbb\x3e\x08\x01\xbc\x3e" + b"\xfa\x3f\x02hi"  # a group 999, and a field 1023
    body = one.SerializeToString() + unknown
    trace = reader.read(file_of(thread()) + b"\x0a" + bytes([len(body)]) + body).build()
    assert instants(trace) == ["i"]
    assert not trace.findings


def squeezed(data: bytes) -> bytes:
    packed = pb.TracePacket(compressed_packets=zlib.compress(data))
    return pb.Trace(packet=[packed]).SerializeToString()


def test_compressed_packets_stand_between_others_and_in_each_other() -> None:
    head, a, b = file_of(thread()), file_of(*WHOLE[1:3]), file_of(*WHOLE[3:])
    data = squeezed(head + squeezed(a)) + b
    trace = reader.read(data).build()
    assert spans(trace) == [("a", 1, 2), ("b", 3, 4)]
    assert not trace.findings


def test_compressed_packets_that_are_cut_give_what_is_whole() -> None:
    chance = random.Random(1)
    many = file_of(*(event("I", k, f"i{chance.random()}") for k in range(500)))
    packed = zlib.compress(many)[:-2000]
    data = pb.Trace(packet=[pb.TracePacket(compressed_packets=packed)]).SerializeToString()
    trace = reader.read(file_of(thread()) + data).build()
    assert 100 < len(trace.instants) < 500
    assert "broken-packet" in rules(trace)
    assert {f.place for f in trace.findings} == {f"byte {len(file_of(thread()))}"}


def test_compressed_packets_that_are_damaged_give_what_is_before() -> None:
    many = file_of(*(event("I", k, f"i{k * k}") for k in range(500)))
    packed = bytearray(zlib.compress(many))
    packed[-400:-300] = b"\xff" * 100
    data = pb.Trace(packet=[pb.TracePacket(compressed_packets=bytes(packed))]).SerializeToString()
    trace = reader.read(file_of(thread()) + data).build()
    assert 300 < len(trace.instants) < 500
    assert "its compressed packets are damaged" in trace.findings[0].done


def test_compressed_packets_that_unpack_to_too_much_are_refused() -> None:
    data = squeezed(bytes(1 << 16))
    few = limits.Limits(unpacked_bytes=1 << 15)
    with limits.using(few), pytest.raises(UserError, match=r"refused: .*unpacked_bytes"):
        reader.read(data)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), max_size=6)
)
def test_damaged_files_are_read_or_refused(seed: int, damages: list[tuple[float, bytes]]) -> None:
    data = bytearray(pb.Trace(packet=packets(random.Random(seed))).SerializeToString())
    for at, change in damages:
        place = int(at * len(data))
        data[place : place + len(change)] = change
    try:
        trace = reader.read(bytes(data)).build()
    except UserError:
        return
    assert b"".join(write(trace))
