"""The test that tells a change from noise: its level, its power, and when it can't tell."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from tilelang_trace.analysis.compare.permutation import can_tell, differing, least_runs, logarithms

MS = 1e6
PASSES = 80


def compile_times(
    random: np.random.Generator, runs: int, *, noise: float = 1.0, cold: float = 1.0
) -> NDArray[np.float64]:
    """Times of passes in runs of one compile: log-normal, with noise that all passes of a run share
    and noise of their own, more of it in some passes, and pauses of some ms here and there. The
    first run may be cold.
    """
    usual = np.exp(random.normal(0, 1.2, PASSES)) * MS
    of_the_run = random.normal(0, 0.05 * noise, (runs, 1))
    of_the_pass = random.normal(0, 0.1 * noise, (runs, PASSES)) * random.uniform(0.5, 2, PASSES)
    pauses = random.exponential(4 * MS, (runs, PASSES)) * (random.random((runs, PASSES)) < 0.05)
    times: NDArray[np.float64] = usual * np.exp(of_the_run + of_the_pass) + pauses
    times[0] *= cold
    return times


def found(times: NDArray[np.float64], base: int) -> list[int]:
    """The columns that differ; slower ones from 1, faster ones as negative numbers."""
    signs = differing(logarithms(times), base)
    return [int(sign) * (column + 1) for column, sign in enumerate(signs) if sign]


@pytest.mark.parametrize("noise", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("cold", [1.0, 2.0])
@pytest.mark.parametrize("runs", [4, 5])
def test_without_a_change_at_most_one_comparison_in_twenty_finds_something(
    runs: int, noise: float, cold: float
) -> None:
    random = np.random.default_rng(11)
    trials = 300
    false = sum(
        bool(found(compile_times(random, 2 * runs, noise=noise, cold=cold), runs))
        for _ in range(trials)
    )
    # 5 % of 300 are 15, give or take 4 (the standard deviation): so few that many are not chance.
    assert false <= 15 + 3 * 4


@pytest.mark.parametrize("cold", [1.0, 2.0])
def test_30_ms_more_in_one_of_80_passes_are_found_and_alone(cold: float) -> None:
    random = np.random.default_rng(12)
    hits = alone = 0
    for trial in range(20):
        times = compile_times(random, 20, cold=cold)
        times[10:, trial] += 30 * MS
        columns = found(times, 10)
        hits += trial + 1 in columns
        alone += columns == [trial + 1]
    assert hits == 20
    assert alone >= 20 - 4


def test_the_change_may_go_either_way_and_be_in_several_passes() -> None:
    times = compile_times(np.random.default_rng(13), 12, noise=0.3)
    times[6:, 3] *= 2
    times[6:, 7] *= 3
    times[:6, 5] *= 4
    assert found(times, 6) == [4, -6, 8]


def test_a_small_change_of_a_quiet_pass_is_seen_among_noisy_ones() -> None:
    random = np.random.default_rng(14)
    times = compile_times(random, 20)
    times[:, 0] = 1000 * MS * np.exp(random.normal(0, 0.005, 20))
    times[10:, 0] *= 1.1
    assert found(times, 10) == [1]


def test_one_slow_run_does_not_hide_a_change() -> None:
    times = compile_times(np.random.default_rng(17), 20)
    times[10:, 1] *= 4
    times[12, :] *= 5
    assert found(times, 10) == [2]


def test_how_many_runs_it_takes() -> None:
    """With as many runs on both sides the mirrored labels give a difference as large."""
    assert comb(6, 3) == 20
    assert not can_tell(3, 3)  # 2 of 20: 10 %
    assert can_tell(4, 4)  # 2 of 70
    assert can_tell(3, 4)  # 1 of 35
    assert not can_tell(2, 4)  # 1 of 15
    assert can_tell(2, 5)  # 1 of 21
    assert can_tell(1, 19)  # 1 of 20
    assert not can_tell(1, 18)
    assert not can_tell(1, 1)
    assert least_runs() == 4


@pytest.mark.parametrize(("base", "new"), [(3, 4), (4, 3), (4, 4), (2, 5), (1, 19)])
def test_the_least_runs_are_enough_for_a_clear_change(base: int, new: int) -> None:
    times = 10 * MS + np.random.default_rng(15).normal(0, 0.1 * MS, (base + new, 5))
    times[base:, 2] *= 2
    assert found(times, base) == [3]


def test_the_same_times_give_the_same_answer() -> None:
    """With 12 against 12 the labels are dealt at random."""
    times = compile_times(np.random.default_rng(18), 24)
    times[12:, :20] *= np.linspace(1, 1.5, 20)
    first = found(times, 12)
    assert 0 < len(first) < 20
    assert found(times, 12) == first
    # Neither does it matter which passes come first, nor which side is called base.
    assert sorted(PASSES + 1 - column for column in found(times[:, ::-1], 12)) == first
    assert [-column for column in found(times[::-1], 12)] == first


def test_times_that_are_all_equal_do_not_differ() -> None:
    assert found(np.full((10, 4), 5 * MS), 5) == []
    assert found(np.zeros((10, 4)), 5) == []
