"""The pass-event log: what is written, that the passes come back, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.traces import (
    DETAIL,
    ERROR,
    TRACES,
    failed_compile,
    main_thread,
    nested_compile,
    one_lane,
    said,
    still_running,
    two_threads,
)
from tilelang_trace.errors import UserError
from tilelang_trace.formats.event_log import read, write
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

HEADER: dict[str, Any] = {"pass_events": 1, "metadata": {}}


def written(trace: Trace) -> list[dict[str, Any]]:
    """The lines of the file, as Python's own json module reads them."""
    data = b"".join(write(trace))
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def read_back(trace: Trace) -> Trace:
    return read(b"".join(write(trace))).build()


def log(*events: dict[str, Any], header: Any = None) -> bytes:
    """A log; events get what is required where they don't say it."""
    required = {"name": "P", "sequence": 0, "depth": 0, "start_ns": 0, "end_ns": 10}
    lines = [header or HEADER, *({**required, **event} for event in events)]
    return b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"


def trace_of(*events: dict[str, Any], header: Any = None) -> Trace:
    return read(log(*events, header=header)).build()


def passes(trace: Trace) -> list[Any]:
    """All about the passes of a Trace, and nothing about the rest."""
    found = []
    for row, (name, category, begin, end, lane, *_) in enumerate(said(trace)["slices"]):
        if category == "pass":
            thread = trace.threads[trace.lanes[lane].thread or 0]
            process = trace.processes[thread.process]
            arguments = repr(trace.arguments.of(row))
            found.append((begin, -end, name, arguments, thread.name, thread.tid, process.pid))
    return sorted(found)


def slices_of(trace: Trace) -> list[tuple[str, int, int]]:
    return [(name, begin, end) for name, _, begin, end, *_ in said(trace)["slices"]]


def status_of(trace: Trace) -> dict[str, str]:
    statuses = trace.arguments.values("status")
    return {trace.name(row): statuses[row] for row in range(len(trace.slices))}


# ------------------------------------------------------------------------------------ writing


def test_the_lines_of_a_small_log() -> None:
    header, *lines = written(failed_compile())
    assert header == {"pass_events": 1, "metadata": {}}
    main = {"pid": 71, "tid": 71, "thread_name": "MainThread", "context": 0}
    swallowed = {"type": "KeyError", "cause": "exception", "message": "no schedule"}
    assert lines == [
        {
            "name": "Tune",
            "sequence": 0,
            "depth": 0,
            "parent_sequence": None,
            "phase": "prepare",
            "start_ns": 10,
            "end_ns": 20_000,
            **main,
        },
        {
            "name": "ApplySchedule",
            "sequence": 1,
            "depth": 1,
            "parent_sequence": 0,
            "phase": None,
            "start_ns": 1_000,
            "end_ns": None,
            "failed_ns": 9_000,
            "error": swallowed,
            "args": {"status": "failed"},
            **main,
        },
        {
            "name": "LowerTIR",
            "sequence": 2,
            "depth": 0,
            "parent_sequence": None,
            "phase": "lower",
            "start_ns": 20_000,
            "end_ns": None,
            "failed_ns": 50_000,
            "error": ERROR,
            "args": {"status": "incomplete"},
            **main,
        },
        {
            "name": "FlattenBuffer",
            "sequence": 3,
            "depth": 1,
            "parent_sequence": 2,
            "phase": "lower",
            "start_ns": 20_500,
            "end_ns": 30_000,
            **main,
        },
        {
            "name": "InjectPipeline",
            "sequence": 4,
            "depth": 1,
            "parent_sequence": 2,
            "phase": "lower",
            "start_ns": 30_001,
            "end_ns": None,
            "failed_ns": 50_000,
            "error": {**ERROR, "detail": DETAIL},
            "args": {"status": "failed"},
            **main,
        },
    ]


def test_other_arguments_stand_under_args() -> None:
    _, *lines = written(nested_compile())
    arguments = {(line["context"], line["sequence"]): line.get("args") for line in lines}
    assert arguments[0, 4] == {"ir": {"changed": True, "hash": "9f" * 8, "size_after": 120}}
    assert arguments[0, 5] == {"hidden": {"count": 12, "ns": 90_210}}
    assert arguments[1, 0] is None


