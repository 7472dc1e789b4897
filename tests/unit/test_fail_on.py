"""`compare --fail-on slower`: when a build stops, and what is said."""

from __future__ import annotations

import pytest

from tests.comparisons import MS, compared, comparison
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.analysis.compare.noise import judged
from tilelang_trace.errors import UserError
from tilelang_trace.reports.compare.fail_on import check, slower


def one_run(*changes: tuple[str, int, int], threshold: float = 0.1) -> Comparison:
    passes = [compared(name, base=base * MS, new=new * MS) for name, base, new in changes]
    return judged(comparison(*passes), threshold=threshold, min_ns=5 * MS)


def test_a_slower_pass_is_named_with_its_change() -> None:
    found = one_run(("Lower", 10, 14), ("Fuse", 100, 95), ("Tiny", 1, 4))
    assert slower(found) == "slower: Lower +4.000 ms (+40.0 %)"


def test_the_total_comes_first_and_few_are_named() -> None:
    found = one_run(*((f"p{n}", 10, 12 + n) for n in range(5)))
    assert slower(found) == (
        "slower: the total +20.000 ms (+40.0 %), p4 +6.000 ms (+60.0 %), p3 +5.000 ms (+50.0 %), "
        "3 more"
    )


def test_what_is_faster_or_below_a_limit_stops_nobody() -> None:
    assert slower(one_run(("Lower", 100, 60), ("Fuse", 100, 109), ("Tiny", 1, 4))) is None


def test_an_added_pass_counts_in_the_total() -> None:
    added = compared("Added", new=30 * MS)
    steady = compared("Steady", base=100 * MS, new=100 * MS)
    found = judged(comparison(steady, added), threshold=0.1)
    assert slower(found) == "slower: the total +30.000 ms (+30.0 %)"
    assert slower(judged(comparison(steady, added), threshold=0.5)) is None


def test_a_compile_that_broke_off_is_not_faster() -> None:
    found = comparison(
        compared("Check\x1b", base=10 * MS, new=1 * MS, status=("ok", "failed")),
        compared("After", base=10 * MS, change="not_reached"),
    )
    assert slower(judged(found, threshold=0.1)) == (
        "failed in new only, so its times say nothing: Check\\x1b"
    )


def test_a_failure_that_was_there_before_is_no_news() -> None:
    passes = compared("Check", base=10 * MS, new=10 * MS, status=("failed", "failed"))
    assert slower(judged(comparison(passes), threshold=0.1)) is None


def test_asking_where_nothing_can_be_known_is_a_mistake() -> None:
    single = comparison(compared("x", base=1, new=1))
    several = comparison(compared("x", base=(1, 1), new=(1, 1)))
    with pytest.raises(UserError, match="needs --threshold"):
        check(single, None)
    check(single, 0.1)
    check(several, None)
