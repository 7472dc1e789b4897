"""Chrome JSON: what is written, that it comes back, and what is read from other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.traces import (
    START,
    TOO_WIDE,
    TRACES,
    failed_compile,
    far,
    foreign,
    main_thread,
    negative,
    one_lane,
    said,
    same_pid,
    two_threads,
    with_start,
)
from tilelang_trace.errors import UserError
from tilelang_trace.formats.chrome_json.reader import read
from tilelang_trace.formats.chrome_json.writer import write
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane, Trace


def written(trace: Trace) -> bytes:
    return b"".join(write(trace))


def read_back(data: bytes | str) -> Trace:
    return read(data if isinstance(data, bytes) else data.encode()).build()


def strict(data: bytes) -> Any:
    """The file as Python's own json module reads it; NaN and Infinity are an error."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def events(trace: Trace, phase: str | None = None) -> list[dict[str, Any]]:
    """The written events, all or those of one phase."""
    found = strict(written(trace))["traceEvents"]
    return [event for event in found if phase in (None, event["ph"])]


# ------------------------------------------------------------------------------------ writing

GOLDEN = """\
{"traceEvents":[
{"ph":"M","ts":0,"pid":1,"tid":1,"name":"process_name","args":{"name":"mlp.py"}},
{"ph":"M","ts":0,"pid":1,"tid":1,"name":"process_sort_index","args":{"sort_index":0}},
{"ph":"M","ts":0,"pid":1,"tid":1,"name":"thread_name","args":{"name":"MainThread"}},
{"ph":"X","ts":1.002,"dur":1000.000,"pid":1,"tid":1,"name":"Größe","cat":"pass",\
"args":{"sequence":0,"status":"ok"}},
{"ph":"X","ts":1.003,"dur":0.001,"pid":1,"tid":1,"name":"Simplify","cat":"pass,error",\
"args":{"status":"incomplete","error":{"type":"E"}}}
],
"displayTimeUnit":"ns",
"otherData":{"tilelang_trace":{"format_version":1,"origin_ns":0,\
"processes":[{"name":"mlp.py","pid":71}],\
"threads":[{"process":0,"name":"MainThread","tid":71}],\
"lanes":[{"id":1,"thread":0,"process":null,"name":""}],\
"counter_tracks":[],"metadata":{}}}}
"""


def test_the_bytes_of_a_small_file() -> None:
    trace = one_lane(
        (1_003, 1_004, "Simplify", "pass", {"error": {"type": "E"}, "status": "incomplete"}),
        (1_002, 1_001_002, "Größe", "pass", {"status": "ok", "sequence": 0}),
    )
    assert written(trace).decode() == GOLDEN


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_any_reader_takes_the_file(make: Callable[[], Trace]) -> None:
    data = written(make())
    document = strict(data)
    assert isinstance(document["traceEvents"], list)
    assert data.startswith(b'{"traceEvents":[\n')
    assert data.endswith(b"}\n")


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_one_event_stands_on_one_line(make: Callable[[], Trace]) -> None:
    data = written(make())
    found = strict(data)["traceEvents"]
    lines = data.split(b"\n")
    assert lines[0] == b'{"traceEvents":['
    in_lines = [line.rstrip(b",") for line in lines[1 : lines.index(b"],")] if line]
    assert [json.loads(line) for line in in_lines] == found


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_times_have_three_decimals_and_no_exponent(make: Callable[[], Trace]) -> None:
    for line in written(make()).splitlines():
        if line.startswith(b'{"ph":"') and not line.startswith(b'{"ph":"M"'):
            assert re.match(rb'\{"ph":"."(,"s":"t")?,"ts":\d+\.\d{3},', line), line
        if line.startswith(b'{"ph":"X"'):
            assert re.match(rb'[^,]+,[^,]+,"dur":\d+\.\d{3},', line), line


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_ids_are_small_and_no_two_rows_share_one(make: Callable[[], Trace]) -> None:
    trace = make()
    found = events(trace)
    for event in found:
        assert 0 <= event["pid"] < 10_000
        assert 0 <= event["tid"] < 10_000
    named = [(e["pid"], e["tid"]) for e in found if e["name"] == "thread_name"]
    assert len(set(named)) == len(named)
    assert len(named) == len(trace.lanes) + any(e.get("cat") == "failure" for e in found)


