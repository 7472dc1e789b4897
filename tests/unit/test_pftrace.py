"""Perfetto protobuf files: what is written, that it comes back, and files of other tools."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.traces import (
    START,
    TOO_WIDE,
    TRACES,
    failed_compile,
    main_thread,
    nested_compile,
    one_lane,
    said,
    same_pid,
    two_threads,
    with_start,
    without_ids,
)
from tilelang_trace.errors import UserError
from tilelang_trace.formats.pftrace import reader as pftrace_reader
from tilelang_trace.formats.pftrace.writer import write
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Lane, Trace


def written(trace: Trace) -> bytes:
    return b"".join(write(trace))


def read_back(data: bytes) -> Trace:
    return pftrace_reader.read(data).build()


def packets(trace: Trace) -> list[pb.TracePacket]:
    return list(pb.Trace.FromString(written(trace)).packet)


def tracks(trace: Trace) -> list[pb.TrackDescriptor]:
    return [p.track_descriptor for p in packets(trace) if p.HasField("track_descriptor")]


# ------------------------------------------------------------------------------------ writing

GOLDEN = """
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 1 sibling_order_rank: 0
    process { pid: 71 process_name: "mlp.py" process_labels: "tvm 0.27.0" } } }
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 2 parent_uuid: 1 sibling_order_rank: 0
    thread { pid: 71 tid: 71 thread_name: "MainThread" } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 2 } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: 1002
  interned_data {
    event_categories { iid: 1 name: "pass" } event_names { iid: 1 name: "Größe" }
    debug_annotation_names { iid: 1 name: "sequence" }
    debug_annotation_names { iid: 2 name: "status" }
    debug_annotation_string_values { iid: 1 str: "failed" }
    event_categories { iid: 2 name: "error" } }
  track_event { type: TYPE_SLICE_BEGIN category_iids: 1 category_iids: 2 name_iid: 1
    debug_annotations { name_iid: 1 int_value: 0 }
    debug_annotations { name_iid: 2 string_value_iid: 1 }
    flow_ids: 1 correlation_id_str: "failed 942" } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: 1003
  interned_data { event_names { iid: 2 name: "Simplify" } }
  track_event { type: TYPE_SLICE_BEGIN category_iids: 1 name_iid: 2 } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: 1004
  track_event { type: TYPE_SLICE_END } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 2 timestamp: 1001002
  track_event { type: TYPE_SLICE_END } }
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 3 name: "Failures" sibling_order_rank: -1
    sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE } }
packet { trusted_packet_sequence_id: 5 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 3 } } }
packet { trusted_packet_sequence_id: 5 sequence_flags: 2 timestamp: 1001002
  interned_data { event_categories { iid: 1 name: "failure" }
    event_names { iid: 1 name: "Größe failed" } }
  track_event { type: TYPE_INSTANT category_iids: 1 name_iid: 1 terminating_flow_ids: 1 } }