# Nothing of a trace without numbered passes can stand in a log of them.
WITHOUT_PASSES = ("foreign", "several_types", "overlapping", "rows_of_their_own")
OF_PASSES = [
    "nested_compile",
    "failed_compile",
    "still_running",
    "two_threads",
    "same_pid",
    "negative",
    "with_start",
    "empty",
    "only_names",
]


@pytest.mark.parametrize("name", OF_PASSES)
def test_the_passes_come_back(name: str) -> None:
    trace = TRACES[name]()
    back = read_back(trace)
    # Two processes of one pid fall together: the log has nothing else to tell them apart.
    if name != "same_pid":
        assert passes(back) == passes(trace)
    assert repr(back.metadata) == repr(trace.metadata)


def test_passes_at_far_times_come_back() -> None:
    trace = TRACES["far"]()
    assert passes(read_back(trace)) == passes(trace)


@pytest.mark.parametrize("name", ["tid_of_another_process", "instants", "counters"])
def test_a_log_of_passes_without_numbers_can_be_read(name: str) -> None:
    trace = TRACES[name]()
    assert [p[:3] for p in passes(read_back(trace))] == [p[:3] for p in passes(trace)]


def test_passes_without_numbers_are_numbered_by_their_begin_and_their_nesting() -> None:
    trace = one_lane(
        (0, 90, "outer", "pass"),
        (10, 80, "cc", "tool"),
        (20, 30, "in cc", "pass"),
        (22, 25, "inmost", "pass"),
        (95, 99, "next", "pass"),
    )
    _, *lines = written(trace)
    assert [(line["name"], line["sequence"], line["depth"]) for line in lines] == [
        ("outer", 0, 0),
        ("in cc", 1, 1),
        ("inmost", 2, 2),
        ("next", 3, 0),
    ]
    assert len(read_back(trace).slices) == 4


@pytest.mark.parametrize("name", WITHOUT_PASSES[:3])
def test_a_trace_without_passes_is_an_empty_log(name: str) -> None:
    assert len(written(TRACES[name]())) == 1
    assert len(read_back(TRACES[name]()).slices) == 0


def test_contexts_come_back_around_their_passes() -> None:
    back = read_back(nested_compile())
    contexts = [
        (back.arguments.of(row)["context"], begin, end)
        for row, (_, category, begin, end, *_) in enumerate(said(back)["slices"])
        if category == "context"
    ]
    assert sorted(contexts) == [(0, 2_001, 79_000), (1, 13_000, 27_000)]


def test_what_came_back_is_written_with_the_same_lines() -> None:
    for make in (nested_compile, failed_compile, still_running, two_threads):
        assert written(read_back(make())) == written(make())


# ------------------------------------------------------------------------------------ reading


def test_the_least_that_a_log_needs() -> None:
    trace = trace_of({"name": "Lower", "sequence": 3, "depth": 0, "start_ns": 5, "end_ns": 9})
    assert slices_of(trace) == [("Lower", 5, 9)]
    assert trace.arguments.of(0) == {"sequence": 3, "depth": 0, "status": "ok"}
    assert [t.name for t in trace.threads] == ["MainThread"]
    assert not trace.findings


def test_lines_in_any_order_blank_lines_and_windows_line_ends() -> None:
    data = log(
        {"name": "inner", "sequence": 1, "depth": 1, "start_ns": 2, "end_ns": 4},
        {"name": "outer", "sequence": 0, "depth": 0, "start_ns": 0, "end_ns": 10},
    )
    for text in (data, data.replace(b"\n", b"\n\n"), data.replace(b"\n", b"\r\n"), data[:-1]):
        trace = read(text).build()
        assert slices_of(trace) == [("outer", 0, 10), ("inner", 2, 4)]
        assert trace.slices.parent.tolist() == [-1, 0]


def test_of_passes_that_begin_together_the_depth_says_which_is_outside() -> None:
    trace = trace_of(
        {"name": "inner", "sequence": 1, "depth": 1, "start_ns": 5, "end_ns": None},
        {"name": "outer", "sequence": 0, "depth": 0, "start_ns": 5, "end_ns": None},
    )
    assert status_of(trace) == {"outer": "incomplete", "inner": "failed"}
    assert [trace.name(row) for row in range(2)] == ["outer", "inner"]
    assert trace.slices.parent.tolist() == [-1, 0]


