"""Pairing of callbacks over a plain list of frames."""

from __future__ import annotations

from tilelang_trace.pairing import close, unwind


def test_close_takes_off_the_innermost_frame() -> None:
    frames = ["build", "Tune", "ApplySchedule"]

    assert close(frames, lambda frame: frame == "ApplySchedule") == ("ApplySchedule", [])
    assert frames == ["build", "Tune"]


def test_close_takes_off_the_stale_frames_above_the_match_outermost_first() -> None:
    frames = ["build", "Tune", "ApplySchedule", "Simplify"]

    assert close(frames, lambda frame: frame == "Tune") == ("Tune", ["ApplySchedule", "Simplify"])
    assert frames == ["build"]


def test_close_prefers_the_innermost_of_several_matches() -> None:
    frames = [("Sequential", 0), ("Sequential", 1), ("Simplify", 2)]

    frame, stale = close(frames, lambda frame: frame[0] == "Sequential")

    assert (frame, stale) == (("Sequential", 1), [("Simplify", 2)])
    assert frames == [("Sequential", 0)]


def test_close_without_a_match_leaves_the_frames_alone() -> None:
    frames = ["build", "Tune"]

    assert close(frames, lambda frame: frame == "Codegen") == (None, [])
    assert frames == ["build", "Tune"]
    assert close([], lambda frame: True) == (None, [])


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