"""


def test_the_packets_of_a_small_file() -> None:
    builder = TraceBuilder()
    builder.metadata = {"versions": {"tvm": "0.27.0", "tilelang": None}}
    lane = main_thread(builder)
    builder.slice(lane, 1_003, 1_004, "Simplify", "pass")
    builder.slice(lane, 1_002, 1_001_002, "Größe", "pass", {"status": "failed", "sequence": 0})
    root, header, *others = packets(builder.build())
    assert root.track_descriptor.uuid == 0
    (entry,) = header.chrome_events.metadata
    assert entry.name == "tilelang_trace"
    assert json.loads(entry.json_value) == {
        "format_version": 1,
        "origin_ns": 0,
        "processes": [{"name": "mlp.py", "pid": 71}],
        "threads": [{"process": 0, "name": "MainThread", "tid": 71}],
        "lanes": [{"id": 2, "thread": 0, "process": None, "name": ""}],
        "counter_tracks": [],
        "metadata": {"versions": {"tvm": "0.27.0", "tilelang": None}},
    }
    expected = list(text_format.Parse(GOLDEN, pb.Trace()).packet)
    # A sequence id says only which packets belong together.
    others[-1].trusted_packet_sequence_id = others[-2].trusted_packet_sequence_id = 5
    for found, wanted in zip(others, expected, strict=True):
        found.interned_data.event_categories.sort(key=lambda entry: entry.iid)
        wanted.interned_data.event_categories.sort(key=lambda entry: entry.iid)
        assert found == wanted


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_every_event_has_a_time_a_sequence_and_its_state(make: Callable[[], Trace]) -> None:
    cleared = set()
    for packet in packets(make()):
        id_ = packet.trusted_packet_sequence_id
        assert id_ > 0
        if packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            cleared.add(id_)
        if packet.HasField("track_event"):
            assert packet.HasField("timestamp")
            assert packet.sequence_flags & pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert id_ in cleared


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_no_two_tracks_share_a_uuid_and_every_parent_exists(make: Callable[[], Trace]) -> None:
    found = tracks(make())
    uuids = [track.uuid for track in found]
    assert len(set(uuids)) == len(uuids)
    assert {t.parent_uuid for t in found if t.HasField("parent_uuid")} <= set(uuids)


def test_a_sequence_belongs_to_one_track() -> None:
    for make in TRACES.values():
        defaults = [p for p in packets(make()) if p.HasField("trace_packet_defaults")]
        ids = [p.trusted_packet_sequence_id for p in defaults]
        assert len(set(ids)) == len(ids)


def test_processes_and_threads_have_their_real_ids_names_and_ranks() -> None:
    found = tracks(two_threads())
    (process,) = [t for t in found if t.HasField("process")]
    assert (process.process.pid, process.process.process_name) == (300, "build.py")
    threads = [t for t in found if t.HasField("thread")]
    assert [(t.thread.pid, t.thread.tid, t.thread.thread_name) for t in threads] == [
        (300, 300, "MainThread"),
        (300, 205, "worker-0"),
    ]
    assert [t.sibling_order_rank for t in threads] == [0, 1]


@pytest.mark.parametrize("make", [same_pid, without_ids])
def test_processes_that_can_t_have_their_own_ids_get_others(make: Callable[[], Trace]) -> None:
    found = [t for t in tracks(make()) if t.HasField("process")]
    pids = [t.process.pid for t in found]
    assert len(set(pids)) == len(pids) == 2
    assert all(pid > 0 for pid in pids)
    assert [t.sibling_order_rank for t in found] == [0, 1]
    threads = [t.thread for t in tracks(make()) if t.HasField("thread")]
    assert [thread.pid for thread in threads] == pids
    assert len({thread.tid for thread in threads}) == 2


@pytest.mark.parametrize("pid", [0, -1, 2**31, 2**40])
def test_ids_without_room_in_the_file_are_replaced_and_come_back(pid: int) -> None:
    builder = TraceBuilder()
    builder.slice(main_thread(builder, "p", pid), 0, 1, "a", "")
    trace = builder.build()
    (process,) = [t.process for t in tracks(trace) if t.HasField("process")]
    assert process.pid == 1
    assert said(read_back(written(trace))) == said(trace)


def test_the_clocks_of_the_start_are_told() -> None:
    found = packets(with_start())
    (snapshot,) = [p.clock_snapshot for p in found if p.HasField("clock_snapshot")]
    assert {c.clock_id: c.timestamp for c in snapshot.clocks} == {
        1: START["realtime_ns"],
        3: START["monotonic_ns"],
        6: START["boottime_ns"],
    }
    defaults = [p.trace_packet_defaults for p in found if p.HasField("trace_packet_defaults")]
    assert {d.timestamp_clock_id for d in defaults} == {3}
    times = [p.timestamp for p in found if p.HasField("track_event")]
    assert times[0] == START["monotonic_ns"] + 1_001


@pytest.mark.parametrize("start", [None, 5, {}, {"monotonic_ns": 7}, {"monotonic_ns": "x"}])
def test_without_both_clocks_there_is_no_snapshot(start: Any) -> None:
    builder = TraceBuilder()
    builder.metadata = {"start": start}
    builder.slice(main_thread(builder), 10, 20, "a", "")
    trace = builder.build()
    assert not any(p.HasField("clock_snapshot") for p in packets(trace))
    assert said(read_back(written(trace))) == said(trace)


def test_failed_and_incomplete_slices_are_red() -> None:
    begins = [
        p.track_event
        for p in packets(failed_compile())
        if p.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN
    ]
    colours = [event.correlation_id_str for event in begins]
    red, dark = "failed 942", "error 373"
    assert sorted(colours) == sorted(["", "", "", red, red, dark, dark, dark])


# -------------------------------------------------------------------------------- coming back


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_the_same_trace_comes_back(make: Callable[[], Trace]) -> None:
    trace = make()
    back = read_back(written(trace))
    assert said(back) == said(trace)
    assert back == trace
    assert not back.findings


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_what_came_back_is_written_with_the_same_bytes(make: Callable[[], Trace]) -> None:
    data = written(make())
    assert written(read_back(data)) == data


@pytest.mark.parametrize("value", TOO_WIDE)
def test_integers_without_room_come_back_as_text(value: int) -> None:
    trace = one_lane((0, 1, "a", "", {"x": value, "o": {"k": [value]}}))
    text = str(value)
    assert read_back(written(trace)).arguments.of(0) == {"x": text, "o": {"k": [text]}}


def test_a_wide_integer_in_the_metadata_comes_back_as_text() -> None:
    builder = TraceBuilder()
    builder.metadata = {"hash": 2**64}
    assert read_back(written(builder.build())).metadata == {"hash": str(2**64)}


def test_the_failures_row_does_not_come_back() -> None:
    back = read_back(written(failed_compile()))
    assert len(back.instants) == len(back.flows) == 0
    assert len(back.lanes) == 1


def test_instants_of_a_category_named_failure_come_back() -> None:
    builder = TraceBuilder()
    builder.instant(main_thread(builder), 5, "disk full", "failure", {"disk": 1})
    trace = builder.build()
    assert said(read_back(written(trace))) == said(trace)


def test_a_failed_slice_without_a_category_comes_back() -> None:
    trace = one_lane((0, 10, "a", "", {"status": "failed"}))
    assert said(read_back(written(trace))) == said(trace)


def test_many_slices_at_many_depths_come_back() -> None:
    random_ = random.Random(7)
    slices = []
    at = 0
    for k in range(4_500):
        slices.append((at, at + 100, f"s{k % 50}", "pass", {"sequence": k}))
        depth = random_.randint(0, 3)
        slices += [(at + d, at + 100 - d, "nested", "") for d in range(1, depth + 1)]
        at += random_.choice((100, 100, 250))
    trace = one_lane(*slices)
    assert said(read_back(written(trace))) == said(trace)


# ------------------------------------------------------------------------------ damaged files


def test_a_file_cut_at_any_byte_keeps_every_slice_that_had_ended() -> None:
    trace = nested_compile()
    data = written(trace)
    # Packets, and how many slices had begun before each of them.
    places, begun, ended = [], [], []
    at = counts = ends = 0
    for packet in pb.Trace.FromString(data).packet:
        at += len(pb.Trace(packet=[packet]).SerializeToString())
        counts += packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN
        ends += packet.track_event.type == pb.TrackEvent.TYPE_SLICE_END
        places.append(at)
        begun.append(counts)
        ended.append(ends)
    assert places[-1] == len(data)
    whole = {(name, begin, end) for name, _, begin, end, *_ in said(trace)["slices"]}
    step = 1 if len(data) < 1_000 else 7
    for end in range(places[2], len(data), step):
        known = max(k for k, place in enumerate(places) if place <= end)
        back = read_back(data[:end])
        found = {(name, begin, end) for name, _, begin, end, *_ in said(back)["slices"]}
        assert len(back.slices) == begun[known], end
        assert len(found & whole) >= ended[known], end
        rules = [finding.rule for finding in back.findings]
        assert ("cut-off" in rules) == (end not in places), end
        assert rules.count("never-ended") == begun[known] - ended[known], end


@pytest.mark.parametrize("count", [1, 100, 70_000])
def test_zeros_at_the_end_change_nothing(count: int) -> None:
    trace = failed_compile()
    back = read_back(written(trace) + bytes(count))
    assert said(back) == said(trace)
    assert not back.findings


def test_two_files_in_one_are_the_packets_of_both() -> None:
    a = a_foreign_file("thread { pid: 1 tid: 1 }", event("SLICE_BEGIN", 1), event("SLICE_END", 2))
    b = a_foreign_file("thread { pid: 1 tid: 1 }", event("SLICE_BEGIN", 5), event("SLICE_END", 9))
    assert slices_of(read_back(a + b)) == [("n", 1, 2), ("n", 5, 9)]


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x04\xff\xff\xff\xff",
        b"\x0a\x02\x40\x80",
        b"\x0b\x01",
        b"\x0a" + b"\xff" * 11,
    ],
)
def test_bytes_that_are_no_trace_are_refused_with_their_place(data: bytes) -> None:
    with pytest.raises(UserError, match=r"not a Perfetto trace: .*byte \d"):
        read_back(data)


def test_damaged_files_are_refused_or_read_but_never_an_internal_error() -> None:
    original = written(failed_compile())
    for seed in range(400):
        random_ = random.Random(seed)
        data = bytearray(original)
        for _ in range(random_.randint(1, 8)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        try:
            trace = read_back(bytes(data))
        except UserError:
            continue
        assert written(trace), seed


def test_a_newer_file_is_refused() -> None:
    data = written(one_lane((0, 1, "a"))).replace(b'"format_version":1', b'"format_version":9')
    with pytest.raises(UserError, match=r"version 9.*upgrade"):
        read_back(data)


# ------------------------------------------------------------------------- files of other tools


def event(kind: str, time: int, name: str = "n", more: str = "", track: int = 5) -> str:
    """A packet with an event, in protobuf's text form."""
    named = f'name: "{name}"' if kind in ("SLICE_BEGIN", "INSTANT") else ""
    return f"""packet {{ timestamp: {time} trusted_packet_sequence_id: 9
      track_event {{ type: TYPE_{kind} track_uuid: {track} {named} {more} }} }}"""


