"""What a trace keeps of an exception."""

from __future__ import annotations

from tilelang_trace.recording.errors.description import describe
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


def test_the_first_cause_is_named_however_long_the_rest_is() -> None:
    causes = [("RuntimeError", "in between"), ("KeyError", "\n  'tile'\nmore")]
    error = error_argument("E", "exception", "x" * 10_000, causes)
    assert error["message"].endswith("x… (first cause: KeyError: 'tile')")
    assert len(error["message"]) == MESSAGE_LIMIT
    assert error["detail"].endswith(
        "x\n\ncaused by RuntimeError: in between\n\ncaused by KeyError: 'tile'\nmore"
    )
    assert (
        error_argument("E", "exception", "", causes)["message"] == "first cause: KeyError: 'tile'"
    )


def test_a_long_first_cause_leaves_room_for_the_error_itself() -> None:
    error = error_argument("E", "exception", "compilation failed", [("K", "y" * 10_000)])
    assert error["message"].startswith("compilation failed (first cause: K: yyy")
    assert error["message"].endswith("y…)")


def test_causes_are_followed_to_the_first_one() -> None:
    first, second, last = ValueError("a"), KeyError("b"), RuntimeError("c")
    last.__cause__, second.__context__ = second, first
    assert describe(last)["message"] == "c (first cause: ValueError: a)"
    assert describe(last, before=id(first))["message"] == "c (first cause: KeyError: 'b')"
    assert describe(last, before=id(last))["message"] == "c"
    second.__suppress_context__ = True
    assert describe(last)["message"] == "c (first cause: KeyError: 'b')"


def test_exceptions_that_cause_each_other_have_an_end() -> None:
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    assert describe(a)["message"] == "a (first cause: ValueError: b)"


def test_notes_belong_to_the_text() -> None:
    error = ValueError("a")
    error.__notes__ = ["while lowering"]  # type: ignore[attr-defined]
    assert describe(error)["detail"] == "a\nwhile lowering"