def test_no_number_that_is_no_json_is_written() -> None:
    bad = [float("nan"), float("inf"), float("-inf")]
    trace = one_lane(
        *((10 * k, 10 * k + 1, "s", "", {"v": v, "n": [v]}) for k, v in enumerate(bad))
    )
    data = written(trace)
    assert [event["args"] for event in events(trace, "X")] == [{"v": None, "n": [None]}] * 3
    assert b"nan" not in data.lower()
    assert b"Infinity" not in data


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_counter_value_that_is_no_number_is_left_out(value: float) -> None:
    builder = TraceBuilder()
    main_thread(builder)
    builder.counter_tracks.append(CounterTrack("c", process=0))
    builder.counter(0, 1, value)
    builder.counter(0, 2, 1.0)
    assert [event["args"] for event in events(builder.build(), "C")] == [{"value": 1.0}]


@pytest.mark.parametrize("value", TOO_WIDE)
def test_an_integer_wider_than_64_bits_becomes_text(value: int) -> None:
    trace = one_lane((0, 1, "s", "", {"wide": value}))
    assert [event["args"] for event in events(trace, "X")] == [{"wide": str(value)}]


@pytest.mark.parametrize("value", TOO_WIDE)
def test_a_wide_integer_in_an_object_becomes_text_too(value: int) -> None:
    trace = one_lane((0, 1, "s", "", {"o": {"a": [value]}}))
    assert [event["args"] for event in events(trace, "X")] == [{"o": {"a": [str(value)]}}]


def test_a_wide_integer_in_the_metadata_becomes_text_too() -> None:
    builder = TraceBuilder()
    builder.metadata = {"hash": 2**64}
    assert read_back(written(builder.build())).metadata == {"hash": str(2**64)}


def test_arguments_as_deep_as_the_reader_takes_them_can_be_written() -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    data = '{"traceEvents":[{"ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"name":"s","args":{"v":%s}}]}'
    trace = read_back(data % json.dumps(value))
    assert [event["args"]["v"] for event in events(trace, "X")] == [value]


def test_an_error_is_a_category_and_has_a_row_of_its_own() -> None:
    trace = failed_compile()
    categories = {event["name"]: event["cat"] for event in events(trace, "X")}
    assert categories["InjectPipeline"] == categories["LowerTIR"] == "pass,error"
    assert categories["PassContext"] == "context,error"
    assert categories["Tune"] == "pass"
    points = events(trace, "i")
    assert [(p["name"], p["ts"], p["cat"]) for p in points] == [
        ("ApplySchedule failed: no schedule", 9.0, "failure"),
        ('InjectPipeline failed: tile "24" is not a multiple of 16', 50.0, "failure"),
    ]
    (row,) = [e for e in events(trace, "M") if e["args"].get("name") == "Failures"]
    assert {(p["pid"], p["tid"]) for p in points} == {(row["pid"], row["tid"])}
    starts, ends = events(trace, "s"), events(trace, "f")
    assert [(e["id"], e["ts"], e["tid"]) for e in starts] == [(1, 1.0, 1), (2, 30.001, 1)]
    assert [(e["id"], e["ts"], e["tid"]) for e in ends] == [
        (1, 9.0, row["tid"]),
        (2, 50.0, row["tid"]),
    ]
    assert {e["bp"] for e in ends} == {"e"}


def test_times_are_relative_to_the_start_of_the_recording() -> None:
    assert [(e["ts"], e["dur"]) for e in events(with_start(), "X")] == [
        (1.001, 8.998),
        (1.002, 0.001),
    ]
    other = strict(written(with_start()))["otherData"]["tilelang_trace"]
    assert other["origin_ns"] == START["monotonic_ns"]
    assert other["metadata"] == {"start": START}


def test_times_below_zero_and_far_ones_are_written_from_zero() -> None:
    assert [e["ts"] for e in events(negative(), "X")] == [999.999, 1000.0, 1999.999]
    assert [e["ts"] for e in events(far(), "X")] == [0.0, 0.001, 0.002]


def test_processes_of_one_pid_get_pids_of_the_file_in_their_order() -> None:
    named = [e for e in events(same_pid(), "M") if e["name"] == "process_name"]
    assert [(e["pid"], e["args"]["name"]) for e in named] == [(1, "baseline"), (2, "candidate")]
    assert [(e["pid"], e["tid"]) for e in events(same_pid(), "X")] == [
        (1, 1),
        (1, 1),
        (2, 2),
        (2, 2),
    ]


