"""Which begin an end closes, on threads and for async slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chrome_events import e, lane_names, parents, read, spans, told, x


def closed(*events: tuple[str, str | None, int]) -> list[tuple[str, int, int]]:
    return spans(read(*(e(phase, name, ts) for phase, name, ts in events)))


def test_an_end_closes_the_innermost_slice_with_its_name() -> None:
    """As Perfetto does: B stays open until its own end comes, at the same time."""
    found = closed(
        ("B", "A", 0), ("B", "B", 1), ("E", "A", 5), ("E", "B", 5), ("B", "C", 6), ("E", None, 7)
    )
    assert found == [("A", 0, 5_000), ("B", 1_000, 5_000), ("C", 6_000, 7_000)]


def test_an_end_without_a_name_closes_the_innermost_one() -> None:
    assert closed(("B", "A", 0), ("B", "B", 1), ("E", None, 5), ("E", None, 6)) == [
        ("A", 0, 6_000),
        ("B", 1_000, 5_000),
    ]


def test_an_end_with_another_name_closes_nothing() -> None:
    trace = read(e("B", "A", 0), e("E", "Z", 5), x("last", 0, 9, tid=2))
    assert ("A", 0, 9_000) in spans(trace)
    assert told(trace) == [("event 2", "end-without-begin"), ("event 1", "never-ended")]


def test_the_category_counts_where_an_end_has_one() -> None:
    begin = e("B", "A", 0, cat="x"), e("B", "A", 1, cat="y")
    ends = e("E", "A", 5, cat="x"), e("E", None, 5, cat="y")
    assert spans(read(*begin, *ends)) == [("A", 0, 5_000), ("A", 1_000, 5_000)]
    assert told(read(e("B", "A", 0), e("E", "A", 5, cat="x"))) == [
        ("event 2", "end-without-begin"),
        ("event 1", "never-ended"),
    ]


def test_a_slice_without_a_name_is_closed_by_an_end_without_one() -> None:
    assert not told(read(e("B", None, 0), e("E", None, 5)))
    assert len(told(read(e("B", None, 0), e("E", "A", 5)))) == 2


def test_what_is_open_in_a_closed_slice_ends_with_it() -> None:
    trace = read(
        e("B", "A", 0),
        e("B", "lost", 1),
        e("E", "A", 5),
        e("B", "C", 6),
        e("E", None, 9),
    )
    assert spans(trace) == [("A", 0, 5_000), ("lost", 1_000, 5_000), ("C", 6_000, 9_000)]
    assert parents(trace) == {"A": None, "lost": "A", "C": None}
    assert told(trace) == [("event 2", "never-ended")]


def test_begins_and_ends_that_cross_keep_their_times_on_two_lanes() -> None:
    trace = read(e("B", "A", 0), e("B", "B", 1), e("E", "A", 5), e("E", "B", 9))
    assert spans(trace) == [("A", 0, 5_000), ("B", 1_000, 9_000)]
    assert told(trace) == [("event 2", "overlap")]


def test_a_recursion_with_a_lost_end_closes_the_outer_slice() -> None:
    trace = read(e("B", "f", 0), e("B", "g", 1), e("B", "f", 2), e("E", "g", 5), e("E", "f", 8))
    assert spans(trace) == [("f", 0, 8_000), ("g", 1_000, 5_000), ("f", 2_000, 5_000)]
    assert told(trace) == [("event 3", "never-ended")]


def test_the_arguments_of_the_end_join_those_of_the_begin() -> None:
    trace = read(e("B", "A", 0, args={"a": 1, "b": 1}), e("E", "A", 5, args={"b": 2, "c": 3}))
    assert trace.arguments.of(0) == {"a": 1, "b": 2, "c": 3}


def test_complete_events_nest_with_begins_and_ends() -> None:
    trace = read(
        x("X in B", 2, 3),
        e("B", "B", 1),
        e("E", "B", 9),
        x("X around", 0, 20),
        e("B", "B in X", 3),
        e("E", "B in X", 4),
    )
    assert parents(trace) == {
        "X around": None,
        "B": "X around",
        "X in B": "B",
        "B in X": "X in B",
    }
    assert not told(trace)


def test_of_equal_times_the_first_in_the_file_is_the_parent() -> None:
    trace = read(e("B", "B", 0), x("X", 0, 5), e("E", "B", 5))
    assert parents(trace) == {"B": None, "X": "B"}
    assert parents(read(x("X", 0, 5), e("B", "B", 0), e("E", "B", 5))) == {"X": None, "B": "X"}


@pytest.mark.parametrize(("until", "is_inner_first"), [(5, True), (9, True), (20, False)])
def test_that_perfetto_puts_x_in_front_of_b_is_told(until: int, is_inner_first: bool) -> None:
    """It nests B in X then, and loses the end of the one that is longer."""
    trace = read(e("B", "B", 0), x("X", 0, until), e("E", "B", 9))
    assert parents(trace) == ({"B": None, "X": "B"} if is_inner_first else {"B": "X", "X": None})
    assert told(trace) == ([("event 2", "shifted")] if is_inner_first else [])
    assert not told(read(x("X", 0, 9), e("B", "B", 0), e("E", "B", 9)))


def test_a_begin_in_front_of_the_end_of_the_slice_before_is_told() -> None:
    trace = read(e("B", "A", 0), e("B", "B", 5), e("E", "A", 5), e("E", "B", 9))
    assert spans(trace) == [("A", 0, 5_000), ("B", 5_000, 9_000)]
    assert told(trace) == [("event 2", "shifted")]


def test_an_end_in_front_of_its_begin_at_the_same_time_ends_it() -> None:
    """As of tools that sort by time alone. They last 1 ns each, in the order of their begins."""
    trace = read(
        e("B", "P", 0),
        e("E", "a", 5, args={"k": 1}),
        e("B", "a", 5),
        e("E", "b", 5),
        e("B", "b", 5),
        x("later", 6, 2),
        e("E", "P", 10),
    )
    assert [span for span in spans(trace) if span[0] != "later"] == [
        ("P", 0, 10_000),
        ("a", 5_000, 5_001),
        ("b", 5_001, 5_002),
    ]
    assert parents(trace) == {"P": None, "a": "P", "b": "P", "later": "P"}
    assert trace.arguments.of(1) == {"k": 1}
    assert {rule for _, rule in told(trace)} == {"shifted", "empty-slice"}


def test_an_end_in_front_of_its_begin_is_lost_if_the_begin_has_another() -> None:
    trace = read(e("E", "a", 5), e("B", "a", 5), e("E", "a", 9))
    assert spans(trace) == [("a", 5_000, 9_000)]
    assert told(trace) == [("event 1", "end-without-begin")]
    trace = read(e("E", "a", 4), e("B", "a", 5), x("last", 0, 9, tid=2))
    assert ("a", 5_000, 9_000) in spans(trace)
    assert told(trace) == [("event 1", "end-without-begin"), ("event 2", "never-ended")]


def test_many_ends_that_fit_nothing_take_no_time() -> None:
    """With a walk through the stack for each end these were 10^8 steps."""
    count = 10_000
    begins = [e("B", f"s{k % 7}", k) for k in range(count)]
    trace = read(*begins, *(e("E", "other", count + k) for k in range(count)))
    assert trace.findings.counts["end-without-begin"] == count
    assert trace.findings.counts["too-deep"] == count - 512


# --------------------------------------------------------------------------------------- async


def a(phase: str, name: str | None, ts: int, id: Any = 1, **more: Any) -> dict[str, Any]:
    return e(phase, name, ts, cat="c", id=id, **more)


def test_async_slices_stand_on_a_row_with_the_name_of_the_first() -> None:
    trace = read(a("b", "load", 0), a("b", "part", 1), a("e", "part", 2, tid=7), a("e", "load", 9))
    assert spans(trace) == [("load", 0, 9_000), ("part", 1_000, 2_000)]
    assert parents(trace) == {"load": None, "part": "load"}
    assert lane_names(trace) == {"load": "load", "part": "load"}
    assert trace.lanes[0].process == 0
    assert not told(trace)


def test_async_slices_at_one_time_stand_on_rows_of_one_name() -> None:
    trace = read(
        *(a("b", "load", k, id=k) for k in range(3)), *(a("e", "load", 9, id=k) for k in range(3))
    )
    assert [lane.name for lane in trace.lanes] == ["load", "load lane 2", "load lane 3"]
    again = [
        a(phase, "load", 2 * k + 2 * (phase == "e"), id=k) for k in range(50) for phase in "be"
    ]
    assert len(read(*again).lanes) == 1


def test_async_ids_are_apart_by_category_and_scope_and_local_ones_by_process() -> None:
    def rows(first: dict[str, Any], second: dict[str, Any]) -> int:
        def whole(more: dict[str, Any], at: int) -> list[dict[str, Any]]:
            return [e("b", "s", at, **more), e("e", "s", at + 10, **more)]

        return len(read(*whole(first, 0), *whole(second, 5)).lanes)

    # The second slice either nests in the first one (and sticks out of it), or has a row.
    one = {"cat": "c", "id": "0x1"}
    assert rows(one, {**one, "cat": "d"}) == 2
    assert rows(one, {**one, "id": "0x2"}) == 2
    assert rows(one, {**one, "scope": "s"}) == 2
    local = {"cat": "c", "id2": {"local": 1}}
    assert rows(local, {**local, "pid": 2}) == 2


def test_a_global_id_goes_on_in_another_process() -> None:
    for ids in ({"id": 7}, {"id2": {"global": 7}}):
        trace = read(e("b", "s", 0, **ids), e("e", "s", 5, pid=2, **ids))
        assert spans(trace) == [("s", 0, 5_000)]
        assert not told(trace)


def test_async_events_that_are_broken_are_told_and_kept() -> None:
    trace = read(a("b", "open", 0, id=1), a("e", "stray", 5, id=2))
    assert spans(trace) == [("open", 0, 5_000)]
    assert told(trace) == [("event 2", "end-without-begin"), ("event 1", "never-ended")]
    trace = read(e("b", "s", 0), e("e", "s", 5))
    assert spans(trace) == [("s", 0, 5_000)]
    assert told(trace) == [("event 1", "no-owner"), ("event 2", "no-owner")]
    trace = read({"ph": "b", "name": "s", "ts": 0, "id": 1}, {"ph": "e", "ts": 5, "id": 1})
    assert spans(trace) == [("s", 0, 5_000)]
    assert told(trace) == [("event 1", "no-owner"), ("event 2", "no-owner")]


def test_an_async_end_in_front_of_its_begin_at_the_same_time_ends_it() -> None:
    trace = read(a("e", "s", 5), a("b", "s", 5), a("b", "last", 9, id=2), a("e", "last", 20, id=2))
    assert spans(trace) == [("s", 5_000, 5_001), ("last", 9_000, 20_000)]
    trace = read(a("e", "s", 5, id=1), a("b", "s", 5, id=2))
    assert told(trace) == [("event 1", "end-without-begin"), ("event 2", "never-ended")]


@pytest.mark.parametrize("id", [1.5, 2**63, True, [1]])
def test_async_ids_that_perfetto_takes_for_none_are_kept_and_told(id: Any) -> None:
    for ids in ({"id": id}, {"id2": {"local": id}}):
        trace = read(e("b", "s", 0, **ids), e("e", "s", 5, **ids))
        assert spans(trace) == [("s", 0, 5_000)]
        assert told(trace) == [("event 1", "no-owner"), ("event 2", "no-owner")]
    assert not told(read(a("b", "s", 0, id=-(2**63)), a("e", "s", 5, id=-(2**63))))


def test_async_events_nest_by_time_in_any_order_of_the_file() -> None:
    trace = read(a("b", "inner", 2), a("e", "inner", 3), a("b", "outer", 1), a("e", "outer", 9))
    assert parents(trace) == {"outer": None, "inner": "outer"}


def test_async_instants_stand_on_the_row_of_their_id() -> None:
    trace = read(
        a("b", "load", 0, id=1),
        a("b", "load", 0, id=2),
        a("n", "mark", 3, id=2, args={"k": 1}),
        a("e", "load", 9, id=1),
        a("e", "load", 9, id=2),
    )
    assert trace.instants.lane.tolist() == [1]
    assert trace.instant_arguments.of(0) == {"k": 1}