def a_foreign_file(track: str, *events: str, more: str = "") -> bytes:
    """A file with one track, uuid 5, and these packets."""
    text = f"packet {{ track_descriptor {{ uuid: 5 {track} }} }}\n{more}\n" + "\n".join(events)
    return text_format.Parse(text, pb.Trace()).SerializeToString()


def slices_of(trace: Trace) -> list[tuple[str, int, int]]:
    return [(name, begin, end) for name, _, begin, end, *_ in said(trace)["slices"]]


def test_names_that_are_not_interned() -> None:
    data = a_foreign_file(
        'thread { pid: 4 tid: 6 thread_name: "worker" }',
        event("SLICE_BEGIN", 10, "outer", 'categories: "a" categories: "b"'),
        event("SLICE_BEGIN", 20, "inner", 'debug_annotations { name: "k" uint_value: 5 }'),
        event("SLICE_END", 30),
        event("SLICE_END", 40, more='debug_annotations { name: "late" bool_value: true }'),
        more='packet { track_descriptor { uuid: 4 process { pid: 4 process_name: "tool" } } }',
    )
    trace = read_back(data)
    assert slices_of(trace) == [("outer", 10, 40), ("inner", 20, 30)]
    assert trace.category(0) == "a,b"
    assert [trace.arguments.of(row) for row in (0, 1)] == [{"late": True}, {"k": 5}]
    assert [(p.name, p.pid) for p in trace.processes] == [("tool", 4)]
    assert [(t.name, t.tid) for t in trace.threads] == [("worker", 6)]
    assert not trace.findings
    assert said(read_back(written(trace))) == said(trace)


