"""Trace packets, written by hand, held against Perfetto's generated classes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.packet_events import EventPackets
from tests.traces import ODD_ARGUMENTS, TOO_WIDE
from tilelang_trace.formats.pftrace import packets
from tilelang_trace.formats.pftrace.numbers import CLOCK_MONOTONIC


def parsed(data: bytes) -> list[pb.TracePacket]:
    """A packet, as a file of its own; a field or a value of an enum that Perfetto doesn't know is
    an error.
    """
    data = packets.joined([data])
    trace = pb.Trace.FromString(data)
    known = pb.Trace.FromString(data)
    known.DiscardUnknownFields()
    assert trace.SerializeToString() == known.SerializeToString()
    return list(trace.packet)


def one(data: bytes, expected: str) -> None:
    """Exactly one packet, which says exactly this (protobuf's text form)."""
    (packet,) = parsed(data)
    assert packet == text_format.Parse(expected, pb.TracePacket())


def test_a_process_track() -> None:
    data = packets.track_packet(
        3, 7, process=(4_194_304, "größe.py"), labels=["tvm 0.27", "x"], rank=0
    )
    one(
        data,
        """trusted_packet_sequence_id: 3
        track_descriptor { uuid: 7 sibling_order_rank: 0
          process { pid: 4194304 process_name: "größe.py" process_labels: "tvm 0.27"
                    process_labels: "x" } }""",
    )


def test_a_thread_track() -> None:
    data = packets.track_packet(
        1, 2**64 - 1, parent=7, thread=(10, 2**31 - 1, "MainThread"), rank=3
    )
    one(
        data,
        """trusted_packet_sequence_id: 1
        track_descriptor { uuid: 18446744073709551615 parent_uuid: 7 sibling_order_rank: 3
          thread { pid: 10 tid: 2147483647 thread_name: "MainThread" } }""",
    )


def test_a_row_of_its_own_never_merges_with_a_sibling_of_the_same_name() -> None:
    one(
        packets.track_packet(1, 9, name="Failures", rank=-1),
        """trusted_packet_sequence_id: 1
        track_descriptor { uuid: 9 name: "Failures" sibling_order_rank: -1
          sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE }""",
    )


@pytest.mark.parametrize(("unit", "counter"), [("bytes", 'unit_name: "bytes"'), ("", "")])
def test_a_counter_track(unit: str, counter: str) -> None:
    one(
        packets.track_packet(1, 9, name="memory", parent=2, counter_unit=unit),
        f"""trusted_packet_sequence_id: 1
        track_descriptor {{ uuid: 9 name: "memory" parent_uuid: 2 counter {{ {counter} }}
          sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE }}""",
    )


def test_the_root_orders_processes_and_threads_by_rank() -> None:
    one(
        packets.root_packet(1),
        """trusted_packet_sequence_id: 1
        track_descriptor { uuid: 0 process_ordering: PROCESS_ORDERING_EXPLICIT
          thread_ordering: THREAD_ORDERING_EXPLICIT }""",
    )


def test_a_clock_snapshot() -> None:
    one(
        packets.clock_packet(1, {1: 1_760_000_000_123_456_789, 3: 2**50, 6: 0}),
        """trusted_packet_sequence_id: 1
        clock_snapshot { clocks { clock_id: 1 timestamp: 1760000000123456789 }
          clocks { clock_id: 3 timestamp: 1125899906842624 } clocks { clock_id: 6 timestamp: 0 } }
        """,
    )


def test_metadata_is_a_json_value_under_a_name() -> None:
    value = {"größe": [1, None, {"a": 'quote "'}]}
    (packet,) = parsed(packets.metadata_packet(1, 5, "tilelang_trace", value))
    (entry,) = packet.chrome_events.metadata
    assert (packet.timestamp, packet.trusted_packet_sequence_id) == (5, 1)
    assert entry.name == "tilelang_trace"
    assert json.loads(entry.json_value) == value


# -------------------------------------------------------------------------------- a sequence


def test_the_first_packet_of_a_sequence_clears_the_state_and_sets_the_defaults() -> None:
    one(
        EventPackets(4, 77).first(),
        """trusted_packet_sequence_id: 4 sequence_flags: 1
        trace_packet_defaults { track_event_defaults { track_uuid: 77 } }""",
    )
    one(
        EventPackets(4, 77, CLOCK_MONOTONIC).first(),
        """trusted_packet_sequence_id: 4 sequence_flags: 1
        trace_packet_defaults { timestamp_clock_id: 3 track_event_defaults { track_uuid: 77 } }""",
    )


def test_a_slice_from_begin_to_end() -> None:
    sequence = EventPackets(2, 5)
    data = sequence.begin(
        2**62,
        "Simplify",
        "pass,error",
        {"sequence": 3, "phase": "lower", "status": "failed"},
        colour="failed 942",
        flows=[1, 2**64 - 1],
        ended_flows=[9],
    )
    one(
        data,
        """timestamp: 4611686018427387904 trusted_packet_sequence_id: 2 sequence_flags: 2
        interned_data {
          event_categories { iid: 1 name: "pass" } event_categories { iid: 2 name: "error" }
          event_names { iid: 1 name: "Simplify" }
          debug_annotation_names { iid: 1 name: "sequence" }
          debug_annotation_names { iid: 2 name: "phase" }
          debug_annotation_names { iid: 3 name: "status" }
          debug_annotation_string_values { iid: 1 str: "lower" }
          debug_annotation_string_values { iid: 2 str: "failed" } }
        track_event { type: TYPE_SLICE_BEGIN category_iids: 1 category_iids: 2 name_iid: 1
          debug_annotations { name_iid: 1 int_value: 3 }
          debug_annotations { name_iid: 2 string_value_iid: 1 }
          debug_annotations { name_iid: 3 string_value_iid: 2 }
          flow_ids: 1 flow_ids: 18446744073709551615 terminating_flow_ids: 9
          correlation_id_str: "failed 942" }""",
    )
    one(
        sequence.end(2**62 + 1),
        """timestamp: 4611686018427387905 trusted_packet_sequence_id: 2 sequence_flags: 2
        track_event { type: TYPE_SLICE_END }""",
    )


def test_names_are_said_once_on_a_sequence() -> None:
    sequence = EventPackets(2, 5)
    first = sequence.begin(1, "Simplify", "pass", {"n": 1, "status": "ok"})
    one(
        sequence.begin(2, "Simplify", "pass", {"n": 2, "status": "ok"}),
        """timestamp: 2 trusted_packet_sequence_id: 2 sequence_flags: 2
        track_event { type: TYPE_SLICE_BEGIN category_iids: 1 name_iid: 1
          debug_annotations { name_iid: 1 int_value: 2 }
          debug_annotations { name_iid: 2 string_value_iid: 1 } }""",
    )
    one(
        sequence.begin(3, "Other", "pass", {}),
        """timestamp: 3 trusted_packet_sequence_id: 2 sequence_flags: 2
        interned_data { event_names { iid: 2 name: "Other" } }
        track_event { type: TYPE_SLICE_BEGIN category_iids: 1 name_iid: 2 }""",
    )
    assert first != sequence.begin(1, "Simplify", "pass", {"n": 1, "status": "ok"})


def test_the_end_may_bear_arguments_and_a_colour() -> None:
    one(
        EventPackets(2, 5).end(9, {"status": "incomplete"}, colour="error 373"),
        """timestamp: 9 trusted_packet_sequence_id: 2 sequence_flags: 2
        interned_data { debug_annotation_names { iid: 1 name: "status" }
          debug_annotation_string_values { iid: 1 str: "incomplete" } }
        track_event { type: TYPE_SLICE_END correlation_id_str: "error 373"
          debug_annotations { name_iid: 1 string_value_iid: 1 } }""",
    )


def test_an_instant() -> None:
    one(
        EventPackets(2, 5).instant(9, "note", "", {"k": True}, ended_flows=[4]),
        """timestamp: 9 trusted_packet_sequence_id: 2 sequence_flags: 2
        interned_data { event_names { iid: 1 name: "note" }
          debug_annotation_names { iid: 1 name: "k" } }
        track_event { type: TYPE_INSTANT name_iid: 1 terminating_flow_ids: 4
          debug_annotations { name_iid: 1 bool_value: true } }""",
    )


@pytest.mark.parametrize("value", [0.0, -1.5, 1e300])
def test_a_counter_value(value: float) -> None:
    one(
        EventPackets(2, 5).counter(9, value),
        f"""timestamp: 9 trusted_packet_sequence_id: 2 sequence_flags: 2
        track_event {{ type: TYPE_COUNTER double_counter_value: {value!r} }}""",
    )


# ---------------------------------------------------------------------------------- arguments


def annotation(value: Any, name: str = "x") -> pb.DebugAnnotation:
    (packet,) = parsed(EventPackets(1, 1).begin(0, "n", "", {name: value}))
    (found,) = packet.track_event.debug_annotations
    assert packet.interned_data.debug_annotation_names[0].name == name
    assert found.name_iid == 1
    return found


def plain(found: pb.DebugAnnotation) -> Any:
    """The Python value of an annotation, decoded apart from the package's own reader."""
    if found.dict_entries:
        return {entry.name: plain(entry) for entry in found.dict_entries}
    if found.array_values:
        return [plain(item) for item in found.array_values]
    which = found.WhichOneof("value")
    value = None if which is None else getattr(found, which)
    return json.loads(value) if which == "legacy_json_value" else value


@pytest.mark.parametrize("name", ODD_ARGUMENTS)
def test_every_argument_keeps_its_value_and_its_type(name: str) -> None:
    value = ODD_ARGUMENTS[name]
    assert repr(plain(annotation(value))) == repr(value)


@pytest.mark.parametrize("name", ODD_ARGUMENTS)
def test_every_argument_name_is_kept(name: str) -> None:
    assert annotation(1, name).int_value == 1


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (True, "bool_value"),
        (-1, "int_value"),
        (2**63 - 1, "int_value"),
        (2**63, "uint_value"),
        (0.5, "double_value"),
        ("text", "string_value"),
    ],
)
def test_values_stand_in_the_field_of_their_type(value: Any, field: str) -> None:
    assert annotation(value).WhichOneof("value") == field


