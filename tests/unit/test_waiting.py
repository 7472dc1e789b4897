"""How the script is waited for: at once when it ends, and without looking again and again."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tilelang_trace.recording.launch.waiting import NEVER, Watcher, wait


def python(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", program])


class Bell(Watcher):
    """Rings so many times, one after the other."""

    def __init__(self, interval: float, times: int, error: Exception | None = None) -> None:
        self.rung: list[float] = []
        self._interval, self._times, self._error = interval, times, error
        self.due = time.monotonic() + interval

    def act(self) -> None:
        assert self.due == NEVER
        self.rung.append(time.monotonic())
        if self._error is not None:
            raise self._error
        if len(self.rung) < self._times:
            self.due = time.monotonic() + self._interval


@pytest.fixture
def selects(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The times that were slept for."""
    found: list[Any] = []

    def noting(*arguments: Any) -> Any:
        found.append(arguments[3])
        return original(*arguments)

    original = select.select
    monkeypatch.setattr(select, "select", noting)
    return found


def test_nothing_is_polled_when_nobody_asks(selects: list[Any]) -> None:
    assert wait(python("import time, sys; time.sleep(0.3); sys.exit(3)"), [Watcher()]) == 3
    assert set(selects) == {None}
    assert len(selects) < 4


def test_the_end_is_seen_at_once() -> None:
    program = "import time; time.sleep(0.2); print(time.monotonic(), flush=True)"
    child = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert wait(child, [Bell(60, 1)]) == 0
    now = time.monotonic()
    assert child.stdout is not None
    with child.stdout:
        assert now - float(child.stdout.read()) < 0.1


def test_a_death_is_minus_the_signal() -> None:
    assert wait(python("import os; os.kill(os.getpid(), 9)"), []) == -9


def test_a_child_that_ended_before_is_not_waited_for() -> None:
    child = python("")
    time.sleep(0.3)
    assert wait(child, [Watcher()]) == 0


def test_watchers_are_called_when_they_are_due() -> None:
    bell, other = Bell(0.05, 3), Bell(0.08, 1)
    begun = time.monotonic()
    wait(python("import time; time.sleep(0.5)"), [bell, other, Watcher()])
    assert len(bell.rung) == 3
    assert all(b - a >= 0.05 for a, b in zip([begun, *bell.rung], bell.rung))
    assert len(other.rung) == 1


def test_one_that_fails_is_told_of_and_the_script_runs_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bell = Bell(0.01, 3, ValueError("expected"))
    assert wait(python("import time; time.sleep(0.3)"), [bell]) == 0
    assert len(bell.rung) == 1
    assert capsys.readouterr().err == "tilelang-trace: ValueError: expected\n"


def test_signals_are_as_before_afterwards() -> None:
    numbers = (signal.SIGINT, signal.SIGCHLD, signal.SIGTERM, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in numbers]
    wait(python(""), [])
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.set_wakeup_fd(-1) == -1
