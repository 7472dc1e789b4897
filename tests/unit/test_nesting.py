"""Which slice encloses which, against a slow and obvious reference, and the mending of lanes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilelang_trace.trace.mending import ROUNDING_NS, Mended, mend
from tilelang_trace.trace.nesting import nest

Span = tuple[int, int]


def canonical(spans: list[Span]) -> list[Span]:
    """By begin, of equal ones the longer first: the order that `nest` asks for."""
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def columns(spans: list[Span]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array([span[k] for span in spans], np.int64) for k in (0, 1))


def found_parents(spans: list[Span]) -> list[int] | None:
    parents = nest(*columns(spans))
    return None if parents is None else parents.tolist()


def reference_parents(spans: list[Span]) -> list[int] | None:
    """The last slice before each one that encloses it; None if any two overlap in part."""
    if any(end <= begin for begin, end in spans):
        return None
    for a_begin, a_end in spans:
        for b_begin, b_end in spans:
            if a_begin < b_begin < a_end < b_end:
                return None
    return [
        max((k for k in range(row) if spans[k][0] <= begin and end <= spans[k][1]), default=-1)
        for row, (begin, end) in enumerate(spans)
    ]


def laminar(random_: random.Random, begin: int, end: int, depth: int = 0) -> list[Span]:
    """Random slices between two times that nest or are disjoint, often with equal ends."""
    spans = []
    at = begin
    while at < end and random_.random() < 0.8:
        start = at + random_.choice((0, 0, random_.randint(0, end - at)))
        stop = start + random_.choice((1, end - start, random_.randint(0, end - start)))
        if not start < stop <= end:
            break
        spans.append((start, stop))
        if depth < 6:
            spans += laminar(random_, start, stop, depth + 1)
        at = stop
    return spans


def test_parents_of_slices_that_nest() -> None:
    for seed in range(300):
        random_ = random.Random(seed)
        offset = random_.choice((0, -50, 2**62))
        spans = canonical([(a + offset, b + offset) for a, b in laminar(random_, 0, 100)])
        expected = reference_parents(spans)
        assert expected is not None
        assert found_parents(spans) == expected, seed


def test_slices_that_overlap_in_part_have_no_parents() -> None:
    for seed in range(300):
        random_ = random.Random(seed)
        count, width = random_.randint(2, 12), random_.choice((3, 10, 1000))
        spans = []
        for _ in range(count):
            begin = random_.randint(0, width)
            spans.append((begin, begin + random_.randint(0 if seed % 7 == 0 else 1, width)))
        spans = canonical(spans)
        assert found_parents(spans) == reference_parents(spans), seed


def test_the_random_families_are_of_both_kinds() -> None:
    families = [canonical(laminar(random.Random(seed), 0, 100)) for seed in range(300)]
    assert sum(len(family) > 10 for family in families) > 50
    assert sum(len(set(family)) < len(family) for family in families) > 50
    assert reference_parents([(0, 10), (5, 15)]) is None
    assert reference_parents([(0, 10), (0, 10), (3, 5), (5, 10), (10, 11)]) == [-1, 0, 1, 1, -1]


@pytest.mark.parametrize(
    ("spans", "parents"),
    [
        ([], []),
        ([(5, 6)], [-1]),
        ([(0, 10), (10, 20)], [-1, -1]),
        ([(0, 20), (0, 10)], [-1, 0]),
        ([(0, 20), (10, 20)], [-1, 0]),
        ([(0, 20), (0, 20), (0, 20)], [-1, 0, 1]),
        ([(0, 9), (1, 2), (2, 3), (2, 3), (8, 9)], [-1, 0, 0, 2, 0]),
        ([(0, 10), (5, 11)], None),
        ([(0, 10), (9, 12)], None),
        ([(0, 10), (3, 3)], None),
        ([(4, 3)], None),
    ],
)
def test_small_families(spans: list[Span], parents: list[int] | None) -> None:
    assert found_parents(spans) == parents


def test_ten_thousand_levels_nest() -> None:
    spans = [(depth, 30_000 - depth) for depth in range(10_000)]
    assert found_parents(spans) == list(range(-1, 9_999))


# ------------------------------------------------------------------------------------ mending


def mended(*spans: Span) -> tuple[list[tuple[int, int, int]], list[tuple[int, str]]]:
    """What became of the slices (begin, end, lane), and the rules that which of them broke."""
    result = mend(*columns(list(spans)))
    times = zip(result.begin.tolist(), result.end.tolist(), result.lane.tolist())
    return list(times), [(mend.index, mend.rule.name) for mend in result.mends]


def test_a_child_that_is_too_long_by_a_rounding_is_cut_to_its_parent() -> None:
    slices, mends = mended((0, 100_000), (60_000, 101_000), (101_000, 121_000))
    assert slices == [(0, 100_000, 0), (60_000, 100_000, 0), (101_000, 121_000, 0)]
    assert mends == [(1, "rounding")]
    assert ROUNDING_NS == 1_000


def test_a_child_that_is_longer_by_more_than_that_moves_to_another_lane() -> None:
    slices, mends = mended((0, 100_000), (60_000, 101_001))
    assert slices == [(0, 100_000, 0), (60_000, 101_001, 1)]
    assert mends == [(1, "overlap")]


def test_slices_that_overlap_get_lanes_and_return_to_the_first_one() -> None:
    slices, mends = mended((0, 100_000), (80_000, 140_000), (150_000, 170_000))
    assert slices == [(0, 100_000, 0), (80_000, 140_000, 1), (150_000, 170_000, 0)]
    assert mends == [(1, "overlap")]


def test_children_follow_their_parent_to_its_lane() -> None:
    slices, _ = mended((0, 100_000), (80_000, 140_000), (90_000, 130_000), (110_000, 120_000))
    assert [lane for _, _, lane in slices] == [0, 1, 1, 0]


def test_three_that_overlap_get_three_lanes() -> None:
    slices, mends = mended((0, 10_000), (1_000, 20_000), (2_000, 30_000))
    assert slices == [(0, 10_000, 0), (1_000, 20_000, 1), (2_000, 30_000, 2)]
    assert mends == [(1, "overlap"), (2, "overlap")]


def test_slices_without_a_length_stand_one_after_another_and_not_in_each_other() -> None:
    slices, mends = mended((0, 10_000), (10_000, 10_000), (10_000, 10_000), (10_000, 15_000))
    assert slices[:3] == [(0, 10_000, 0), (10_000, 10_001, 0), (10_001, 10_002, 0)]
    assert slices[3] == (10_002, 15_000, 0)
    assert mends[:2] == [(1, "empty-slice"), (2, "empty-slice")]


def test_a_slice_that_moves_behind_one_without_a_length_is_a_mend_too() -> None:
    _, mends = mended((0, 10_000), (10_000, 10_000), (10_000, 15_000))
    assert [index for index, _ in mends] == [1, 2]


def test_a_slice_without_a_length_stays_in_its_parent() -> None:
    slices, _ = mended((0, 10), (4, 4))
    assert slices == [(0, 10, 0), (4, 5, 0)]


def test_a_negative_length_becomes_one_nanosecond() -> None:
    slices, mends = mended((100, 40))
    assert slices == [(100, 101, 0)]
    assert mends == [(0, "negative-duration")]


def assert_well_formed(result: Mended) -> None:
    for lane in set(result.lane.tolist()):
        rows = np.flatnonzero(result.lane == lane)
        spans = canonical(list(zip(result.begin[rows].tolist(), result.end[rows].tolist())))
        assert reference_parents(spans) is not None, spans


def random_spans(seed: int) -> list[Span]:
    """Slices of any kind: overlapping, empty, of negative length, off by a rounding."""
    random_ = random.Random(seed)
    width = random_.choice((4, 12, 5_000))
    spans = []
    for _ in range(random_.randint(1, 14)):
        begin = random_.randint(0, width)
        length = random_.choice((0, 0, -1, random_.randint(0, width), 1_000 + width))
        spans.append((begin, begin + length))
    return spans


def test_every_mended_lane_nests() -> None:
    for seed in range(400):
        assert_well_formed(mend(*columns(random_spans(seed))))


@pytest.mark.parametrize(
    "spans",
    [
        [(0, 12), (8, 8), (6, 9), (8, 11), (8, 1020)],
        [(1, 4), (1, 1), (2, 2), (1, 1), (1, 5), (2, 1006), (2, 6)],
    ],
)
def test_an_empty_slice_keeps_its_place_when_others_move_to_another_lane(spans: list[Span]) -> None:
    assert_well_formed(mend(*columns(spans)))


def test_what_was_changed_is_told() -> None:
    for seed in range(200):
        spans = random_spans(seed)
        result = mend(*columns(spans))
        after = zip(result.begin.tolist(), result.end.tolist(), result.lane.tolist())
        changed = {k for k, (old, new) in enumerate(zip(spans, after)) if (*old, 0) != new}
        assert {mend.index for mend in result.mends} == changed, seed


def test_a_lane_that_nests_is_left_alone() -> None:
    for seed in range(100):
        spans = laminar(random.Random(seed), 0, 100)
        result = mend(*columns(spans))
        assert list(zip(result.begin.tolist(), result.end.tolist())) == spans, seed
        assert not result.lane.any()
        assert result.mends == []
