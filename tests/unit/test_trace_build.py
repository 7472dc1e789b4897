"""How a Trace comes about: invariants, mends as findings, typed columns, equality."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.traces import TRACES, main_thread, one_lane, said
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import KEPT, Finding, Findings
from tilelang_trace.trace.json_values import storable
from tilelang_trace.trace.model import CounterTrack, Lane, Process, Thread, Trace
from tilelang_trace.trace.rules import BAD_METADATA, OVERLAP, ROUNDING


def assert_invariants(trace: Trace) -> None:
    """The rules of the model, slice by slice."""
    slices = trace.slices
    rows = list(
        zip(
            slices.lane.tolist(),
            slices.begin.tolist(),
            slices.end.tolist(),
            slices.parent.tolist(),
        )
    )
    assert rows == sorted(rows, key=lambda row: (row[0], row[1], -row[2]))
    for number, (lane, begin, end, parent) in enumerate(rows):
        assert end - begin >= 1
        assert 0 <= lane < len(trace.lanes)
        enclosing = -1
        for other in range(number):
            other_lane, other_begin, other_end, _ = rows[other]
            if other_lane != lane or other_end <= begin:
                continue
            assert other_begin <= begin
            assert end <= other_end
            enclosing = other
        assert parent == enclosing


def spans(trace: Trace) -> dict[str, tuple[int, int]]:
    """Begin and end of each slice, by name."""
    slices = trace.slices
    return {
        trace.name(row): (int(slices.begin[row]), int(slices.end[row]))
        for row in range(len(slices))
    }


def parent_of(trace: Trace, name: str) -> str | None:
    """The name of the slice that encloses the one of this name."""
    names = [trace.name(row) for row in range(len(trace.slices))]
    parent = int(trace.slices.parent[names.index(name)])
    return names[parent] if parent >= 0 else None


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_hand_made_traces_are_sound(make: Callable[[], Trace]) -> None:
    trace = make()
    assert_invariants(trace)
    assert not trace.findings


def test_slices_may_come_in_any_order() -> None:
    slices = [(0, 100, "a"), (10, 50, "b"), (20, 30, "c"), (50, 100, "d"), (200, 201, "e")]
    sorted_ = one_lane(*slices)
    for seed in range(20):
        shuffled = slices.copy()
        random.Random(seed).shuffle(shuffled)
        assert one_lane(*shuffled) == sorted_
    assert [parent_of(sorted_, name) for name in "abcde"] == [None, "a", "b", "a", None]


def test_arguments_move_with_their_slices() -> None:
    slices = [(begin, begin + 5, f"s{begin}", "", {"n": begin}) for begin in range(0, 100, 10)]
    random.Random(1).shuffle(slices)
    trace = one_lane(*slices)
    assert [trace.arguments.of(row) for row in range(10)] == [{"n": 10 * k} for k in range(10)]


def test_of_equal_slices_the_first_that_came_is_the_parent() -> None:
    trace = one_lane((0, 20, "Sequential"), (0, 20, "OnlyChild"))
    assert (parent_of(trace, "Sequential"), parent_of(trace, "OnlyChild")) == (None, "Sequential")
    assert not trace.findings


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["parent first", "child first"])
def test_of_two_that_start_together_the_longer_is_the_parent(order: tuple[int, int]) -> None:
    slices = [(0, 20_000, "lower"), (0, 10_000, "Simplify")]
    trace = one_lane(*(slices[k] for k in order))
    assert parent_of(trace, "Simplify") == "lower"
    assert spans(trace) == {"lower": (0, 20_000), "Simplify": (0, 10_000)}
    assert not trace.findings


def test_a_chain_of_slices_without_a_length_stays_a_row_of_siblings() -> None:
    trace = one_lane(
        (0, 10_000, "lower"),
        (10_000, 10_000, "Noop1"),
        (10_000, 10_000, "Noop2"),
        (10_000, 15_000, "Codegen"),
        (10_000, 10_000, "Noop3"),
    )
    assert_invariants(trace)
    assert [parent_of(trace, name) for name in ("Noop1", "Noop2", "Codegen")] == [None] * 3
    assert parent_of(trace, "Noop3") in (None, "Codegen")
    times = spans(trace)
    assert times["Noop1"] == (10_000, 10_001)
    assert times["Noop2"] == (10_001, 10_002)
    assert times["Codegen"] == (10_002, 15_000)
    assert {f.place for f in trace.findings} >= {"Noop1", "Noop2", "Noop3"}
    assert {f.rule for f in trace.findings} >= {"empty-slice"}


def test_a_child_one_microsecond_too_long_is_cut_and_told() -> None:
    trace = one_lane(
        (0, 100_000, "lower"), (60_000, 101_000, "Simplify"), (101_000, 121_000, "Codegen")
    )
    assert_invariants(trace)
    assert spans(trace)["Simplify"] == (60_000, 100_000)
    assert parent_of(trace, "Simplify") == "lower"
    assert [(f.place, f.rule) for f in trace.findings] == [("Simplify", "rounding")]
    assert len(trace.lanes) == 1


def test_slices_that_truly_overlap_get_a_lane_below_their_own() -> None:
    trace = one_lane(
        (0, 100_000, "KernelA"), (80_000, 140_000, "KernelB"), (150_000, 170_000, "KernelC")
    )
    assert_invariants(trace)
    assert spans(trace)["KernelB"] == (80_000, 140_000)
    assert trace.lanes == (Lane(0), Lane(0, name="lane 2"))
    assert [int(lane) for lane in trace.slices.lane] == [0, 0, 1]
    assert [(f.place, f.rule) for f in trace.findings] == [("KernelB", "overlap")]


def test_the_lanes_after_one_that_split_keep_their_slices_and_instants() -> None:
    builder = TraceBuilder()
    process = builder.process("p")
    first, second = (builder.lane(Lane(builder.thread(process, name))) for name in "ab")
    builder.slice(first, 0, 10_000, "A", "")
    builder.slice(first, 5_000, 20_000, "B", "")
    builder.slice(second, 7, 9, "on b", "")
    builder.instant(second, 8, "point on b", "")
    builder.instant(first, 8, "point on a", "")
    trace = builder.build()
    assert trace.lanes == (Lane(0), Lane(0, name="lane 2"), Lane(1))
    assert [(trace.name(row), int(trace.slices.lane[row])) for row in range(3)] == [
        ("A", 0),
        ("B", 1),
        ("on b", 2),
    ]
    points = {
        trace.strings[name]: lane
        for name, lane in zip(trace.instants.name.tolist(), trace.instants.lane.tolist())
    }
    assert points == {"point on a": 0, "point on b": 2}


def test_a_finding_names_the_place_that_the_reader_gives() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    builder.finding("line 1", BAD_METADATA, "is old")
    builder.slice(lane, 0, 10, "fine", "")
    builder.slice(lane, 20, 20, "empty", "")
    builder.place = lambda row: f"line {row + 2}"
    findings = builder.build().findings
    assert [(f.place, f.rule) for f in findings] == [
        ("line 1", "bad-metadata"),
        ("line 3", "empty-slice"),
    ]
    assert str(Finding("line 3", "empty-slice", "given 1 ns")) == "line 3: empty-slice: given 1 ns"


def test_any_slices_at_all_make_a_sound_trace() -> None:
    for seed in range(300):
        random_ = random.Random(seed)
        slices = []
        for number in range(random_.randint(1, 10)):
            begin = random_.randint(0, 5_000)
            end = begin + random_.choice((0, 1, -5, random_.randint(1, 5_000)))
            slices.append((begin, end, f"s{number}", "", {"number": number}))
        trace = one_lane(*slices)
        assert_invariants(trace)
        assert len(trace.slices) == len(slices)
        numbers = trace.arguments.values("number")
        assert all(trace.name(row) == f"s{number}" for row, number in numbers.items())
        again = assemble(replace(Parts.of(trace), findings=Findings()))
        assert again == trace
        assert not again.findings


def test_an_empty_slice_among_overlapping_ones_makes_a_sound_trace() -> None:
    trace = one_lane((0, 12, "a"), (8, 8, "b"), (6, 9, "c"), (8, 11, "d"), (8, 1020, "e"))
    assert_invariants(trace)


def test_flows_follow_their_slices_when_rows_are_sorted() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    late, early = builder.slice(lane, 50, 60, "late", ""), builder.slice(lane, 0, 10, "early", "")
    builder.flows = [(early, late)]
    trace = builder.build()
    assert [tuple(map(trace.name, flow)) for flow in trace.flows.tolist()] == [("early", "late")]


def test_instants_and_counters_are_sorted_by_time_and_keep_their_arguments() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    for order, time in enumerate((30, 10, 20, 10)):
        builder.instant(lane, time, f"at {time}", "", {"order": order})
    builder.counter_tracks.append(CounterTrack("c"))
    for time, value in ((5, 1.0), (2, 2.0), (5, 3.0)):
        builder.counter(0, time, value)
    trace = builder.build()
    assert trace.instants.time.tolist() == [10, 10, 20, 30]
    orders = [trace.instant_arguments.of(row)["order"] for row in range(4)]
    assert orders == [1, 3, 2, 0]
    assert trace.counters.time.tolist() == [2, 5, 5]
    assert trace.counters.value.tolist() == [2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, "bool"),
        (7, "int"),
        (-(2**63), "int"),
        (2**63 - 1, "int"),
        (2**63, "json"),
        (0.5, "float"),
        ("text", "string"),
        (None, "json"),
        ([1], "json"),
        ({}, "json"),
    ],
)
def test_an_argument_stands_in_a_column_of_its_type(value: Any, type_: str) -> None:
    trace = one_lane((0, 10, "a"), (20, 30, "b", "", {"x": value}))
    (column,) = trace.arguments.named("x")
    assert (column.type, column.rows.tolist()) == (type_, [1])
    assert trace.arguments.values("x") == {1: value}
    assert type(trace.arguments.values("x")[1]) is type(value)


def test_columns_list_only_the_rows_that_bear_them() -> None:
    slices = [(10 * k, 10 * k + 5, "s", "", {"rare": k} if k % 3 == 0 else None) for k in range(9)]
    trace = one_lane(*slices)
    (column,) = trace.arguments.columns
    assert column.rows.tolist() == [0, 3, 6]
    assert column.values.tolist() == [0, 3, 6]
    assert [len(a) for a in trace.arguments.between(2, 7)] == [0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe 😀", "größe 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("end\udfff", "end\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\udc80\udc81", "\ufffd\ufffd"),
    ],
)
def test_lone_surrogates_become_replacement_characters(text: str, shown: str) -> None:
    assert storable(text) == shown
    assert storable({text: [text, {"k": text}, 1, None]}) == {shown: [shown, {"k": shown}, 1, None]}
    trace = one_lane((0, 1, text, text, {"a": text, "b": [text]}))
    assert (trace.name(0), trace.category(0)) == (shown, shown)
    assert trace.arguments.of(0) == {"a": shown, "b": [shown]}


@pytest.mark.parametrize("where", ["process", "thread", "lane", "counter", "metadata", "argument"])
def test_no_text_of_a_trace_has_a_lone_surrogate(where: str) -> None:
    def text(at: str) -> str:
        return "caf\udce9.py" if at == where else "text"

    builder = TraceBuilder()
    thread = builder.thread(builder.process(text("process")), text("thread"))
    lane = builder.lane(Lane(thread, name=text("lane")))
    builder.slice(lane, 0, 1, "slice", "", {text("argument"): 1})
    builder.counter_tracks.append(CounterTrack(text("counter")))
    builder.metadata["command"] = [text("metadata")]
    assert "\\udce9" not in repr(said(builder.build()))


# ----------------------------------------------------------------------------------- equality


def variant(**changes: Any) -> Trace:
    """A small Trace, with changes."""
    v: dict[str, Any] = {
        "process": Process("p", 1),
        "thread": Thread(0, "t", 2),
        "lane": Lane(0),
        "begin": 10,
        "end": 20,
        "name": "a",
        "category": "pass",
        "arguments": {"x": 1, "o": {"k": [1]}},
        "instant": (15, "i", "c", {"y": 1}),
        "track": CounterTrack("m", "bytes", process=0),
        "counter": (12, 1.5),
        "flow": (0, 1),
        "metadata": {"m": {"n": 1}},
    }
    v.update(changes)
    builder = TraceBuilder()
    builder.processes, builder.threads, builder.lanes = [v["process"]], [v["thread"]], [v["lane"]]
    builder.slice(0, v["begin"], v["end"], v["name"], v["category"], v["arguments"])
    builder.slice(0, 30, 40, "b", "pass")
    time, name, category, arguments = v["instant"]
    builder.instant(0, time, name, category, arguments)
    builder.counter_tracks = [v["track"]]
    builder.counter(0, *v["counter"])
    builder.flows = [v["flow"]]
    builder.metadata = v["metadata"]
    return builder.build()


CHANGES: dict[str, Any] = {
    "process": Process("q", 1),
    "thread": Thread(0, "t", 3),
    "lane": Lane(0, name="x"),
    "begin": 11,
    "end": 19,
    "name": "A",
    "category": "tool",
    "arguments": {"x": 2, "o": {"k": [1]}},
    "instant": (15, "i", "c", {"y": 2}),
    "track": CounterTrack("m", "s", process=0),
    "counter": (12, 1.25),
    "flow": (1, 0),
    "metadata": {"m": {"n": 2}},
}


def test_two_traces_that_say_the_same_are_equal() -> None:
    assert variant() == variant()
    assert hash(variant()) == hash(variant())
    assert variant() != "a trace"


@pytest.mark.parametrize("what", CHANGES)
def test_one_difference_makes_traces_unequal(what: str) -> None:
    assert variant(**{what: CHANGES[what]}) != variant()


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_each_part_of_an_instant_counts(number: int) -> None:
    parts: list[Any] = [15, "i", "c", {"y": 1}]
    parts[number] = [16, "j", "d", {"y": 1, "z": None}][number]
    assert variant(instant=tuple(parts)) != variant()


@pytest.mark.parametrize("value", [True, 1.0])
def test_the_type_of_an_argument_counts(value: Any) -> None:
    assert one_lane((0, 1, "a", "", {"x": value})) != one_lane((0, 1, "a", "", {"x": 1}))


def test_neither_findings_nor_the_string_table_count() -> None:
    trace = variant()
    assert replace(trace, findings=Findings([Finding("line 1", "rule", "done")])) == trace
    builder = TraceBuilder()
    for text in ("unused", "b", "a"):
        builder.strings.id(text)
    lane = main_thread(builder)
    builder.slice(lane, 0, 10, "a", "c", {"x": "b"})
    assert builder.build() == one_lane((0, 10, "a", "c", {"x": "b"}))


def test_an_empty_trace_is_sound() -> None:
    trace = TraceBuilder().build()
    assert len(trace.slices) == len(trace.instants) == len(trace.counters) == len(trace.flows) == 0
    assert trace.flows.shape == (0, 2)
    assert trace.kinds().tolist() == []
    assert trace == TraceBuilder().build()


def test_kinds_come_from_the_first_category() -> None:
    trace = one_lane(
        (0, 1, "a", "pass"),
        (1, 2, "b", "pass,mine"),
        (2, 3, "c", "mine,pass"),
        (3, 4, "d", ""),
        (4, 5, "e", "compile"),
        (5, 6, "f", "tool"),
    )
    assert trace.kinds().tolist() == [3, 3, -1, -1, 0, 6]
    assert np.flatnonzero(trace.is_kind("pass")).tolist() == [0, 1]


def test_durations_are_inclusive() -> None:
    assert one_lane((0, 100, "a"), (10, 30, "b")).slices.duration.tolist() == [100, 20]


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_rows_may_be_added_one_by_one_or_as_columns(make: Callable[[], Trace]) -> None:
    trace = make()
    slices = trace.slices
    single, bulk = TraceBuilder(), TraceBuilder()
    for builder in (single, bulk):
        builder.processes += trace.processes
        builder.threads += trace.threads
        builder.lanes += trace.lanes
        builder.counter_tracks += trace.counter_tracks
        for text in trace.strings:
            builder.strings.id(text)
    for row, (lane, begin, end) in enumerate(zip(slices.lane, slices.begin, slices.end)):
        names = trace.name(row), trace.category(row)
        single.slice(int(lane), int(begin), int(end), *names, trace.arguments.of(row))
    for track, time, value in zip(*vars(trace.counters).values()):
        single.counter(int(track), int(time), float(value))

    backwards = slice(None, None, -1)
    half = len(slices) // 2
    for part in (slice(None, half), slice(half, None)):
        first = bulk.slices(
            slices.lane[part],
            slices.begin[part],
            slices.end[part].tolist(),
            slices.name[part],
            slices.category[part],
        )
        assert first == (part.start or 0)
    for column in trace.arguments.columns:
        turned = replace(column, rows=column.rows[backwards], values=column.values[backwards])
        bulk.arguments.add_column(turned)
    for track in range(len(trace.counter_tracks)):
        of_it = trace.counters.track == track
        bulk.counters(track, trace.counters.time[of_it], trace.counters.value[of_it])
    assert said(bulk.build()) == said(single.build())


def test_an_argument_may_change_its_type_from_row_to_row() -> None:
    values: list[Any] = [1, "one", 2**63, 1.5, -(2**63), True, None, 2**64, "\ud800", 0, "one", {}]
    trace = one_lane(*((t, t + 1, "s", "", {"a": value}) for t, value in enumerate(values)))
    assert [trace.arguments.of(row)["a"] for row in range(len(values))] == [
        *values[:7],
        str(2**64),
        "\ufffd",
        *values[9:],
    ]
    assert [type(trace.arguments.of(row)["a"]) for row in (0, 3, 5)] == [int, float, bool]


def test_a_builder_goes_on_after_a_build() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    builder.slice(lane, 0, 1, "a", "", {"n": 1})
    first = builder.build()
    builder.slice(lane, 1, 2, "b", "", {"n": 2})
    assert [len(first.slices), len(builder.build().slices)] == [1, 2]


def test_findings_of_several_files_are_counted_and_bounded_together() -> None:
    several, few = Findings(), Findings()
    for number in range(KEPT + 1):
        several.add(f"event {number}", OVERLAP, "moved")
    few.add("event 7", OVERLAP, "moved")
    few.add("event 8", ROUNDING, "cut")
    few.extend(several)
    assert few.counts == {"overlap": KEPT + 2, "rounding": 1}
    assert [few[place].place for place in (0, 1, 2)] == ["event 7", "event 8", "event 0"]
    assert len(few) == KEPT + 1
    assert few.total == KEPT + 3