def test_threads_are_numbered_in_the_order_of_the_trace() -> None:
    named = [e for e in events(two_threads(), "M") if e["name"] == "thread_name"]
    assert [(e["tid"], e["args"]["name"]) for e in named] == [(1, "MainThread"), (2, "worker-0")]


def test_many_slices_stand_in_one_list() -> None:
    trace = one_lane(*((10 * k, 10 * k + 5, f"s{k % 7}", "", {"k": k}) for k in range(10_000)))
    assert [event["args"]["k"] for event in events(trace, "X")] == list(range(10_000))
    assert said(read_back(written(trace))) == said(trace)


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


def test_the_failures_row_does_not_come_back() -> None:
    back = read_back(written(failed_compile()))
    assert len(back.instants) == len(back.flows) == 0
    assert len(back.lanes) == 1


def test_every_nanosecond_of_a_second_far_from_zero_comes_back() -> None:
    base = 30 * 86_400 * 10**9  # a machine that was started 30 days ago
    slices = [(base + 7_919 * k, base + 7_919 * k + 1 + k % 5_000, "s") for k in range(20_000)]
    trace = one_lane(*slices)
    assert said(read_back(written(trace))) == said(trace)


def test_every_nanosecond_comes_back_up_to_the_limit_of_exact_times() -> None:
    base = 2**52 - 10**9
    slices = [(base + 7_919 * k, base + 7_919 * k + 1 + k % 5_000, "s") for k in range(20_000)]
    trace = one_lane(*slices)
    assert said(read_back(written(trace))) == said(trace)


def test_slices_of_a_category_named_failure_come_back() -> None:
    trace = one_lane((0, 10, "retry", "failure"))
    assert said(read_back(written(trace))) == said(trace)


def test_instants_of_a_category_named_failure_come_back() -> None:
    builder = TraceBuilder()
    builder.instant(main_thread(builder), 5, "disk full", "failure", {"disk": 1})
    trace = builder.build()
    assert said(read_back(written(trace))) == said(trace)


def test_a_failed_slice_of_another_tool_comes_back() -> None:
    trace = one_lane((0, 10, "a", "python", {"status": "failed"}), (20, 30, "b", "", {"status": 3}))
    assert said(read_back(written(trace))) == said(trace)


# ------------------------------------------------------------------------- files of other tools


def a_file(*found: dict[str, Any], **more: Any) -> bytes:
    """A file with these events; pid and tid are 1 where they don't say so."""
    return json.dumps({"traceEvents": [{"pid": 1, "tid": 1, **e} for e in found], **more}).encode()


def slices_of(trace: Trace) -> list[tuple[str, int, int]]:
    slices = trace.slices
    return [
        (trace.name(row), int(slices.begin[row]), int(slices.end[row]))
        for row in range(len(slices))
    ]


def test_slices_with_times_in_microseconds() -> None:
    trace = read_back(
        a_file(
            {"ph": "X", "name": "a", "ts": 1, "dur": 2},
            {"ph": "X", "name": "b", "ts": 1.5, "dur": 0.25, "cat": "x,y", "args": {"k": [1]}},
        )
    )
    assert slices_of(trace) == [("a", 1_000, 3_000), ("b", 1_500, 1_750)]
    assert (trace.category(0), trace.category(1)) == ("", "x,y")
    assert trace.arguments.of(1) == {"k": [1]}
    assert not trace.findings


def test_a_bare_list_of_events_is_a_trace_too() -> None:
    data = b' [\n{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]\n'
    assert slices_of(read_back(data)) == [("a", 1_000, 3_000)]


def test_names_of_processes_and_threads() -> None:
    trace = read_back(
        a_file(
            {"ph": "X", "name": "a", "ts": 1, "dur": 2, "tid": 7},
            {"ph": "X", "name": "b", "ts": 1, "dur": 2, "pid": 2, "tid": 7},
            {"ph": "M", "name": "process_name", "args": {"name": "python"}},
            {"ph": "M", "name": "thread_name", "tid": 7, "args": {"name": "worker"}},
        )
    )
    assert [(p.name, p.pid) for p in trace.processes] == [("python", 1), ("2", 2)]
    assert [(t.process, t.name, t.tid) for t in trace.threads] == [(0, "worker", 7), (1, "7", 7)]


