"""What is read from files of other tools is what Perfetto's own engine makes of them."""

from __future__ import annotations

import zlib

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.foreign_packets import CLEARED, NEEDS, event, file_of, legacy, packet, thread, track
from tests.perfetto.engine import Engine
from tests.perfetto.foreign import by_engine, by_trace
from tilelang_trace.formats.pftrace import reader

_SNAPSHOT = """clock_snapshot {
  clocks { clock_id: 6 timestamp: 1000000 } clocks { clock_id: 3 timestamp: 400000 }
  clocks { clock_id: 64 timestamp: 5000 unit_multiplier_ns: 100 is_incremental: true } }"""
_ASYNC = "unscoped_id: 7"


def _legacy(phase: str, time: int, name: str, content: str = "", of: str = "") -> str:
    said = f'name: "{name}" categories: "c" {legacy(phase, of)} {content}'
    return packet(f"track_event {{ {said} }}", time)


FILES = {
    "nested, by names and ids": file_of(
        thread(),
        event("B", 10, "outer", 'categories: "a" categories: "b"'),
        packet(
            'interned_data { event_names { iid: 1 name: "inner" } '
            'event_categories { iid: 2 name: "k" } } '
            "track_event { type: TYPE_SLICE_BEGIN track_uuid: 5 name_iid: 1 category_iids: 2 }",
            20,
            more=NEEDS,
        ),
        event("I", 25, "point"),
        event("E", 30),
        event("E", 40),
    ),
    "processes, threads, rows and counters": file_of(
        track(1, 'process { pid: 4 process_name: "p" }'),
        thread(2, 4, 9, "parent_uuid: 1"),
        track(3, 'name: "row" parent_uuid: 1'),
        track(4, 'name: "deep" parent_uuid: 3'),
        track(6, 'static_name: "top"'),
        track(7, 'name: "mem" parent_uuid: 1 counter { unit: UNIT_SIZE_BYTES unit_multiplier: 8 }'),
        track(8, 'name: "sum" counter { unit_name: "x" is_incremental: true }'),
        *(
            line
            for on in (1, 2, 3, 4, 6)
            for line in (event("B", 10 + on, f"on {on}", on=on), event("E", 30 + on, on=on))
        ),
        event("C", 12, content="counter_value: 4", on=7),
        event("C", 13, content="double_counter_value: 0.5", on=7),
        event("C", 14, content="counter_value: 4", on=8),
        event("C", 15, content="counter_value: 5", on=8, sequence=1, more=CLEARED),
        event("C", 16, content="counter_value: 6", on=8),
        event("B", 50, "with values", "extra_counter_values: 9 extra_counter_track_uuids: 7", on=2),
        event("E", 60, on=2),
    ),
    "defaults, and none": file_of(
        thread(5, 4, 6),
        thread(6, 4, 7),
        event("I", 1, "by the thread's descriptor", on=None),
        packet("trace_packet_defaults { track_event_defaults { track_uuid: 5 } }", 2),
        event("I", 3, "by default", on=None),
        event("I", 4, "nowhere", on=0),
        event("I", 5, "of a sequence that says nothing", on=None, sequence=8),
        event("B", 6, "on an unknown track", on=99),
        event("E", 7, on=99),
    ),
    "ends by name": file_of(
        thread(),
        event("B", 10, "a", 'categories: "x"'),
        event("E", 20, "other"),
        event("E", 30, "a", 'categories: "x"'),
        event("B", 40, "b"),
        event("B", 50, "c"),
        event("E", 60, "b"),
        event("I", 70, "later"),
    ),
    "legacy phases": file_of(
        thread(),
        _legacy("X", 10, "whole", of="duration_us: 1"),
        _legacy("B", 1100, "b"),
        _legacy("I", 1150, "thread instant"),
        _legacy("i", 1150, "global instant", of="instant_event_scope: SCOPE_GLOBAL"),
        _legacy("E", 1200, "b"),
        _legacy("b", 20, "async", of=_ASYNC),
        _legacy("n", 25, "within", of=_ASYNC),
        _legacy("b", 30, "async in it", of=_ASYNC),
        _legacy("b", 30, "async of another id", of="unscoped_id: 8"),
        _legacy("e", 40, "async in it", of=_ASYNC),
        _legacy("e", 60, "async of another id", of="unscoped_id: 8"),
        _legacy("e", 50, "async", of=_ASYNC),
        _legacy("S", 30, "old", of="global_id: 7"),
        _legacy("T", 35, "old", of="global_id: 7"),
        _legacy("F", 45, "old", of="global_id: 7"),
        _legacy("b", 30, "of the process", of="local_id: 7"),
        _legacy("e", 45, "of the process", of="local_id: 7"),
        _legacy("B", 2000, "elsewhere", of="pid_override: 40 tid_override: 41"),
        _legacy("E", 2010, "elsewhere", of="pid_override: 40 tid_override: 41"),
    ),
    "arrows": file_of(
        thread(5, 4, 6),
        thread(6, 4, 7),
        event("B", 10, "a", "flow_ids: 3"),
        event("E", 20),
        event("B", 30, "b", "flow_ids: 3", on=6),
        event("E", 40, on=6),
        event("B", 50, "c", "terminating_flow_ids: 3"),
        event("E", 60),
        event("B", 70, "d", "flow_ids_old: 3"),
        event("E", 80, content="flow_ids: 4"),
        event("B", 90, "e", "terminating_flow_ids_old: 3 terminating_flow_ids_old: 4"),
        event("E", 95),
        event("B", 100, "f", legacy("B", "bind_id: 9 flow_direction: FLOW_OUT")),
        event("E", 110),
        event("B", 120, "g", legacy("B", "bind_id: 9 flow_direction: FLOW_IN")),
        event("E", 130),
        *(
            packet(f"track_event {{ track_uuid: {on} {text} }}", time)
            for time, on, text in (
                (140, 5, f'name: "h" {legacy("B")}'),
                (141, 5, f'name: "arrow" {legacy("s", "unscoped_id: 1")}'),
                (145, 5, legacy("E")),
                (146, 6, f'name: "arrow" {legacy("f", "unscoped_id: 1")}'),
                (147, 6, f'name: "i" {legacy("B")}'),
                (149, 6, legacy("E")),
            )
        ),
    ),
    "clocks": file_of(
        thread(),
        packet(
            f"{_SNAPSHOT} trace_packet_defaults {{ timestamp_clock_id: 64 "
            "track_event_defaults { track_uuid: 5 } }",
        ),
        event("B", 10, "counted in steps of 100 ns", on=None),
        packet("trace_uuid { msb: 1 }", 3),
        event("E", 7, on=None),
        event("I", 400500, "monotonic", more="timestamp_clock_id: 3"),
        event("I", 1000700, "boot time", more="timestamp_clock_id: 6"),
        event("I", 5, "and on", on=None),
    ),
    "deltas of a thread": file_of(
        packet(
            "thread_descriptor { pid: 4 tid: 6 reference_timestamp_us: 100 "
            'reference_thread_time_us: 50 thread_name: "t" }',
            0,
            more=CLEARED,
        ),
        *(
            packet(f"track_event {{ {text} }}", None)
            for text in (
                'timestamp_delta_us: 5 type: TYPE_SLICE_BEGIN name: "a" thread_time_delta_us: 3',
                'timestamp_absolute_us: 107 type: TYPE_INSTANT name: "i"',
                "timestamp_delta_us: 5 type: TYPE_SLICE_END thread_time_delta_us: 4",
            )
        ),
    ),
    "a loss": file_of(
        thread(),
        event("B", 10, "a", more=NEEDS),
        event("E", 20, more="previous_packet_dropped: 1"),
        event("I", 30, "dropped", more=NEEDS),
        event("I", 35, "needs nothing"),
        event("I", 40, "cleared", more=CLEARED),
        event("I", 50, "kept", more=NEEDS),
    ),
    "any order": file_of(
        thread(),
        event("B", 100, "second", sequence=2),
        event("E", 110, sequence=3),
        event("B", 0, "first", sequence=4),
        event("E", 10, sequence=1),
    ),
    "a pid again": file_of(
        track(1, 'process { pid: 4 process_name: "p" }'),
        track(2, 'process { pid: 4 process_name: "q" }'),
        thread(5, 4, 6, "parent_uuid: 1"),
        thread(6, 4, 6, "parent_uuid: 2"),
        *(event("I", 10 + on, "i", on=on) for on in (1, 2, 5, 6)),
    ),
    "other packets": file_of(
        "packet { trace_config { duration_ms: 5 } } packet { trace_uuid { msb: 1 } }",
        "packet { ftrace_events { cpu: 0 } } packet { system_info { } }",
        'packet { for_testing { str: "x" } }',
    ),
}
FILES["compressed"] = b"".join(
    pb.Trace(packet=[pb.TracePacket(compressed_packets=zlib.compress(data))]).SerializeToString()
    for data in (FILES["any order"], FILES["ends by name"])
)
FILES["cut"] = FILES["any order"][:-9]


@pytest.mark.parametrize("name", FILES)
def test_the_trace_is_what_perfetto_makes_of_the_file(perfetto_engine: Engine, name: str) -> None:
    data = FILES[name]
    found = by_trace(reader.read(data).build())
    assert found == by_engine(perfetto_engine, data)
    assert name == "other packets" or found["slices"] or found["instants"]
