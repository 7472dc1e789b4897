"""An exception that strikes anywhere inside the recorder, as that of a signal handler can."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.fake_tvm import Info
from tilelang_trace.recording import sink as sink_module
from tilelang_trace.recording.finish import read_journals
from tilelang_trace.recording.journal import Journal
from tilelang_trace.recording.sink import ThreadSink
from tilelang_trace.trace.arguments import COMPILE
from tilelang_trace.trace.model import Trace

_PACKAGE = str(Path(sys.modules[ThreadSink.__module__].__file__ or "").parent.parent)


class Lines:
    """Counts the lines that are run in the package, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Lines | None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupted(step: Callable[[], None], at: int) -> bool:
    """Run a step, with Ctrl-C at its n-th line; whether it has that many."""
    lines = Lines(at)
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        step()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def record(
    folder: Path, interrupted_step: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[bool, Trace]:
    """Record a compile. In one of its steps there is a Ctrl-C; it ends what is inside `outer`.

    The lines that are run are the same each time, for the clock is; it passes a moment at which the
    writer of events prepares new digits.
    """
    clock = itertools.count((1 << 40) - 3500, 1000)
    monkeypatch.setattr(sink_module, "monotonic_ns", clock.__next__)
    folder.mkdir()
    journal = Journal(folder)
    sink = ThreadSink(journal, 2, 2, 1, 5, itertools.count().__next__, lambda: None)
    compile_ = sink.open_slice(COMPILE, "kernel", {})
    outer, inner, context = Info("outer"), Info("inner"), Info("context")
    sink.before_pass(None, outer)
    mark = sink.mark()
    steps: dict[str, Callable[[], None]] = {
        "enter": lambda: sink.enter_context(context, {"opt_level": 3}, False),
        "before": lambda: sink.before_pass(None, inner),
        "after": lambda: sink.after_pass(None, inner),
        "exit": lambda: sink.exit_context(context, None),
    }
    struck = False
    for name, step in steps.items():
        if name != interrupted_step:
            step()
        elif interrupted(step, at):
            struck = True
            sink.unwind(mark, KeyboardInterrupt())
            break
    sink.after_pass(None, outer)
    later = Info("later")
    sink.before_pass(None, later)
    sink.after_pass(None, later)
    sink.close_slice(compile_, None, {})
    assert sink.stack == [] and sink.context is sink.default and sink.context.innermost is None
    journal.close()
    return struck, read_journals(folder)


def rows(trace: Trace) -> list[tuple[str, str, str, str]]:
    """Name, parent's name, status and cause of each slice."""
    parents = trace.slices.parent.tolist()
    found = []
    for row, parent in enumerate(parents):
        arguments = trace.arguments.of(row)
        error = arguments.get("error", {})
        parent_name = trace.name(parent) if parent >= 0 else ""
        found.append(
            (trace.name(row), parent_name, str(arguments["status"]), str(error.get("cause", "")))
        )
    return found


AROUND = [("kernel", "", "ok", ""), ("outer", "kernel", "ok", "")]
LATER = [("later", "kernel", "ok", "")]
CONTEXT = "PassContext"


@pytest.mark.parametrize("step", ["enter", "before", "after", "exit"])
def test_an_interrupt_at_any_line_leaves_the_rest_right(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def context(status: str, cause: str) -> tuple[str, str, str, str]:
        return (CONTEXT, "outer", status, cause)

    def inner(status: str, cause: str) -> tuple[str, str, str, str]:
        return ("inner", CONTEXT, status, cause)

    left = context("incomplete", "mismatch")
    possible = {
        "enter": [[], [context("failed", "interrupt")]],
        "before": [[left], [left, inner("failed", "interrupt")]],
        "after": [[left, inner("failed", "interrupt")], [left, inner("ok", "")]],
        "exit": [[left, inner("ok", "")], [context("ok", ""), inner("ok", "")]],
    }[step]
    seen = []
    for at in itertools.count(1):
        struck, trace = record(tmp_path / str(at), step, at, monkeypatch)
        if not struck:
            break
        between = rows(trace)[2:-1]
        assert rows(trace)[:2] == AROUND and rows(trace)[-1:] == LATER, at
        assert between in possible, (at, between)
        assert not trace.findings
        seen.append(possible.index(between))
    # It is first as if the step had not begun, and from some line on as if it had ended.
    assert sorted(seen) == seen and set(seen) == {0, 1}