@pytest.mark.parametrize(
    ("first", "second"),
    [(7_168_000_000, 7_168_000_001), ("before", "after"), (1, "1"), (-1, 2**32 - 1)],
)
@pytest.mark.parametrize("key", ["pid", "tid"])
def test_ids_that_perfetto_would_mix_up_stay_apart(key: str, first: Any, second: Any) -> None:
    trace = read_back(
        a_file(
            {"ph": "X", "name": "a", "ts": 0, "dur": 100, key: first},
            {"ph": "X", "name": "b", "ts": 20, "dur": 200, key: second},
        )
    )
    assert len(trace.lanes) == 2
    assert slices_of(trace) == [("a", 0, 100_000), ("b", 20_000, 220_000)]
    assert said(read_back(written(trace))) == said(trace)
    tids = [(event["pid"], event["tid"]) for event in events(trace, "X")]
    assert len({pid_tid[key == "tid"] for pid_tid in tids}) == 2


def test_begin_and_end_events_nest() -> None:
    trace = read_back(
        a_file(
            {"ph": "B", "name": "outer", "ts": 0, "args": {"a": 1}},
            {"ph": "B", "name": "inner", "ts": 5},
            {"ph": "E", "ts": 7},
            {"ph": "E", "name": "outer", "ts": 10, "args": {"b": 2}},
        )
    )
    assert slices_of(trace) == [("outer", 0, 10_000), ("inner", 5_000, 7_000)]
    assert trace.arguments.of(0) == {"a": 1, "b": 2}


SAME_TIMES = (
    {"ph": "B", "name": "lower", "ts": 0},
    {"ph": "B", "name": "Noop", "ts": 5},
    {"ph": "E", "name": "Noop", "ts": 5},
    {"ph": "B", "name": "Next", "ts": 5},
    {"ph": "E", "name": "Next", "ts": 5},
    {"ph": "E", "name": "lower", "ts": 5},
)


def test_begins_and_ends_at_one_time_keep_their_order() -> None:
    trace = read_back(a_file(*SAME_TIMES))
    (_, lower, lower_end), (_, noop, noop_end), (_, following, following_end) = slices_of(trace)
    assert [name for name, _, _ in slices_of(trace)] == ["lower", "Noop", "Next"]
    assert trace.slices.parent.tolist() == [-1, 0, 0]
    assert lower == 0
    assert noop == 5_000
    assert noop < noop_end <= following < following_end <= lower_end <= 5_010


def test_begins_and_ends_at_one_time_are_told() -> None:
    assert {f.place for f in read_back(a_file(*SAME_TIMES)).findings} >= {"event 3", "event 5"}


def test_begins_and_ends_may_stand_in_any_order() -> None:
    trace = read_back(
        a_file(
            {"ph": "B", "name": "second", "ts": 100},
            {"ph": "E", "name": "second", "ts": 110},
            {"ph": "B", "name": "first", "ts": 0},
            {"ph": "E", "name": "first", "ts": 10},
        )
    )
    assert slices_of(trace) == [("first", 0, 10_000), ("second", 100_000, 110_000)]


def test_what_never_ended_ends_with_the_trace_and_is_told() -> None:
    trace = read_back(
        a_file(
            {"ph": "B", "name": "open", "ts": 5},
            {"ph": "X", "name": "last", "ts": 10, "dur": 10, "tid": 2},
        )
    )
    assert sorted(slices_of(trace)) == [("last", 10_000, 20_000), ("open", 5_000, 20_000)]
    assert [(f.place, f.rule) for f in trace.findings] == [("event 1", "never-ended")]


def test_an_end_without_a_begin_is_left_out_and_told() -> None:
    trace = read_back(a_file({"ph": "E", "ts": 5}, {"ph": "X", "name": "a", "ts": 1, "dur": 1}))
    assert slices_of(trace) == [("a", 1_000, 2_000)]
    assert [(f.place, f.rule) for f in trace.findings] == [("event 1", "end-without-begin")]