def test_everything_optional() -> None:
    trace = trace_of(
        {
            "name": "größe",
            "sequence": 1,
            "depth": 1,
            "parent_sequence": 0,
            "phase": "lower",
            "pid": 70,
            "tid": 71,
            "thread_name": "worker",
            "context": 4,
            "args": {"note": [1], "sequence": 99},
        },
        header={"pass_events": 1, "metadata": {"kernel": "main", "target": "llvm"}},
    )
    row = [trace.name(row) for row in range(len(trace.slices))].index("größe")
    assert trace.arguments.of(row) == {
        "sequence": 1,
        "depth": 1,
        "parent_sequence": 0,
        "phase": "lower",
        "status": "ok",
        "note": [1],
    }
    assert [(p.name, p.pid) for p in trace.processes] == [("main", 70)]
    assert [(t.name, t.tid) for t in trace.threads] == [("worker", 71)]
    assert trace.metadata == {"kernel": "main", "target": "llvm"}


def test_of_unfinished_passes_the_innermost_failed() -> None:
    error = {"type": "ValueError", "message": "bad tile"}
    trace = trace_of(
        {"name": "outer", "sequence": 0, "start_ns": 0, "end_ns": None, "failed_ns": 90},
        {"name": "done", "sequence": 1, "depth": 1, "start_ns": 5, "end_ns": 20},
        {
            "name": "inner",
            "sequence": 2,
            "depth": 1,
            "start_ns": 30,
            "end_ns": None,
            "failed_ns": 90,
            "error": error,
        },
    )
    assert status_of(trace) == {"outer": "incomplete", "done": "ok", "inner": "failed"}
    assert slices_of(trace) == [("outer", 0, 90), ("done", 5, 20), ("inner", 30, 90)]
    errors = trace.arguments.values("error")
    assert errors[2] == {"cause": "unknown", **error}
    assert set(errors) == {0, 2}


def test_a_failure_that_the_pass_around_it_swallowed() -> None:
    trace = trace_of(
        {"name": "outer", "sequence": 0, "start_ns": 0, "end_ns": 50},
        {"name": "failed", "sequence": 1, "depth": 1, "start_ns": 5, "end_ns": None},
        {"name": "next", "sequence": 2, "depth": 1, "start_ns": 20, "end_ns": 30},
    )
    assert status_of(trace) == {"outer": "ok", "failed": "failed", "next": "ok"}
    assert slices_of(trace)[1] == ("failed", 5, 20)


def test_unfinished_passes_without_a_time_end_with_the_log() -> None:
    trace = trace_of(
        {"name": "outer", "sequence": 0, "start_ns": 0, "end_ns": None},
        {"name": "inner", "sequence": 1, "depth": 1, "start_ns": 5, "end_ns": None},
        {"name": "elsewhere", "sequence": 0, "start_ns": 0, "end_ns": 70, "tid": 9},
    )
    assert sorted(slices_of(trace)) == [("elsewhere", 0, 70), ("inner", 5, 70), ("outer", 0, 70)]


def test_a_context_is_as_its_last_outermost_pass() -> None:
    trace = trace_of(
        {"name": "a", "sequence": 0, "start_ns": 0, "end_ns": 10, "context": 1},
        {"name": "b", "sequence": 1, "start_ns": 20, "end_ns": None, "failed_ns": 40, "context": 1},
    )
    assert slices_of(trace) == [("PassContext", 0, 40), ("a", 0, 10), ("b", 20, 40)]
    assert status_of(trace) == {"PassContext": "incomplete", "a": "ok", "b": "failed"}
    assert trace.slices.parent.tolist() == [-1, 0, 0]


def test_threads_and_processes_stay_apart() -> None:
    trace = trace_of(
        {"name": "a", "pid": 1, "tid": 1},
        {"name": "b", "pid": 1, "tid": 2},
        {"name": "c", "pid": 2, "tid": 1},
        {"name": "d", "thread_name": "x"},
        {"name": "e", "thread_name": "y"},
    )
    assert len(trace.lanes) == 5
    assert sorted(p.pid or 0 for p in trace.processes) == [0, 1, 2]