def test_interned_names_may_change_when_the_state_is_cleared() -> None:
    def interned(time: int, name: str, flags: int) -> str:
        return f"""packet {{ timestamp: {time} trusted_packet_sequence_id: 9 sequence_flags: {flags}
          interned_data {{ event_names {{ iid: 1 name: "{name}" }} }}
          track_event {{ type: TYPE_SLICE_BEGIN track_uuid: 5 name_iid: 1 }} }}"""

    for flags in (1, 3, 2):  # and where a name is simply told again
        data = a_foreign_file(
            "thread { pid: 1 tid: 1 }",
            interned(10, "first", 1),
            event("SLICE_END", 20),
            interned(30, "second", flags),
            event("SLICE_END", 40),
        )
        assert slices_of(read_back(data)) == [("first", 10, 20), ("second", 30, 40)]


def test_events_in_any_order_are_sorted_by_time() -> None:
    data = a_foreign_file(
        "thread { pid: 1 tid: 1 }",
        event("SLICE_BEGIN", 100, "second"),
        event("SLICE_END", 110),
        event("SLICE_BEGIN", 0, "first"),
        event("SLICE_END", 10),
    )
    assert slices_of(read_back(data)) == [("first", 0, 10), ("second", 100, 110)]


def test_rows_counters_instants_and_flows() -> None:
    data = a_foreign_file(
        'name: "downloads" parent_uuid: 4',
        event("SLICE_BEGIN", 10, "a", "flow_ids: 7"),
        event("SLICE_END", 20),
        event("SLICE_BEGIN", 30, "b", "terminating_flow_ids: 7"),
        event("SLICE_END", 40),
        event("INSTANT", 35, "point"),
        event("COUNTER", 12, more="counter_value: 4", track=8),
        event("COUNTER", 14, more="double_counter_value: 1.5", track=8),
        more="""packet { track_descriptor { uuid: 4 process { pid: 4 process_name: "tool" } } }
        packet { track_descriptor { uuid: 8 name: "mem" parent_uuid: 4
                                    counter { unit_name: "B" } } }""",
    )
    trace = read_back(data)
    assert trace.lanes == (Lane(process=0, name="downloads"),)
    assert trace.counters.value.tolist() == [4.0, 1.5]
    assert [(c.name, c.unit, c.process) for c in trace.counter_tracks] == [("mem", "B", 0)]
    assert trace.instants.time.tolist() == [35]
    assert [tuple(map(trace.name, flow)) for flow in trace.flows.tolist()] == [("a", "b")]
    assert said(read_back(written(trace))) == said(trace)


