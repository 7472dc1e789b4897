"""Processes and threads of Chrome JSON: ids of any kind, names and order, wherever they stand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chrome_events import e, m, read, told, x
from tilelang_trace.trace.model import Trace


def threads(trace: Trace) -> list[tuple[str, str, int | None]]:
    """The process of each thread, its name and its number."""
    return [(trace.processes[t.process].name, t.name, t.tid) for t in trace.threads]


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        (1, 2, []),
        (1, "1", ["text-id"]),
        ("a", "b", ["text-id", "text-id"]),
        (2**32, 2**32 + 1, ["wide-id", "wide-id"]),
        (2**70, 2**70 + 1, ["wide-id", "wide-id"]),
        (-1, 2**32 - 1, ["wide-id"]),
        (True, 1, ["wide-id"]),
        (1.5, 1, ["wide-id"]),
        ([1], [2], ["wide-id", "wide-id"]),
        ({"a": 1}, 1, ["wide-id"]),
    ],
)
@pytest.mark.parametrize("key", ["pid", "tid"])
def test_different_ids_stay_apart(key: str, first: Any, second: Any, rules: list[str]) -> None:
    named = m(f"{'process' if key == 'pid' else 'thread'}_name", "second", **{key: second})
    trace = read(x("a", 0, 9, **{key: first}), x("b", 5, 9, **{key: second}), named)
    assert len(trace.lanes) == 2
    assert [rule for _, rule in told(trace)] == rules
    rows = trace.processes if key == "pid" else trace.threads
    assert rows[1].name == "second"


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (None, 0), ("é", "é")])
def test_equal_ids_are_one_process(first: Any, second: Any) -> None:
    assert len(read(x("a", 0, 1, pid=first), x("b", 5, 1, pid=second)).processes) == 1


def test_what_has_no_ids_is_of_process_0_and_of_the_main_thread() -> None:
    trace = read(
        {"ph": "X", "name": "none", "ts": 0, "dur": 1},
        {"ph": "X", "name": "of 33", "ts": 0, "dur": 1, "pid": 33},
        {"ph": "X", "name": "also", "ts": 0, "dur": 1, "pid": 33, "tid": None},
    )
    assert threads(trace) == [("0", "0", 0), ("33", "33", 33)]
    assert not told(trace)


def test_one_tid_in_two_processes_is_two_threads() -> None:
    trace = read(x("a", 0, 9, pid=1, tid=7), x("b", 5, 9, pid=2, tid=7))
    assert threads(trace) == [("1", "7", 7), ("2", "7", 7)]
    assert not told(trace)


def test_tid_0_beside_the_main_thread_is_told() -> None:
    trace = read(x("a", 0, 9, pid=5, tid=0), x("b", 5, 9, pid=5, tid=5))
    assert len(trace.lanes) == 2
    assert told(trace) == [("event 2", "zero-id")]
    assert not told(read(x("a", 0, 9, pid=5, tid=0)))


def test_the_last_name_counts_by_its_time_and_then_by_its_place() -> None:
    trace = read(
        m("thread_name", "late", ts=50),
        m("thread_name", "early", ts=3),
        m("process_name", "first"),
        x("a", 0, 1),
        m("process_name", "second"),
    )
    assert threads(trace) == [("second", "late", 1)]
    assert not told(trace)


def test_names_of_the_main_thread_with_tid_0_and_without_one() -> None:
    without = {"ph": "X", "name": "a", "ts": 0, "dur": 1, "pid": 5}
    assert threads(read(without, m("thread_name", "main", pid=5, tid=0))) == [("5", "main", 5)]


def test_what_has_a_name_but_no_events_is_kept() -> None:
    trace = read(x("a", 0, 1), m("process_name", "idle", pid=9), m("thread_name", "t", tid=3))
    assert [p.name for p in trace.processes] == ["1", "idle"]
    assert [t.name for t in trace.threads] == ["1", "t"]


@pytest.mark.parametrize("value", [None, 5, "", [], {}])
def test_names_that_are_no_text_are_told(value: Any) -> None:
    trace = read(m("thread_name", value), x("a", 0, 1), {"ph": "M", "name": "process_name"})
    assert threads(trace) == [("1", "1", 1)]
    assert told(trace) == [("event 1", "bad-metadata"), ("event 3", "bad-metadata")]


def test_other_metadata_events_are_kept_in_the_metadata() -> None:
    cpus = {"ph": "M", "name": "num_cpus", "pid": 1, "args": {"number": 8}}
    labels = {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "GPU 0"}}
    trace = read(cpus, labels, x("a", 0, 1))
    assert [event["name"] for event in trace.metadata["metadata_events"]] == [
        "num_cpus",
        "process_labels",
    ]
    assert trace.metadata["metadata_events"][0]["args"] == {"number": 8}


def order(trace: Trace) -> list[str]:
    return [trace.processes[t.process].name + "/" + t.name for t in trace.threads]


def test_sort_indices_give_the_order() -> None:
    trace = read(
        x("a", 0, 1, pid=1, tid=1),
        x("b", 0, 1, pid=2, tid=2),
        x("b", 0, 1, pid=2, tid=3),
        {"ph": "b", "id": 1, "name": "async", "ts": 0, "pid": 2},
        {"ph": "e", "id": 1, "name": "async", "ts": 1, "pid": 2},
        e("i", "of process", 5, pid=1, s="p"),
        e("C", "mem", 5, pid=2, args={"v": 1}),
        m("process_sort_index", 5, pid=1),
        m("process_sort_index", -2.5, pid=2),
        m("thread_sort_index", 1, pid=2, tid=2),
        m("thread_sort_index", 0, pid=2, tid=3),
    )
    assert order(trace) == ["2/3", "2/2", "1/1"]
    assert [lane.name for lane in trace.lanes] == ["", "", "async", "", "Instants"]
    assert [lane.thread for lane in trace.lanes] == [0, 1, None, 2, None]
    assert [lane.process for lane in trace.lanes] == [None, None, 0, None, 1]
    assert sorted(
        (trace.name(row), lane) for row, lane in enumerate(trace.slices.lane.tolist())
    ) == [
        ("a", 3),
        ("async", 2),
        ("b", 0),
        ("b", 1),
    ]
    assert trace.instants.lane.tolist() == [4]
    assert trace.counter_tracks[0].process == 0


def two_processes(*indices: Any) -> Trace:
    """Process 2 has more slices: v52 shows it first."""
    return read(
        *(m("process_sort_index", index, pid=pid) for pid, index in enumerate(indices, 1)),
        x("a", 0, 1, pid=1),
        x("b", 0, 1, pid=2),
        x("c", 5, 1, pid=2),
    )


def test_an_order_that_v52_would_not_show_is_told_once() -> None:
    assert told(two_processes(0, 1)) == [("event 1", "sort-index")]
    assert not told(two_processes(1, 0))
    assert not told(two_processes(3, 3))
    assert [p.pid for p in two_processes(1, 0).processes] == [2, 1]


def test_sort_indices_that_are_text_are_read_and_told() -> None:
    trace = two_processes("1", "0")
    assert [p.pid for p in trace.processes] == [2, 1]
    assert told(trace) == [("event 1", "sort-index"), ("event 2", "sort-index")]


@pytest.mark.parametrize("value", [None, "x", True, [], float("nan")])
def test_sort_indices_that_are_none_are_told(value: Any) -> None:
    assert told(read(m("process_sort_index", value), x("a", 0, 1))) == [("event 1", "bad-metadata")]
