"""Events of Chrome JSON that lack something, or have something odd: what is kept, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chrome_events import e, read, spans, told, x
from tilelang_trace.errors import UserError
from tilelang_trace.trace.model import Trace


@pytest.mark.parametrize("phase", [*"STFpPONDvVc(=Z", "é"])
def test_phases_that_have_no_place_are_told(phase: str) -> None:
    trace = read(e(phase, "a", 1), x("b", 0, 1))
    assert told(trace) == [("event 1", "unknown-phase")]
    assert spans(trace) == [("b", 0, 1_000)]


def test_the_first_letter_is_the_phase() -> None:
    assert spans(read({**x("a", 0, 1), "ph": "XXX"})) == [("a", 0, 1_000)]


@pytest.mark.parametrize("event", [5, "x", None, [], {"ph": 5}, {"ph": ""}, {"name": "a"}])
def test_what_is_no_event_is_told(event: Any) -> None:
    assert told(read(x("a", 0, 1), event)) == [("event 2", "no-event")]
    with pytest.raises(UserError, match="no trace: event 1 is no event"):
        read(event)


def test_an_empty_object_is_the_end_of_a_list() -> None:
    assert not told(read(x("a", 0, 1), {}))
    assert spans(read({})) == []


def test_missing_and_odd_names() -> None:
    nameless = {"ph": "X", "ts": 0, "dur": 1}
    trace = read(nameless, x(5, 2, 1, cat=None), x(["a"], 4, 1), x("b", 6, 1, cat={"k": 1}))  # type: ignore[arg-type]
    assert [name for name, _, _ in spans(trace)] == ["", "5", '["a"]', "b"]
    assert trace.category(3) == '{"k": 1}'
    assert told(trace) == [(f"event {k}", "no-text") for k in (2, 3, 4)]


@pytest.mark.parametrize("value", [5, "text", [1, 2], True])
def test_arguments_that_are_no_object_are_one_argument(value: Any) -> None:
    trace = read(x("a", 0, 1, args=value), e("i", "b", 0, args=value))
    assert trace.arguments.of(0) == {"args": value}
    assert trace.instant_arguments.of(0) == {"args": value}
    assert told(trace) == [("event 1", "no-arguments"), ("event 2", "no-arguments")]
    assert not told(read(x("a", 0, 1, args=None)))


def test_times_of_the_thread_are_arguments() -> None:
    trace = read(x("a", 0, 1, tts=5, tdur=1, args={"tts": "own", "k": 1}))
    assert trace.arguments.of(0) == {"tts": "own", "tdur": 1, "k": 1}


def test_a_colour_is_told_once() -> None:
    trace = read(x("a", 0, 1, cname="good"), x("b", 5, 1, cname="bad"))
    assert told(trace) == [("event 1", "colour")]


# ------------------------------------------------------------------------------------- instants


def places(trace: Trace) -> list[tuple[str, str | None, str | None]]:
    """Of each instant its name, and the thread and process that it stands on."""
    found = []
    for name, number in zip(trace.instants.name.tolist(), trace.instants.lane.tolist()):
        lane = trace.lanes[number]
        thread = None if lane.thread is None else trace.threads[lane.thread].name
        process = None if lane.process is None else trace.processes[lane.process].name
        found.append((trace.strings[name], thread, process))
    return sorted(found)


def test_instants_stand_where_their_scope_says() -> None:
    trace = read(
        e("i", "thread", 1, s="t", tid=7),
        e("I", "also", 1, tid=7),
        e("R", "mark", 1, s=5, tid=7),
        e("i", "process", 1, s="p", tid=8),
        {"ph": "i", "name": "all", "ts": 1, "s": "g"},
    )
    assert places(trace) == [
        ("all", None, None),
        ("also", "7", None),
        ("mark", "7", None),
        ("process", None, "1"),
        ("thread", "7", None),
    ]
    assert [thread.name for thread in trace.threads] == ["7"]
    assert [process.name for process in trace.processes] == ["1"]
    assert not told(trace)


def test_instants_without_their_thread_or_process_are_kept_and_told() -> None:
    trace = read(
        {"ph": "i", "name": "a", "ts": 1, "pid": 5}, {"ph": "i", "name": "b", "ts": 1, "s": "p"}
    )
    assert places(trace) == [("a", "5", None), ("b", None, "0")]
    assert told(trace) == [("event 1", "no-owner"), ("event 2", "no-owner")]


# ------------------------------------------------------------------------------------- counters


def series(trace: Trace) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for track, value in zip(trace.counters.track.tolist(), trace.counters.value.tolist()):
        counter = trace.counter_tracks[track]
        found.setdefault((counter.name, counter.unit), []).append(value)
    return found


def test_each_argument_of_a_counter_is_a_series() -> None:
    trace = read(
        e("C", "mem", 1, args={"used": 3, "free": "4.5"}),
        e("C", "mem", 2, tid=9, args={"used": 5}),
        e("C", "mem", 2, id=7, args={"used": 6}),
        e("C", "mem", 2, id="8", args={"used": 7}),
        e("C", "mem", 2, id2={"local": 9}, args={"used": 8}),
        e("C", "mem", 2, pid=2, args={"used": 9}),
    )
    assert series(trace) == {
        ("mem", "used"): [3.0, 5.0, 9.0],
        ("mem", "free"): [4.5],
        ("mem 7", "used"): [6.0],
        ("mem 8", "used"): [7.0],
        ("mem 9", "used"): [8.0],
    }
    assert [track.process for track in trace.counter_tracks] == [0, 0, 0, 0, 0, 1]
    # To Perfetto, what has no id that is text is one row.
    assert told(trace) == [("event 3", "counter-id"), ("event 5", "counter-id")]


@pytest.mark.parametrize(
    ("text", "value"),
    [(".75", 0.75), ("246.", 246.0), ("01.23", 1.23), ("050", 50.0), ("+10.5", 10.5)],
)
def test_text_that_is_a_number_is_a_value(text: str, value: float) -> None:
    assert series(read(e("C", "c", 1, args={"v": text}))) == {("c", "v"): [value]}


@pytest.mark.parametrize(
    "value",
    ["1.5e", "2e+", ".", "+", "", "NaN", None, True, [1], {}, float("nan"), float("inf"), 10**400],
)
def test_values_of_counters_that_are_no_numbers_are_told(value: Any) -> None:
    trace = read(e("C", "c", 1, args={"bad": value, "good": 1}))
    assert series(trace) == {("c", "good"): [1.0]}
    assert told(trace) == [("event 1", "bad-counter")]


@pytest.mark.parametrize("more", [{}, {"args": {}}, {"args": 5}, {"args": None}])
def test_counters_without_values_are_told(more: dict[str, Any]) -> None:
    assert told(read(e("C", "c", 1, **more))) == [("event 1", "bad-counter")]


# -------------------------------------------------------------------------------------- overlaps


def test_an_overlap_is_told_with_both_slices() -> None:
    trace = read(x("A", 0, 100), x("B", 80, 60), x("C", 150, 20))
    (finding,) = trace.findings
    assert str(finding) == ("event 2: overlap: 'B' overlaps 'A' of event 1: moved to lane 2")
    assert trace.slices.lane.tolist() == [0, 0, 1]


def test_many_that_overlap_take_no_time() -> None:
    """First fit by a walk through the lanes took 10^7 steps for these."""
    count = 4_000
    trace = read(*(x("s", 10 * k, 10 * count) for k in range(count)))
    assert len(trace.lanes) == count
    assert trace.findings.counts["overlap"] == count - 1


def test_what_is_too_deep_is_told() -> None:
    trace = read(*(x("s", k, 2_000 - 2 * k) for k in range(515)))
    assert told(trace) == [(f"event {k}", "too-deep") for k in (513, 514, 515)]