def test_overlaps_get_a_lane_and_are_told_with_their_place() -> None:
    trace = read_back(
        a_file(
            {"ph": "M", "name": "process_name", "args": {"name": "p"}},
            {"ph": "X", "name": "KernelA", "ts": 0, "dur": 100},
            {"ph": "X", "name": "KernelB", "ts": 80, "dur": 60},
            {"ph": "X", "name": "KernelC", "ts": 150, "dur": 20},
        )
    )
    assert trace.slices.lane.tolist() == [0, 0, 1]
    assert [(f.place, f.rule) for f in trace.findings] == [("event 3", "overlap")]
    assert said(read_back(written(trace))) == said(trace)


def test_counters_instants_and_flows() -> None:
    trace = read_back(
        a_file(
            {"ph": "C", "name": "mem", "ts": 1, "args": {"used": 3, "free": 4.5, "note": "x"}},
            {"ph": "X", "name": "a", "ts": 0, "dur": 10},
            {"ph": "X", "name": "b", "ts": 20, "dur": 10},
            {"ph": "i", "name": "point", "ts": 2, "s": "t", "args": {"k": 1}},
            {"ph": "s", "id": 1, "cat": "f", "name": "f", "ts": 1},
            {"ph": "f", "id": 1, "cat": "f", "name": "f", "ts": 21, "bp": "e"},
        )
    )
    assert [(c.name, c.unit) for c in trace.counter_tracks] == [("mem", "used"), ("mem", "free")]
    assert trace.counters.value.tolist() == [3.0, 4.5]
    assert trace.instants.time.tolist() == [2_000]
    assert trace.instant_arguments.of(0) == {"k": 1}
    assert [tuple(map(trace.name, flow)) for flow in trace.flows.tolist()] == [("a", "b")]


def test_events_of_a_kind_that_has_no_place_are_told() -> None:
    trace = read_back(a_file({"ph": "O", "name": "object", "ts": 1, "id": 5}))
    assert [(f.place, f.rule) for f in trace.findings] == [("event 1", "unknown-phase")]


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"traceEvents":[\n{"ph":"X",\n', "line"),
        (b'{"traceEvents":[\n{"ph":"X"},\n]}', "line 2"),
        (b'{"a": 1}', "traceEvents"),
        (b'{"traceEvents": 5}', "traceEvents"),
        (b"[1]", "event 1"),
        (b'[{"ph":5}]', "event 1"),
        (b'[{"ph":"C","ts":5,"args":{"v":NaN}}]', "line 1"),
        (b'[{"ph":"C","ts":5,"args":{"v":\n-Infinity}}]', "line 2"),
        (b'[{"ph":"X","name":"\xff\xfe"}]', "line 1"),
        (b"[" * 5_000, "line 1"),
    ],
)
def test_bad_input_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_back(data)


def header(**changes: Any) -> bytes:
    """A file of ours whose own header says something else."""
    document = strict(written(one_lane((0, 1, "a"))))
    document["otherData"]["tilelang_trace"].update(changes)
    return json.dumps(document).encode()


def test_a_file_of_a_newer_version_is_refused() -> None:
    with pytest.raises(UserError, match=r"version 99.*upgrade"):
        read_back(header(format_version=99))


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": "1"},
        {"processes": 5},
        {"processes": [{"title": "p"}]},
        {"threads": None},
        {"lanes": [{"thread": 0}]},
        {"lanes": [5]},
        {"metadata": 5},
        {"origin_ns": "x"},
        {"origin_ns": None},
    ],
)
def test_a_damaged_header_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="header is damaged"):
        read_back(header(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": [{"process": 9, "name": "t"}]},
        {"lanes": [{"id": 1, "thread": 9}]},
        {"processes": [{"name": 5}]},
        {"counter_tracks": [{"name": "c", "process": 9}]},
    ],
)
def test_a_header_that_points_nowhere_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="header is damaged"):
        read_back(header(**changes))


def test_nothing_of_a_foreign_file_is_lost_on_the_way_to_our_own() -> None:
    trace = foreign()
    again = read_back(written(read_back(written(trace))))
    assert said(again) == said(trace)


def test_lanes_without_a_thread_and_threads_without_a_lane_come_back() -> None:
    builder = TraceBuilder()
    builder.thread(builder.process("p", 1), "idle", 2)
    builder.lane(Lane(process=0, name="downloads"))
    assert said(read_back(written(builder.build()))) == said(builder.build())
