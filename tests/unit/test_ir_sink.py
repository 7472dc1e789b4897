"""The sink that looks at modules: what it holds of them, and for how long. No TVM."""

from __future__ import annotations

import gc
import itertools
import weakref
from pathlib import Path
from typing import Any

import pytest

from tilelang_trace.recording.ir_facts import Facts, IrWatch
from tilelang_trace.recording.ir_sink import IrSink, LinesCounter
from tilelang_trace.recording.journal import Journal


class Object:
    """A TVM object that is the same as itself only: a pass, a context, a part of a module."""

    name = "p"

    def same_as(self, other: object) -> bool:
        return self is other


class Module:
    """A module made of objects."""

    def __init__(self) -> None:
        self.functions, self.attrs, self.global_infos = Object(), Object(), Object()


class View:
    """Sees an object in each module, and knows which of those are still there."""

    def __init__(self) -> None:
        self.seen: weakref.WeakSet[Object] = weakref.WeakSet()

    def look(self, mod: Any) -> Object:
        seen = Object()
        self.seen.add(seen)
        return seen

    def begin(self, before: Any) -> Facts:
        return {}

    def end(self, after: Any, changed: bool | None) -> Facts:
        return {}


@pytest.fixture
def view() -> View:
    return View()


@pytest.fixture
def sink(view: View, tmp_path: Path) -> IrSink:
    journal = Journal(tmp_path)
    return IrSink(
        *(journal, 2, 2, 1, 5, itertools.count().__next__, lambda: None),
        watch=IrWatch(view),
        counter=LinesCounter(journal.append, 3, 3, 2),
    )


def test_nothing_is_held_once_a_context_is_over(sink: IrSink, view: View) -> None:
    context, info = Object(), Object()
    sink.enter_context(context, {}, False)
    sink.before_pass(Module(), info)
    sink.after_pass(Module(), info)
    assert len(view.seen) == 1
    sink.exit_context(context, None)
    gc.collect()
    assert len(view.seen) == 0


def test_nothing_is_held_of_passes_that_failed(sink: IrSink, view: View) -> None:
    context = Object()
    sink.enter_context(context, {}, False)
    for _ in range(3):
        sink.before_pass(Module(), Object())
    assert len(view.seen) == 3
    sink.exit_context(context, ValueError("expected"))
    gc.collect()
    assert len(view.seen) == 0


def test_an_end_without_a_begin_is_a_stray(sink: IrSink, view: View) -> None:
    sink.after_pass(Module(), Object())
    assert (sink.strays, len(view.seen)) == (1, 0)


def test_what_is_still_open_inside_a_pass_ends_with_it(sink: IrSink, view: View) -> None:
    outer = Object()
    sink.before_pass(Module(), outer)
    sink.before_pass(Module(), Object())
    sink.after_pass(Module(), outer)
    assert (sink.stack, sink.strays) == ([], 0)
    assert len(view.seen) == 1  # of the module after the pass