@pytest.mark.parametrize("value", TOO_WIDE)
def test_an_integer_that_has_no_room_is_written_as_text(value: int) -> None:
    assert annotation(value).string_value == str(value)
    assert plain(annotation({"a": [value]})) == {"a": [str(value)]}


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf")])
def test_nothing_and_what_is_no_number_have_no_value(value: Any) -> None:
    assert plain(annotation(value)) is None
    assert plain(annotation([1, value])) == [1, None]


def test_values_that_are_equal_but_of_another_type_are_not_mixed_up() -> None:
    sequence = EventPackets(1, 1)
    for value in (1, True, 1.0, 0, False, 0.0, "1", 1, True, 1.0):
        (packet,) = parsed(sequence.begin(0, "n", "", {"x": value}))
        assert repr(plain(packet.track_event.debug_annotations[0])) == repr(value)


def test_minus_zero_keeps_its_sign() -> None:
    sequence = EventPackets(1, 1)
    sequence.begin(0, "n", "", {"x": 0.0})
    (packet,) = parsed(sequence.begin(0, "n", "", {"x": -0.0}))
    assert repr(plain(packet.track_event.debug_annotations[0])) == "-0.0"


def test_one_sequence_takes_more_names_than_it_prepares() -> None:
    sequence = EventPackets(1, 1)
    count = 17_000
    for round_ in range(2):
        for k in range(0, count, 1 if round_ == 0 else 1_000):
            data = sequence.begin(k, f"name {k}", "c", {"x": k})
            if k % 1_000 == 0:
                (packet,) = parsed(data)
                assert packet.track_event.name_iid == k + 1
                assert packet.track_event.debug_annotations[0].int_value == k
                names = [entry.name for entry in packet.interned_data.event_names]
                assert names == ([f"name {k}"] if round_ == 0 else [])


def test_pieces_can_be_kept_and_used_again() -> None:
    sequence = EventPackets(1, 1)
    head, argument = sequence.head("n", "c"), sequence.argument("x", 5)
    first = parsed(sequence.stamped(1, head + argument))[0]
    second = parsed(sequence.stamped(2, head + argument))[0]
    assert first.track_event == second.track_event
    assert first.HasField("interned_data")
    assert not second.HasField("interned_data")
    assert parsed(sequence.stamped(3, packets.END))[0].track_event == pb.TrackEvent(
        type=pb.TrackEvent.TYPE_SLICE_END
    )


def test_a_large_packet() -> None:
    text = "größe\n" * 50_000
    (packet,) = parsed(EventPackets(1, 1).begin(0, "n", "", {"ir": {"before": text}}))
    assert packet.track_event.debug_annotations[0].dict_entries[0].string_value == text