def test_mends_are_told_with_their_line() -> None:
    trace = trace_of(
        {"name": "a", "sequence": 0, "start_ns": 0, "end_ns": 10},
        {"name": "b", "sequence": 1, "start_ns": 10, "end_ns": 10, "context": 3},
    )
    assert [(f.place, f.rule) for f in trace.findings if f.place != "the log"] == [
        ("line 3", "empty-slice")
    ]


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[1]", "line 1"),
        (b'{"pass_events":', "line 1"),
        (b'{"metadata": {}}', "line 1.*pass_events"),
        (b'{"pass_events": "1"}', "line 1.*pass_events"),
        (b'{"pass_events": 2}', "line 1.*version 2.*upgrade"),
        (b'{"pass_events": 1, "metadata": []}', "line 1.*metadata"),
    ],
)
def test_a_bad_first_line_is_refused(header: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(header + b"\n")


@pytest.mark.parametrize("key", ["name", "sequence", "depth", "start_ns", "end_ns"])
def test_a_line_without_a_required_key_is_refused(key: str) -> None:
    lines = log({}, {}).splitlines()
    event = json.loads(lines[2])
    del event[key]
    with pytest.raises(UserError, match=f"line 3: .*{key}"):
        read(b"\n".join([*lines[:2], json.dumps(event).encode()]))


@pytest.mark.parametrize("value", ["5", 1.5, True, [], {}, 2**70])
@pytest.mark.parametrize(
    "key",
    [
        "sequence",
        "depth",
        "start_ns",
        "end_ns",
        "failed_ns",
        "parent_sequence",
        "context",
        "pid",
        "tid",
    ],
)
def test_a_number_that_is_none_is_refused(key: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"line 3: .*{key}"):
        trace_of({}, {key: value})


@pytest.mark.parametrize("key", ["sequence", "depth", "start_ns"])
def test_a_required_number_may_not_be_null(key: str) -> None:
    with pytest.raises(UserError, match=f"line 2: .*{key}"):
        trace_of({key: None})


@pytest.mark.parametrize("value", [5, None, ["a"]])
def test_a_name_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(UserError, match=r"line 2: .*name"):
        trace_of({"name": value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("phase", 5),
        ("thread_name", 5),
        ("error", "bad tile"),
        ("args", [1]),
        ("args", "text"),
    ],
)
def test_an_optional_value_of_the_wrong_type_is_refused(key: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"line 2: .*{key}"):
        trace_of({key: value})


@pytest.mark.parametrize("line", [b"5", b"null", b'"text"', b"[]", b'{"name": "P"', b"\xff", b"{}"])
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(UserError, match="line 3: "):
        read(log({}) + line + b"\n")


def test_a_log_cut_inside_a_line_is_refused_with_its_line() -> None:
    data = log({}, {"name": "second"})
    with pytest.raises(UserError, match="line 3: "):
        read(data[:-20])


@pytest.mark.parametrize("key", ["sequence", "depth"])
def test_a_negative_number_that_counts_something_is_refused(key: str) -> None:
    with pytest.raises(UserError, match=f"line 2: .*{key}"):
        trace_of({key: -1})


def test_a_status_in_args_is_kept_only_for_unfinished_passes() -> None:
    trace = trace_of(
        {"name": "running", "end_ns": None, "failed_ns": 90, "args": {"status": "open"}},
        {"name": "done", "args": {"status": "failed"}, "tid": 5},
    )
    assert status_of(trace) == {"running": "open", "done": "ok"}
    assert not trace.arguments.values("error")


def test_texts_with_nul_and_lone_surrogates_are_written() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    arguments = {"sequence": 0, "depth": 0, "status": "ok", "text": "a\0b\ud800"}
    builder.slice(lane, 0, 1, "n\0\udfff", "pass", arguments)
    (_, line) = written(builder.build())
    assert (line["name"], line["args"]) == ("n\0\ufffd", {"text": "a\0b\ufffd"})


def test_passes_that_overlap_get_lanes_and_keep_their_arguments() -> None:
    trace = trace_of(
        {"name": "a", "sequence": 0, "start_ns": 0, "end_ns": 10_000},
        {"name": "b", "sequence": 1, "start_ns": 5_000, "end_ns": 20_000},
    )
    assert trace.slices.lane.tolist() == [0, 1]
    assert [trace.arguments.of(row)["sequence"] for row in (0, 1)] == [0, 1]
    assert [(f.place, f.rule) for f in trace.findings] == [("line 3", "overlap")]


def test_slices_of_other_kinds_are_left_out() -> None:
    trace = one_lane(
        (0, 10, "P", "pass,mine", {"sequence": 0, "depth": 0, "status": "ok"}),
        (20, 30, "tool", "tool", {"status": "ok"}),
    )
    assert [line["name"] for line in written(trace)[1:]] == ["P"]
