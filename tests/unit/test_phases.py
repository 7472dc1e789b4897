"""Phase slices: runs of outermost passes of one context with one label."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces import ERROR, failed_compile, main_thread, nested_compile, one_lane
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane, Trace
from tilelang_trace.trace.phases import with_phases
from tilelang_trace.trace.rules import BAD_METADATA

OK = {"status": "ok"}


def a_pass(begin: int, end: int, phase: Any = None, **arguments: Any) -> tuple[Any, ...]:
    """A pass slice, as `one_lane` takes it."""
    labelled = {} if phase is None else {"phase": phase}
    return begin, end, f"P{begin}", "pass", {"status": "ok", **labelled, **arguments}


def context(begin: int, end: int, **arguments: Any) -> tuple[Any, ...]:
    """A context slice, as `one_lane` takes it."""
    return begin, end, "PassContext", "context", {"status": "ok", **arguments}


def phases(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, begin and end of each phase."""
    slices = trace.slices
    return [
        (trace.name(row), int(slices.begin[row]), int(slices.end[row]))
        for row in range(len(slices))
        if trace.category(row) == "phase"
    ]


def derived(*slices: tuple[Any, ...]) -> list[tuple[str, int, int]]:
    return phases(with_phases(one_lane(*slices)))


def test_a_run_of_one_label_is_one_phase_from_its_first_pass_to_its_last() -> None:
    assert derived(
        context(0, 100), a_pass(10, 20, "lower"), a_pass(25, 40, "lower"), a_pass(41, 60, "lower")
    ) == [("lower", 10, 60)]


def test_another_label_ends_a_run_and_the_first_one_may_come_again() -> None:
    assert derived(
        context(0, 100), a_pass(10, 20, "a"), a_pass(20, 30, "b"), a_pass(30, 40, "a")
    ) == [("a", 10, 20), ("b", 20, 30), ("a", 30, 40)]


def test_a_pass_without_a_label_ends_a_run_and_is_in_no_phase() -> None:
    assert derived(context(0, 100), a_pass(10, 20, "a"), a_pass(20, 30), a_pass(30, 40, "a")) == [
        ("a", 10, 20),
        ("a", 30, 40),
    ]


def test_labels_of_inner_passes_make_no_phase() -> None:
    assert derived(
        context(0, 100), a_pass(10, 50, "a"), a_pass(20, 30, "b"), a_pass(60, 70, "a")
    ) == [("a", 10, 70)]
    assert derived(context(0, 100), a_pass(10, 50), a_pass(20, 30, "b")) == []


def test_a_context_beside_the_passes_ends_a_run() -> None:
    assert derived(context(0, 100), a_pass(10, 20, "a"), context(22, 28), a_pass(30, 40, "a")) == [
        ("a", 10, 20),
        ("a", 30, 40),
    ]


def test_two_contexts_of_one_label_have_a_phase_each() -> None:
    assert derived(context(0, 50), a_pass(10, 20, "a"), context(60, 99), a_pass(70, 80, "a")) == [
        ("a", 10, 20),
        ("a", 70, 80),
    ]


def test_a_context_inside_a_pass_has_phases_of_its_own_and_ends_no_run_outside() -> None:
    assert derived(
        context(0, 100),
        a_pass(10, 50, "a"),
        context(15, 45),
        a_pass(16, 20, "a"),
        a_pass(20, 44, "a"),
        a_pass(60, 70, "a"),
    ) == [("a", 10, 70), ("a", 16, 44)]


def test_a_tool_between_passes_ends_no_run() -> None:
    slices = (context(0, 100), a_pass(10, 20, "a"), (21, 29, "nvcc", "tool", OK))
    trace = with_phases(one_lane(*slices, a_pass(30, 40, "a")))
    assert phases(trace) == [("a", 10, 40)]


def test_passes_without_a_context_have_phases_too() -> None:
    assert derived(a_pass(10, 20, "a"), a_pass(30, 40, "a")) == [("a", 10, 40)]


def test_each_thread_has_phases_of_its_own() -> None:
    builder = TraceBuilder()
    process = builder.process("p")
    for name in ("a", "b"):
        lane = builder.lane(Lane(builder.thread(process, name)))
        builder.slice(lane, 0, 10, "P", "pass", {"status": "ok", "phase": "lower"})
        builder.slice(lane, 20, 30, "P", "pass", {"status": "ok", "phase": "lower"})
    trace = with_phases(builder.build())
    assert phases(trace) == [("lower", 0, 30), ("lower", 0, 30)]


