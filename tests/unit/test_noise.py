"""Verdicts on passes and on the total, and what is told about how sure they are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.comparisons import MS, compared, comparison
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.analysis.compare.noise import judged
from tilelang_trace.analysis.compare.spread import spread


def around(ns: int, runs: int, first: int = 0) -> tuple[int, ...]:
    """Times that vary by some percent from run to run."""
    steps = (0, 17, 5, 29, 11, 23, 3, 19, 7, 13)
    return tuple(ns + ns * steps[(first + run) % 10] // 1000 for run in range(runs))


def verdicts(found: Comparison) -> dict[str, str]:
    return {entry.name: entry.verdict for entry in found.passes}


def two_sides(base: int, new: int, factor: float = 1.5) -> Comparison:
    """Of three passes, `lower` has become slower; around them is `build`."""

    def times(ns: int, first: int, scale: float = 1.0) -> dict[str, tuple[int, ...]]:
        return {
            "base": around(ns, base, first),
            "new": around(round(ns * scale), new, first + 3),
        }

    inner = [
        compared("build", "lower", **times(40 * MS, 1, factor)),
        compared("build", "fuse", **times(20 * MS, 2)),
        compared("build", "tiny", **times(MS // 10, 3, 4)),
    ]
    outer = times(5 * MS, 4)
    inclusive = tuple(
        tuple(map(sum, zip(outer[side], *(getattr(p, side).self_runs for p in inner))))
        for side in ("base", "new")
    )
    return comparison(compared("build", **outer, inclusive=inclusive), *inner)


class TestEnoughRuns:
    def test_the_pass_that_changed_and_not_what_is_around_it(self) -> None:
        found = judged(two_sides(5, 5), min_ns=MS)
        assert verdicts(found) == {
            "build": "same",
            "lower": "slower",
            "fuse": "same",
            "tiny": "same",
        }
        assert found.total.verdict == "slower"

    def test_faster(self) -> None:
        found = judged(two_sides(5, 5, 0.5), min_ns=MS)
        assert (verdicts(found)["lower"], found.total.verdict) == ("faster", "faster")

    def test_a_short_pass_is_judged_unless_it_is_left_out(self) -> None:
        assert verdicts(judged(two_sides(5, 5)))["tiny"] == "slower"
        assert verdicts(judged(two_sides(5, 5), min_ns=MS // 2))["tiny"] == "same"

    def test_a_pass_that_is_long_on_one_side_is_not_left_out(self) -> None:
        found = comparison(compared("x", base=around(2 * MS, 6), new=around(9 * MS, 6)))
        assert verdicts(judged(found, min_ns=5 * MS)) == {"x": "slower"}

    @pytest.mark.parametrize(
        ("threshold", "verdict"), [(None, "slower"), (0.45, "slower"), (0.55, "same")]
    )
    def test_a_change_must_exceed_the_threshold(
        self, threshold: float | None, verdict: str
    ) -> None:
        found = judged(two_sides(5, 5), threshold=threshold)
        assert verdicts(found)["lower"] == verdict

    def test_the_note_says_how_many_runs_it_takes(self) -> None:
        (note,) = judged(two_sides(5, 4)).notes
        assert note == (
            "verdicts: self times of 5 runs against 4, permutation test at the 5 % level for all "
            "passes together; that takes at least 4 runs a side"
        )

    def test_notes_that_are_there_stay(self) -> None:
        found = judged(comparison(compared("x", base=1, new=1), notes=("different kernels",)))
        assert found.notes[0] == "different kernels"
        assert len(found.notes) == 2


class TestWhatCanNotBeCompared:
    def test_passes_of_one_side_and_those_that_ended_otherwise(self) -> None:
        runs = {"base": around(10 * MS, 5), "new": around(30 * MS, 5)}
        found = judged(
            comparison(
                compared("added", new=runs["new"]),
                compared("removed", base=runs["base"]),
                compared("fails now", **runs, status=("ok", "failed")),
                compared("fails as before", **runs, status=("failed", "failed")),
            )
        )
        assert verdicts(found) == {
            "added": "unknown",
            "removed": "unknown",
            "fails now": "unknown",
            "fails as before": "slower",
        }
        assert found.total.verdict == "unknown"  # one has broken off

    def test_no_passes(self) -> None:
        assert judged(comparison()).passes == ()


class TestTooFewRuns:
    def test_one_run_a_side_is_not_judged_without_a_threshold(self) -> None:
        found = judged(two_sides(1, 1))
        assert set(verdicts(found).values()) == {"unknown"}
        assert found.total.verdict == "unknown"
        (note,) = found.notes
        assert note == (
            "1 run against 1: what is noise can't be known; no pass is judged; a verdict at the "
            "5 % level takes at least 4 runs a side (run --repeat)"
        )

    def test_one_run_a_side_by_the_threshold(self) -> None:
        found = judged(two_sides(1, 1), threshold=0.1, min_ns=MS)
        assert verdicts(found) == {
            "build": "unknown",
            "lower": "slower",
            "fuse": "unknown",
            "tiny": "same",
        }
        assert "can't be known; slower and faster are changes by more than 10 %;" in found.notes[0]

    @pytest.mark.parametrize("runs", [(2, 2), (3, 3), (2, 3)])
    def test_some_runs_by_twice_their_spread(self, runs: tuple[int, int]) -> None:
        found = judged(two_sides(*runs), min_ns=MS)
        assert verdicts(found) == {
            "build": "unknown",
            "lower": "slower",
            "fuse": "unknown",
            "tiny": "same",
        }
        assert "by more than twice their spread" in found.notes[0]
        assert verdicts(judged(two_sides(*runs, 1.01)))["lower"] == "unknown"

    def test_a_spread_that_is_small_by_chance_is_not_believed(self) -> None:
        noisy = [
            compared(f"noisy {n}", base=(10 * MS, 14 * MS), new=(11 * MS, 14 * MS))
            for n in range(4)
        ]
        lucky = compared("lucky", base=(10 * MS, 10 * MS), new=(13 * MS, 13 * MS))
        assert set(verdicts(judged(comparison(*noisy, lucky))).values()) == {"unknown"}

    def test_one_run_against_three_takes_both(self) -> None:
        assert set(verdicts(judged(two_sides(1, 3))).values()) == {"unknown"}
        assert verdicts(judged(two_sides(1, 3), threshold=0.1))["lower"] == "slower"
        assert verdicts(judged(two_sides(1, 3, 1.04), threshold=0.001))["lower"] == "unknown"


class TestCommonFactors:
    def side(self, runs: int, factors: dict[int, float], first: int) -> list[tuple[int, ...]]:
        """20 passes; in run n all take `factors[n]` times as long."""
        return [
            tuple(
                round(ns * factors.get(run, 1))
                for run, ns in enumerate(around((row + 1) * MS, runs, first + 3 * row))
            )
            for row in range(20)
        ]

    def notes(self, runs: int, base: dict[int, float], new: dict[int, float]) -> list[str]:
        sides = zip(self.side(runs, base, 1), self.side(runs, new, 2))
        found = comparison(*(compared(f"p{n}", base=b, new=w) for n, (b, w) in enumerate(sides)))
        return list(judged(found).notes[1:])

    @pytest.mark.parametrize("runs", [3, 10])
    def test_a_cold_first_run_is_told_with_its_name(self, runs: int) -> None:
        (note,) = self.notes(runs, {}, {0: 1.8})
        assert note.startswith("the first run of new was cold: nearly all its passes took 1.8")
        assert note.endswith("better leave new1.pftrace out")

    def test_on_both_sides(self) -> None:
        assert len(self.notes(5, {0: 2.0}, {0: 1.5})) == 2

    @pytest.mark.parametrize(
        "new",
        [
            {},
            {0: 1.05},  # as much as usual
            {2: 1.8},  # slow, but not the first
            {0: 1.8, 3: 1.7},  # one of several slow ones
        ],
    )
    def test_other_runs_are_not_cold(self, new: dict[int, float]) -> None:
        assert self.notes(8, {}, new) == []

    def test_two_runs_do_not_tell_which_one_is_unusual(self) -> None:
        assert not any("cold" in note for note in self.notes(2, {}, {0: 1.8}))

    def test_a_slow_pass_makes_no_cold_run(self) -> None:
        passes = [compared(f"p{n}", base=around(MS, 5), new=around(MS, 5, n)) for n in range(20)]
        slow = around(100 * MS, 5)
        odd = compared("odd", base=(5 * slow[0], *slow[1:]), new=slow)
        assert len(judged(comparison(odd, *passes)).notes) == 1

    def test_a_side_that_is_slower_as_a_whole_may_be_the_machine(self) -> None:
        (note,) = self.notes(6, {}, dict.fromkeys(range(6), 1.4))
        assert note.startswith("nearly all passes of new took 1.4")
        assert "perhaps that is the machine" in note


def test_spread_is_mean_median_and_range() -> None:
    found = spread((5, 1, 3, 100))
    assert (found.mean_ns, found.median_ns) == (Fraction(109, 4), 4)
    assert (found.runs, found.least_ns, found.most_ns, found.range_ns) == (4, 1, 100, 99)
    assert spread((1, 2)).median_ns == Fraction(3, 2)
    assert spread((7,)).mean_ns == spread((7,)).median_ns == 7
