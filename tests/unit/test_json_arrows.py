"""Arrows of Chrome JSON: to which slices their ends belong, and which ids are one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chrome_events import arrows, e, read, spans, told, x


def s(ts: int, id: Any = 1, **more: Any) -> dict[str, Any]:
    return e("s", "go", ts, cat="c", id=id, **more)


def t(ts: int, id: Any = 1, **more: Any) -> dict[str, Any]:
    return e("t", "go", ts, cat="c", id=id, **more)


def f(ts: int, id: Any = 1, bp: str | None = "e", **more: Any) -> dict[str, Any]:
    return e("f", "go", ts, cat="c", id=id, **({"bp": bp} if bp else {}), **more)


SLICES = [
    x("around", 0, 100),
    x("one", 10, 10),
    x("in one", 12, 4),
    x("two", 30, 10),
    x("other", 0, 50, tid=2),
    x("far", 200, 10),
]


@pytest.mark.parametrize(
    ("start", "name"),
    [(10, "one"), (11, "one"), (12, "in one"), (15, "in one"), (16, "one"), (20, "around")],
)
def test_a_start_belongs_to_the_innermost_slice_around_it(start: int, name: str) -> None:
    trace = read(*SLICES, s(start), f(201))
    assert arrows(trace) == [(name, "far")]
    assert not told(trace)


def test_an_end_that_does_not_enclose_belongs_to_the_next_slice() -> None:
    assert arrows(read(*SLICES, s(1, tid=2), f(9, bp=None))) == [("other", "one")]
    assert arrows(read(*SLICES, s(1, tid=2), f(10, bp=None))) == [("other", "one")]
    assert arrows(read(*SLICES, s(1, tid=2), f(10, bp="e"))) == [("other", "one")]
    assert arrows(read(*SLICES, s(1, tid=2), f(9, bp="e"))) == [("other", "around")]
    assert arrows(read(*SLICES, s(1, tid=2), f(50, bp=None))) == [("other", "far")]


def test_an_end_at_the_end_of_a_slice_belongs_to_it_where_no_other_is() -> None:
    assert arrows(read(*SLICES, s(100), f(210))) == [("around", "far")]


def test_steps_make_a_chain_and_several_ends_come_from_the_last_of_them() -> None:
    trace = read(*SLICES, s(1), t(11), t(31), f(201), f(33, tid=2))
    assert arrows(trace) == [
        ("around", "one"),
        ("one", "two"),
        ("two", "far"),
        ("two", "other"),
    ]


def test_ends_may_stand_in_any_order() -> None:
    assert arrows(read(f(201), t(11), s(1), *SLICES)) == [("around", "one"), ("one", "far")]


def test_a_start_whose_clock_is_late_is_the_start() -> None:
    assert arrows(read(*SLICES, f(11), s(31))) == [("two", "one")]


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        (1, 1, True),
        ("0x1a", 26, True),
        ("1a", "0x1A", True),
        ("10", 16, True),
        ("10", 10, False),
        (-1, "0xffffffffffffffff", True),
        (2**40, 2**40 + 1, False),
    ],
)
def test_ids_that_are_text_are_hexadecimal(first: Any, second: Any, one: bool) -> None:
    trace = read(*SLICES, s(11, first), f(201, second))
    assert arrows(trace) == ([("one", "far")] if one else [])
    assert told(trace) == ([] if one else [("event 8", "loose-flow")])


@pytest.mark.parametrize("id", ["request-7", 1.5, None, [1], {"a": 1}, "1" + 16 * "0", 2**63])
def test_ids_that_perfetto_takes_for_none_are_kept_and_told(id: Any) -> None:
    trace = read(*SLICES, s(11, id), f(201, id))
    assert arrows(trace) == [("one", "far")]
    assert told(trace) == [("event 7", "bad-flow"), ("event 8", "bad-flow")]


def test_arrows_of_one_id_are_apart_by_category_and_name() -> None:
    other = [{**s(31), "cat": "d"}, {**f(201), "cat": "d"}, {**s(13), "name": "n"}]
    trace = read(*SLICES, s(11), f(202), *other)
    assert arrows(trace) == [("one", "far"), ("two", "far")]


def test_an_id_that_starts_again_is_a_new_arrow_and_told() -> None:
    trace = read(*SLICES, s(11), f(15), s(31), f(201))
    assert arrows(trace) == [("one", "in one"), ("two", "far")]
    assert told(trace) == [("event 9", "reused-flow")]


def test_ends_that_belong_to_nothing_are_told() -> None:
    trace = read(*SLICES, s(150), f(11, 2), s(1, 3), f(500, 3, bp=None), f(5, 4, pid=9))
    assert arrows(trace) == []
    assert sorted(told(trace)) == [(f"event {k}", "loose-flow") for k in (10, 11, 7, 8)]


def test_bind_id_joins_slices_themselves() -> None:
    trace = read(
        x("a", 0, 10, bind_id="0x402", flow_out=True),
        x("b", 20, 10, bind_id=1026, flow_in=True, flow_out=True),
        e("B", "c", 40, bind_id="402", flow_in=True, flow_out=False),
        e("E", "c", 50),
        {"ph": "b", "name": "d", "ts": 60, "pid": 1, "id": 1, "bind_id": 1026, "flow_in": True},
        {"ph": "e", "name": "d", "ts": 61, "pid": 1, "id": 1},
        x("e", 70, 10, bind_id=1026),
    )
    assert arrows(trace) == [("a", "b"), ("b", "c"), ("b", "d")]
    assert told(trace) == [("event 7", "loose-flow")]


def test_an_instant_at_which_an_arrow_ends_becomes_a_slice() -> None:
    """For Perfetto it is one, of length zero."""
    trace = read(
        *SLICES, e("i", "sent", 14), e("i", "also", 14), e("i", "point", 15), s(14), f(201)
    )
    assert arrows(trace) == [("also", "far")]
    assert ("also", 14_000, 14_001) in spans(trace)
    names = [trace.strings[name] for name in trace.instants.name.tolist()]
    assert names == ["sent", "point"]
    assert not told(trace)


def test_many_arrows_take_no_time() -> None:
    """With a walk back for each of them these were 10^8 steps."""
    count = 8_000
    around = [x("around", 0, 10 * count), *(x("s", 1 + 2 * k, 1) for k in range(count))]
    ends = [s(10 * count - 1 - k % 7, id=k) for k in range(count)]
    ends += [f(10 * count - 1, id=k) for k in range(count)]
    assert len(read(*around, *ends).flows) == count


@pytest.mark.parametrize(
    ("events", "is_told"),
    [  # A slice from 20 to 30, and the event that ends the arrow
        ([x("b", 20, 10, tid=2), f(20)], False),
        ([x("b", 20, 10, tid=2), f(30)], False),
        ([x("b", 20, 10, tid=2), f(20, bp="")], True),
        ([x("b", 20, 10, tid=2), f(19, bp="")], False),
        ([e("B", "b", 20, tid=2), f(20), e("E", "b", 30, tid=2)], False),
        ([f(20), e("B", "b", 20, tid=2), e("E", "b", 30, tid=2)], True),
        ([e("B", "b", 20, tid=2), f(30), e("E", "b", 30, tid=2)], True),
        ([e("B", "b", 20, tid=2), f(20, bp=""), e("E", "b", 30, tid=2)], True),
        ([f(20, bp=""), e("B", "b", 20, tid=2), e("E", "b", 30, tid=2)], False),
    ],
)
def test_arrows_at_an_edge_that_perfetto_does_not_draw_are_told(
    events: list[dict[str, Any]], is_told: bool
) -> None:
    """Of one time it takes the events E first, then X, then all others as the file has them."""
    trace = read(x("a", 0, 10), s(5), *({**event, "tid": 2} for event in events))
    assert arrows(trace) == [("a", "b")]
    assert [rule for _, rule in told(trace)] == ["bad-flow"] * is_told


def test_ids_that_stand_in_id2_are_kept_and_told() -> None:
    trace = read(x("a", 0, 10), *(e(ph, "n", 5, id2={"local": 1}, bp="e") for ph in "sf"))
    assert arrows(trace) == [("a", "a")]
    assert told(trace) == [("event 2", "bad-flow"), ("event 3", "bad-flow")]
