"""Pairing of callbacks over a plain list of frames."""

from __future__ import annotations

from tilelang_trace.pairing import find, unwind


def test_find_gives_the_innermost_of_several_matches() -> None:
    frames = [("Sequential", 0), ("Sequential", 1), ("Simplify", 2)]

    assert find(frames, lambda frame: frame[0] == "Sequential") == 1
    assert find(frames, lambda frame: True) == 2


def test_find_without_a_match() -> None:
    assert find(["build", "Tune"], lambda frame: frame == "Codegen") is None
    assert find([], lambda frame: True) is None


def test_unwind_takes_off_everything_outermost_first() -> None:
    frames = ["build", "Tune", "ApplySchedule"]

    assert unwind(frames) == ["build", "Tune", "ApplySchedule"]
    assert frames == []
    assert unwind(frames) == []


def test_unwind_keeps_the_frames_outside_of_the_depth() -> None:
    frames = ["build", "Tune", "ApplySchedule"]

    assert unwind(frames, 1) == ["Tune", "ApplySchedule"]
    assert frames == ["build"]
    assert unwind(frames, 1) == []
    assert frames == ["build"]