@pytest.mark.parametrize("end", [101, 100])
def test_the_phase_of_a_single_pass_encloses_it(end: int) -> None:
    trace = with_phases(one_lane(context(0, end), a_pass(0, 100, "a")))
    assert with_phases(trace) == trace
    assert [trace.category(row) for row in range(3)] == ["context", "phase", "pass"]
    assert trace.slices.parent.tolist() == [-1, 0, 1]
    assert not trace.findings


def test_a_label_that_is_no_text_makes_no_phase() -> None:
    assert derived(context(0, 100), a_pass(10, 20, 7), a_pass(30, 40, ["a"])) == []


def test_a_trace_without_labels_stays_as_it_is() -> None:
    trace = one_lane(context(0, 100), a_pass(10, 20), (30, 40, "foreign", "tool", {"phase": "x"}))
    assert with_phases(trace) == trace


@pytest.mark.parametrize("make", [nested_compile, failed_compile])
def test_deriving_twice_changes_nothing(make: Any) -> None:
    once = make()
    assert phases(once)
    assert with_phases(once) == once


# ------------------------------------------------------------------------------------- status


def phase_arguments(*slices: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments of the only phase."""
    trace = with_phases(one_lane(*slices))
    (row,) = [r for r in range(len(trace.slices)) if trace.category(r) == "phase"]
    return trace.arguments.of(row)


FAILED = {"status": "failed", "error": {**ERROR, "detail": "the whole text"}}
INCOMPLETE = {"status": "incomplete", "error": ERROR}


def test_a_phase_whose_last_pass_took_the_context_along_is_incomplete() -> None:
    slices = (context(0, 40, **INCOMPLETE), a_pass(10, 20, "a"))
    assert phase_arguments(*slices, a_pass(20, 40, "a", **INCOMPLETE)) == INCOMPLETE


def test_the_phase_of_a_failed_pass_has_its_error_without_the_detail() -> None:
    slices = (context(0, 40, **INCOMPLETE), a_pass(20, 40, "a", **FAILED))
    assert phase_arguments(*slices) == INCOMPLETE


def test_a_failure_that_somebody_swallowed_leaves_the_phase_alone() -> None:
    assert phase_arguments(context(0, 100), a_pass(10, 20, "a", **FAILED)) == OK


def test_a_failure_before_the_last_pass_was_swallowed() -> None:
    slices = (context(0, 40, **INCOMPLETE), a_pass(10, 20, "a", **FAILED), a_pass(30, 40, "a"))
    assert phase_arguments(*slices) == OK


def test_a_phase_that_goes_on_is_open() -> None:
    slices = (context(0, 40, status="open"), a_pass(10, 20, "a"))
    assert phase_arguments(*slices, a_pass(30, 40, "a", status="open")) == {"status": "open"}


def test_without_a_context_the_failed_pass_decides() -> None:
    assert phase_arguments(a_pass(10, 20, "a", **FAILED)) == INCOMPLETE


# ----------------------------------------------------------------------- the rest of the Trace


def test_everything_else_stays() -> None:
    builder = TraceBuilder()
    builder.metadata = {"note": 1}
    lane = main_thread(builder)
    first = builder.slice(lane, 10, 20, "First", "pass", {"status": "ok", "phase": "a", "n": 1})
    second = builder.slice(lane, 30, 40, "Second", "pass", {"status": "ok", "phase": "a", "n": 2})
    builder.flows = [(first, second)]
    builder.instant(lane, 15, "point", "", {"k": 1})
    builder.counter_tracks.append(CounterTrack("c", process=0))
    builder.counter(0, 12, 2.0)
    builder.finding("line 3", BAD_METADATA, "done")
    trace = with_phases(builder.build())
    rows = {trace.name(row): row for row in range(len(trace.slices))}
    assert set(rows) == {"a", "First", "Second"}
    assert trace.flows.tolist() == [[rows["First"], rows["Second"]]]
    assert trace.arguments.of(rows["Second"]) == {"phase": "a", "status": "ok", "n": 2}
    assert trace.arguments.of(rows["a"]) == OK
    assert trace.instants.time.tolist() == [15]
    assert trace.instant_arguments.of(0) == {"k": 1}
    assert trace.counters.value.tolist() == [2.0]
    assert trace.metadata == {"note": 1}
    assert [finding.place for finding in trace.findings] == ["line 3"]