def test_compressed_packets() -> None:
    data = a_foreign_file(
        "thread { pid: 1 tid: 1 }", event("SLICE_BEGIN", 1), event("SLICE_END", 2)
    )
    squeezed = pb.Trace(packet=[pb.TracePacket(compressed_packets=zlib.compress(data))])
    assert slices_of(read_back(squeezed.SerializeToString())) == [("n", 1, 2)]
    broken = pb.Trace(packet=[pb.TracePacket(compressed_packets=b"no zlib")])
    with pytest.raises(UserError, match="byte 0"):
        read_back(broken.SerializeToString())


def test_slices_without_an_end_end_with_the_trace_and_are_told() -> None:
    data = a_foreign_file(
        "thread { pid: 1 tid: 1 }",
        event("SLICE_BEGIN", 10, "outer"),
        event("SLICE_BEGIN", 20, "inner"),
        event("INSTANT", 90, "last"),
    )
    trace = read_back(data)
    assert slices_of(trace) == [("outer", 10, 90), ("inner", 20, 90)]
    assert [finding.rule for finding in trace.findings] == ["never-ended", "never-ended"]
    assert {"outer" in finding.place for finding in trace.findings} == {True, False}


def test_an_end_without_a_begin_is_told() -> None:
    trace = read_back(a_foreign_file("thread { pid: 1 tid: 1 }", event("SLICE_END", 10)))
    assert len(trace.slices) == 0
    assert [finding.rule for finding in trace.findings] == ["end-without-begin"]


def test_text_that_is_not_utf_8_gets_replacement_characters() -> None:
    more = 'categories: "c~t" debug_annotations { name: "k~" string_value: "v~" }'
    data = a_foreign_file(
        'thread { pid: 1 tid: 1 thread_name: "t~" }',
        event("SLICE_BEGIN", 10, "n~", more),
        event("SLICE_END", 20),
    ).replace(b"~", b"\xff")
    trace = read_back(data)
    assert (trace.name(0), trace.category(0)) == ("n\ufffd", "c\ufffdt")
    assert trace.arguments.of(0) == {"k\ufffd": "v\ufffd"}
    assert trace.threads[0].name == "t\ufffd"


def test_packets_of_other_kinds_are_passed_by() -> None:
    data = a_foreign_file(
        "thread { pid: 1 tid: 1 }",
        event("SLICE_BEGIN", 10),
        "packet { trace_uuid { msb: 1 lsb: 2 } } packet { trace_config { duration_ms: 5 } }",
        event("SLICE_END", 20),
    )
    assert slices_of(read_back(data)) == [("n", 10, 20)]


def test_a_time_beyond_the_clock_is_told() -> None:
    data = a_foreign_file("thread { pid: 1 tid: 1 }", event("INSTANT", 2**63 + 5))
    trace = read_back(data)
    assert len(trace.instants) == 0
    assert [finding.rule for finding in trace.findings] == ["far-time"]


def test_a_category_of_its_own_called_error_stays() -> None:
    trace = one_lane((0, 9, "A", "pass,error", {"status": "failed"}), (1, 2, "B", "pass,error"))
    again = pftrace_reader.read(b"".join(write(trace))).build()
    assert [again.category(row) for row in range(2)] == ["pass,error", "pass,error"]
