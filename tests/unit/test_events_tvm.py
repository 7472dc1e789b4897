"""A StackedPassInstrument in real PassContexts of TVM."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tilelang_trace.events import (
    IncompletePass,
    PassEvent,
    PassEventObserver,
    StackedPassInstrument,
    active_stacked_pass_instruments,
    pass_phase,
)

tvm = pytest.importorskip("tvm")
PassContext = tvm.transform.PassContext


class Log(PassEventObserver):
    def __init__(self, raise_in: str = "") -> None:
        self.events: list[PassEvent] = []
        self.finished: list[str] = []
        self.incomplete: list[list[str]] = []
        self.errors: list[BaseException | None] = []
        self.mismatches: list[tuple[str, str | None]] = []
        self.exits = 0
        self.raise_in = raise_in

    def _maybe_raise(self, call: str) -> None:
        if call == self.raise_in:
            raise KeyError(call)

    def enter_pass_context(self) -> None:
        self._maybe_raise("enter")

    def exit_pass_context(self) -> None:
        self.exits += 1
        self._maybe_raise("exit")

    def pass_started(self, mod: Any, event: PassEvent) -> Any:
        self.events.append(event)
        self._maybe_raise("started")
        return mod

    def pass_finished(self, mod: Any, event: PassEvent, state: Any) -> None:
        assert isinstance(mod, tvm.IRModule)
        assert isinstance(state, tvm.IRModule)
        self.finished.append(event.name)

    def passes_incomplete(
        self, passes: Sequence[IncompletePass], error: BaseException | None
    ) -> None:
        self.incomplete.append([p.name for p in passes])
        self.errors.append(error)

    def callback_mismatch(self, actual: str, expected: str | None) -> None:
        self.mismatches.append((actual, expected))


def make_pass(name: str, body: Callable[[Any], object] = lambda mod: None) -> Any:
    def run(mod: Any, ctx: Any) -> Any:
        body(mod)
        return mod

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def fail(mod: Any) -> None:
    raise ValueError("tile 24 is not a multiple of 16")


def compile_with(instruments: Sequence[Any], *passes: Any) -> None:
    with PassContext(instruments=list(instruments)):
        for each in passes:
            each(tvm.IRModule({}))


def numbers(log: Log) -> list[tuple[str, int, int, int | None]]:
    return [(e.name, e.sequence, e.depth, e.parent_sequence) for e in log.events]


def test_nested_pipeline_gives_nested_events() -> None:
    log = Log()
    inner = tvm.transform.Sequential([make_pass("Split"), make_pass("Fold")], name="inner")
    outer = make_pass("Outer", inner)

    compile_with([StackedPassInstrument(log)], outer, make_pass("Last"))

    assert numbers(log) == [
        ("Outer", 0, 0, None),
        ("inner", 1, 1, 0),
        ("Split", 2, 2, 1),
        ("Fold", 3, 2, 1),
        ("Last", 4, 0, None),
    ]
    assert log.finished == ["Split", "Fold", "inner", "Outer", "Last"]
    assert (log.incomplete, log.mismatches, log.exits) == ([], [], 1)


def test_names_of_events_are_plain_strings() -> None:
    # TVM hands over a string type of its own for all but the shortest names.
    log = Log()

    compile_with([StackedPassInstrument(log)], make_pass("A"), make_pass("LowerThreadAllreduce"))

    assert [type(event.name) for event in log.events] == [str, str]


def test_failing_pass_and_those_around_it_are_incomplete_with_the_exception() -> None:
    log = Log()
    pipeline = tvm.transform.Sequential([make_pass("Fine"), make_pass("Boom", fail)], name="build")

    with pytest.raises(ValueError, match="tile 24") as raised:
        compile_with([StackedPassInstrument(log)], pipeline)

    assert log.incomplete == [["build", "Boom"]]
    assert log.finished == ["Fine"]
    assert str(log.errors[0]) == str(raised.value)
    assert log.exits == 1
    assert active_stacked_pass_instruments() == ()


def test_failure_that_an_outer_pass_catches_is_found_at_the_end_of_that_pass() -> None:
    log = Log()
    attempt = make_pass("Attempt", fail)

    def tune(mod: Any) -> None:
        with pytest.raises(ValueError, match="tile 24"):
            attempt(mod)

    compile_with([StackedPassInstrument(log)], make_pass("Tune", tune), make_pass("Last"))

    assert log.mismatches == [("Tune", "Attempt")]
    assert log.incomplete == [["Tune", "Attempt"]]
    assert isinstance(log.errors[0], RuntimeError)
    assert log.finished == ["Last"]
    assert numbers(log)[-1] == ("Last", 2, 0, None)


def test_observer_that_raises_before_a_pass_fails_the_compile_and_the_pass_does_not_run() -> None:
    log = Log(raise_in="started")
    ran: list[Any] = []

    with pytest.raises(KeyError, match="started"):
        compile_with([StackedPassInstrument(log)], make_pass("A", ran.append))

    assert ran == []
    assert log.incomplete == [["A"]]
    assert isinstance(log.errors[0], KeyError)


@pytest.mark.parametrize("call", ["enter", "exit"])
def test_observer_that_raises_for_a_context_leaves_no_instrument_active(call: str) -> None:
    other = StackedPassInstrument(Log())

    with pytest.raises(KeyError, match=call):
        compile_with([other, StackedPassInstrument(Log(raise_in=call))])

    assert active_stacked_pass_instruments() == ()


def test_active_instruments_are_those_of_the_current_context() -> None:
    a, b, c = (StackedPassInstrument(Log()) for _ in range(3))
    seen = []

    def look(mod: Any = None) -> None:
        seen.append(active_stacked_pass_instruments())

    with PassContext(instruments=[a, b]):
        look()
        with PassContext(instruments=[c, a]):
            make_pass("Look", look)(tvm.IRModule({}))
            with PassContext():
                look()
        look()
    look()

    assert seen == [(a, b), (c, a), (), (a, b), ()]


def test_active_instruments_are_told_while_contexts_are_entered_and_left() -> None:
    seen: list[list[str]] = []

    class Looking(PassEventObserver):
        def __init__(self, name: str) -> None:
            self.name = name

        def look(self) -> None:
            active = active_stacked_pass_instruments()
            seen.append([instrument.observer.name for instrument in active])  # type: ignore[attr-defined]

        enter_pass_context = look
        exit_pass_context = look

    compile_with([StackedPassInstrument(Looking("a")), StackedPassInstrument(Looking("b"))])

    assert seen == [["a"], ["a", "b"], ["a", "b"], ["b"]]


def test_replaced_instruments_are_not_active_and_their_open_passes_are_given_up() -> None:
    log, next_log = Log(), Log()
    old, new = StackedPassInstrument(log), StackedPassInstrument(next_log)

    def replace(mod: Any) -> None:
        PassContext.current().override_instruments([new])
        assert active_stacked_pass_instruments() == (new,)

    compile_with([old], make_pass("Replace", replace), make_pass("Last"))

    assert (log.incomplete, log.exits) == ([["Replace"]], 1)
    assert next_log.mismatches == [("Replace", None)]
    assert numbers(next_log) == [("Last", 0, 0, None)]


def test_context_entered_inside_itself_keeps_the_outer_passes() -> None:
    log = Log()
    context = PassContext(instruments=[StackedPassInstrument(log)])
    inner = make_pass("Inner")

    def enter_again(mod: Any) -> None:
        with context:
            inner(mod)

    with context:
        tvm.transform.Sequential(
            [make_pass("Again", enter_again), make_pass("Last")], name="build"
        )(tvm.IRModule({}))

    assert numbers(log) == [
        ("build", 0, 0, None),
        ("Again", 1, 1, 0),
        ("Inner", 0, 0, None),
        ("Last", 2, 1, 0),
    ]
    assert log.finished == ["Inner", "Again", "Last", "build"]
    assert (log.incomplete, log.mismatches, log.exits) == ([], [], 2)


def test_threads_that_share_an_instrument_do_not_mix() -> None:
    log = Log()
    instrument = StackedPassInstrument(log)
    in_step = threading.Barrier(2, timeout=10)

    def compile_kernel(name: str) -> None:
        inner = make_pass(f"{name}.inner", lambda mod: in_step.wait())

        def outer(mod: Any) -> None:
            in_step.wait()
            inner(mod)
            in_step.wait()

        compile_with([instrument], make_pass(name, outer))

    threads = [threading.Thread(target=compile_kernel, args=(name,)) for name in ("A", "B")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers(log)) == [
        ("A", 0, 0, None),
        ("A.inner", 1, 1, 0),
        ("B", 0, 0, None),
        ("B.inner", 1, 1, 0),
    ]
    assert (log.incomplete, log.mismatches, log.exits) == ([], [], 2)


def test_phase_around_a_pass_is_in_its_event() -> None:
    log = Log()
    fold = make_pass("Fold")

    def lower(mod: Any) -> None:
        with pass_phase("split"):
            fold(mod)

    with pass_phase("lower"):
        compile_with([StackedPassInstrument(log)], make_pass("Lower", lower))

    assert [(e.name, e.phase) for e in log.events] == [("Lower", "lower"), ("Fold", "split")]


def test_class_derived_by_a_user_may_decide_which_passes_run() -> None:
    log = Log()

    class Skipping(StackedPassInstrument):
        def __init__(self, skip: str) -> None:
            super().__init__(log)
            self.skip = skip

        def should_run(self, mod: Any, info: Any) -> bool:
            return bool(info.name != self.skip)

    skipping = Skipping("B")
    compile_with([skipping], make_pass("A"), make_pass("B"))

    assert isinstance(skipping, tvm.ir.instrument.PassInstrument)
    assert log.finished == ["A"]


def test_class_derived_by_a_user_may_carry_the_decorator_of_tvm() -> None:
    log = Log()

    @tvm.ir.instrument.pass_instrument
    class Decorated(StackedPassInstrument):
        def __init__(self) -> None:
            super().__init__(log)

    compile_with([Decorated()], make_pass("A"))

    assert log.finished == ["A"]
