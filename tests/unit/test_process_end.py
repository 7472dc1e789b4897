"""What is made of a parent's word and of faulthandler's text."""

from __future__ import annotations

import pytest

from tilelang_trace.recording.death.process_end import ProcessEnd, death_of

CRASH = """Fatal Python error: {words}

Thread 0x00007f0000000002 (most recent call first):
  File "/x/other.py", line 3 in waits

Current thread 0x00007f0000000001 (most recent call first):
  File "/x/script.py", line 9 in dies
  File "/x/script.py", line 12 in <module>

Extension modules: numpy._core._multiarray_umath, tvm_ffi.core (total: 2)
"""
ASKED = """Current thread 0x00007f0000000003 (most recent call first):
  File "/x/asked.py", line 1 in <module>
"""


@pytest.mark.parametrize(
    ("words", "signal"),
    [
        ("Segmentation fault", "SIGSEGV"),
        ("Aborted", "SIGABRT"),
        ("Bus error", "SIGBUS"),
        ("Floating point exception", "SIGFPE"),
        ("Illegal instruction", "SIGILL"),
    ],
)
def test_the_stack_names_the_signal_and_the_thread(words: str, signal: str) -> None:
    death = death_of(None, ASKED + CRASH.format(words=words))
    assert (death.signal, death.culprit) == (signal, 0x7F0000000001)
    assert death.error["type"] == signal
    assert death.error["cause"] == "signal"
    assert death.error["message"] == f"the process was killed by {signal}"
    _, heading, current, other, rest = death.error["detail"].split("\n\n")
    assert heading == f"Fatal Python error: {words}"
    assert current.startswith("Current thread 0x00007f0000000001")
    assert other.startswith("Thread 0x00007f0000000002")
    assert rest.startswith("Extension modules")


def test_a_stack_that_was_asked_for_blames_nobody() -> None:
    death = death_of(None, ASKED)
    assert (death.signal, death.culprit, death.error["cause"]) == ("", None, "unknown")
    assert "asked.py" in death.error["detail"]


def test_the_thread_that_crashed_survives_the_cut() -> None:
    others = "".join(
        f"Thread 0x{number:016x} (most recent call first):\n"
        + '  File "/long/path/to/a/module.py", line 1 in a_function\n' * 100
        + "\n"
        for number in range(2, 50)
    )
    text = CRASH.format(words="Aborted").replace("Current thread", f"{others}Current thread")
    detail = death_of(None, text).error["detail"]
    assert len(detail) <= 32 << 10
    assert '"/x/script.py", line 9 in dies' in detail
    assert "characters left out" in detail


def test_the_parents_word_counts() -> None:
    """A handler that runs into trouble while it deals with one signal may end in another."""
    death = death_of(ProcessEnd(1, 5, -6, "SIGABRT"), CRASH.format(words="Segmentation fault"))
    assert death.signal == "SIGABRT"
    assert death.error["message"] == "the process was killed by SIGABRT"
    left = death_of(ProcessEnd(1, 5, 3), "")
    assert left.error["cause"] == "unknown"
    assert left.error["message"] == "the process exited with code 3 while this was running"


def test_lack_of_memory_is_said() -> None:
    end = ProcessEnd(1, 5, -9, "SIGKILL", "x.py", 23_140_000_000, True)
    assert death_of(end, "").error["message"] == (
        "the process was killed by SIGKILL, for lack of memory; it had used 23.1 GB"
    )
    assert end.metadata() == {
        "code": -9,
        "signal": "SIGKILL",
        "peak_memory": 23_140_000_000,
        "out_of_memory": True,
    }
