"""Times of Chrome JSON events in every way that tools write them, to the nanosecond."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.chrome_events import e, read, spans, told, x
from tilelang_trace.formats.chrome_json import times


@pytest.mark.parametrize(
    ("ts", "ns"),
    [
        (5, 5_000),
        (5.1, 5_100),
        (0.0005, 0),
        (0.0015, 2),
        (1760000000123456, 1_760_000_000_123_456_000),
        (1760000000123456.25, 1_760_000_000_123_456_250),
        ("1760000000123456", 1_760_000_000_123_456_000),
        ("1760000000123456.001", 1_760_000_000_123_456_001),
        ("1760000000123456.0014999999999999999999999999", 1_760_000_000_123_456_001),
        ("1760000000123456.0015000000000000000000000001", 1_760_000_000_123_456_002),
        ("1.76e15", 1_760_000_000_000_000_000),
        ("1.7600000001234562E+15", 1_760_000_000_123_456_200),
        ("17600000001234562e-1", 1_760_000_000_123_456_200),
        (" 4.75\t", 4_750),
        ("+4.", 4_000),
        (".5", 500),
        ("-3.25", -3_250),
        ("1e-999", 0),
        ("0e999999999", 0),
        ("1e999999999", None),
    ],
)
def test_times_are_read_exactly(ts: Any, ns: int | None) -> None:
    trace = read(x("a", ts, 1000))
    assert [begin for _, begin, _ in spans(trace)] == ([] if ns is None else [ns])


@pytest.mark.parametrize(
    "ts", [None, True, "", "x", "1 2", "0x10", "1_0", "1e", "inf", "nan", [], {}, float("nan")]
)
def test_a_time_that_is_no_number_is_told_and_the_event_left_out(ts: Any) -> None:
    trace = read(x("a", ts, 1), x("b", 0, 1))
    assert spans(trace) == [("b", 0, 1_000)]
    assert told(trace) == [("event 1", "no-time")]


@pytest.mark.parametrize("ts", [1e300, -1e300, "1e50", 2**63, -(2**61)])
def test_a_time_beyond_any_clock_is_told_and_the_event_left_out(ts: Any) -> None:
    trace = read(x("a", ts, 1), x("b", 0, 1))
    assert spans(trace) == [("b", 0, 1_000)]
    assert told(trace) == [("event 1", "far-time")]


@pytest.mark.parametrize(
    ("dur", "rule"),
    [
        (None, "no-duration"),
        ("x", "no-duration"),
        ([], "no-duration"),
        (1e300, "far-time"),
        (-2, "negative-duration"),
        ("-2", "negative-duration"),
        (0, "empty-slice"),
        (1e-9, "empty-slice"),
    ],
)
def test_a_duration_that_can_not_be_becomes_a_nanosecond_and_is_told(dur: Any, rule: str) -> None:
    trace = read(x("a", 5, dur))
    assert spans(trace) == [("a", 5_000, 5_001)]
    assert told(trace) == [("event 1", rule)]
    assert spans(read({"ph": "X", "name": "a", "ts": 5})) == [("a", 5_000, 5_001)]


@pytest.mark.parametrize("text", [" 5", "+5", ".5", "5.", "05", "5\n"])
def test_text_that_perfetto_takes_for_no_number_is_read_and_told(text: str) -> None:
    trace = read(x("a", text, 1), x("b", 100, text), x("c", "-1.5E+2", "1e0", tid=2))
    assert len(trace.slices) == 3
    assert ("event 1", "odd-number") in told(trace)
    assert ("event 2", "odd-number") in told(trace)
    assert ("event 3", "odd-number") not in told(trace)


@pytest.mark.parametrize(
    "event", [e("B", "a", 0, dur="x"), x("a", 0, 1, tts=None), x("a", 0, 1, tdur=[])]
)
def test_times_that_nobody_needs_are_told_if_they_are_no_numbers(event: dict[str, Any]) -> None:
    assert ("event 1", "odd-number") in told(read(event))


def test_begin_and_end_are_rounded_and_not_the_duration() -> None:
    # In ns: 0.4 to 1.6, and 1.6 to 2.8; the durations alone would round to 1 each.
    trace = read(x("a", "0.0004", "0.0012"), x("b", "0.0016", "0.0012"))
    assert spans(trace) == [("a", 0, 2), ("b", 2, 3)]
    assert not told(trace)


def test_times_before_zero_are_kept_and_told() -> None:
    trace = read(x("a", -5, 2), e("B", "b", "-2"), e("E", "b", 1))
    assert spans(trace) == [("a", -5_000, -3_000), ("b", -2_000, 1_000)]
    assert told(trace) == [("event 1", "negative-time"), ("event 2", "negative-time")]


def test_what_a_double_shows_at_another_nanosecond_is_told() -> None:
    exact = x("whole", 1760000000123456, 1)
    coarse = x("fine", "1760000000123458.001", 1)
    trace = read(exact, coarse, x("near", 5.001, 1))
    assert told(trace) == [("event 2", "coarse-time")]


@pytest.mark.parametrize(
    ("ts", "theirs"),
    [  # as Perfetto v52 shows them
        ("1.760000000123456E15", 1760000000123456256),
        ("1760000000123456.0", 1760000000123456000),
        ("1760000000123456", 1760000000123456000),
        ("1760000000123456.5", 1760000000123456512),
        ("5000000000000.125", 5000000000000125),
        ("6000000000000.0625", 6000000000000062),
        ("4503599627371.0005", 4503599627371001),
    ],
)
def test_what_perfetto_makes_of_a_time(ts: str, theirs: int) -> None:
    assert times.as_perfetto_reads(ts) == theirs
    trace = read(x("a", ts, 1))
    is_exact = spans(trace)[0][1] == theirs
    assert told(trace) == ([] if is_exact else [("event 1", "coarse-time")])


def test_the_real_time_stays_known() -> None:
    start = 1_760_000_000_123_456_000
    trace = read(x("a", 1760000000123456, 1))
    assert trace.metadata["start"] == {"realtime_ns": start, "monotonic_ns": start}
    assert "start" not in read(x("a", 5, 1)).metadata


def test_rounding_at_epoch_times_is_no_overlap() -> None:
    """A double holds such times in steps of 250 ns: 456.002 is read as 456, 459.012 as 459."""
    trace = read(
        x("lower", 1760000000123456.001, 3.010),
        x("Simplify", 1760000000123456.002, 3.008),
        x("Next", 1760000000123459.012, 1.000),
    )
    assert [name for name, _, _ in spans(trace)] == ["lower", "Simplify", "Next"]
    assert trace.slices.parent.tolist() == [-1, 0, -1]
    assert set(trace.slices.lane.tolist()) == {0}
    assert ("event 3", "rounding") in told(trace)


def test_numbers_in_text() -> None:
    assert times.number(" 1.50e1 ") == 15
    assert times.number("-.5") == Fraction(-1, 2)
    assert times.number("1e-500") == 0
    for text in ("", ".", "e5", "--1", "1,5", "٣", "1" * 1001, "1e401"):
        assert times.number(text) is None, text
