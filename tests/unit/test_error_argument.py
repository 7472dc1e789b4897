"""What a trace keeps of an exception."""

from __future__ import annotations

from tilelang_trace.recording.errors import describe
from tilelang_trace.trace.arguments import DETAIL_LIMIT, MESSAGE_LIMIT
from tilelang_trace.trace.error_argument import enclosing, error_argument


def test_the_message_is_the_first_line_and_the_detail_the_whole_text() -> None:
    error = describe(ValueError("\n  tile 24 is odd\nsecond line"))
    assert error == {
        "type": "ValueError",
        "cause": "exception",
        "message": "tile 24 is odd",
        "detail": "\n  tile 24 is odd\nsecond line",
    }
    assert enclosing(error) == {
        "type": "ValueError",
        "cause": "exception",
        "message": "tile 24 is odd",
    }


def test_terminal_escapes_are_taken_out() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b(plain"
    assert error_argument("E", "exception", text)["message"] == "red link \x1b(plain"


def test_a_long_first_line_is_cut_with_a_mark() -> None:
    message = error_argument("E", "exception", "é" * (MESSAGE_LIMIT + 1))["message"]
    assert message == "é" * (MESSAGE_LIMIT - 1) + "…"
    assert error_argument("E", "exception", "x" * MESSAGE_LIMIT)["message"] == "x" * MESSAGE_LIMIT


def test_a_long_text_keeps_its_two_ends_and_says_what_is_missing() -> None:
    text = "start" + "形" * DETAIL_LIMIT + "end"
    detail = error_argument("E", "exception", text)["detail"]
    assert len(detail.encode()) <= DETAIL_LIMIT
    assert detail.startswith("start形")
    assert detail.endswith("形end")
    left_out = int(detail.partition("[... ")[2].partition(" ")[0])
    kept = len(detail) - len(f"\n[... {left_out} characters left out ...]\n")
    assert kept + left_out == len(text)


def test_text_that_no_file_can_hold_is_made_readable() -> None:
    error = error_argument("E", "exception", "nul \0 surrogate \ud83d end")
    assert error["message"] == "nul ␀ surrogate \N{REPLACEMENT CHARACTER} end"


def test_an_exception_whose_text_raises_is_still_told() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise KeyError("no")

    assert describe(Broken())["message"] == "(the text of this Broken can't be had: KeyError)"


def test_ctrl_c_is_an_interrupt() -> None:
    assert describe(KeyboardInterrupt())["cause"] == "interrupt"
