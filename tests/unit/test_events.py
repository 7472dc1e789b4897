"""What a StackedPassInstrument makes of TVM's callbacks. They are called by hand, without TVM."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fake_tvm import fake_tvm
from tilelang_trace.events import (
    IncompletePass,
    PassEvent,
    PassEventObserver,
    StackedPassInstrument,
    active_stacked_pass_instruments,
    current_pass_phase,
    pass_phase,
)


@pytest.fixture(autouse=True)
def tvm(monkeypatch: pytest.MonkeyPatch) -> Any:
    return fake_tvm(monkeypatch)


def isolated(test: Callable[..., None]) -> Callable[..., None]:
    """Run the test in a context of its own: what it leaves open can't be seen in another one."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        contextvars.copy_context().run(test, *args, **kwargs)

    return run


class Log(PassEventObserver):
    """Notes every call as one line, and raises in the one it is told to."""

    def __init__(self, raise_in: str = "") -> None:
        self.lines: list[str] = []
        self.events: list[PassEvent] = []
        self.incomplete: list[IncompletePass] = []
        self.errors: list[BaseException | None] = []
        self.raise_in = raise_in

    def note(self, call: str, *details: object) -> None:
        self.lines.append(" ".join([call, *map(str, details)]))
        if call == self.raise_in:
            raise KeyError(call)

    def enter_pass_context(self) -> None:
        self.note("enter")

    def exit_pass_context(self) -> None:
        self.note("exit")

    def pass_started(self, mod: Any, event: PassEvent) -> str:
        self.events.append(event)
        self.note("started", event.name, mod)
        return f"state of {event.name}"

    def pass_finished(self, mod: Any, event: PassEvent, state: Any) -> None:
        self.note("finished", event.name, mod, f"({state})")

    def passes_incomplete(
        self, passes: Sequence[IncompletePass], error: BaseException | None
    ) -> None:
        self.incomplete += passes
        self.errors.append(error)
        self.note("incomplete", *(p.name for p in passes))

    def callback_mismatch(self, actual: str, expected: str | None) -> None:
        self.note("mismatch", actual, expected)


def drive(instrument: StackedPassInstrument, script: str) -> None:
    """Call it as TVM does: `[` and `]` enter and exit, `+A` and `-A` begin and end the pass A."""
    for step in script.split():
        if step == "[":
            instrument.enter_pass_ctx()
        elif step == "]":
            instrument.exit_pass_ctx()
        elif step[0] == "+":
            instrument.run_before_pass(f"before-{step[1:]}", SimpleNamespace(name=step[1:]))
        else:
            instrument.run_after_pass(f"after-{step[1:]}", SimpleNamespace(name=step[1:]))


def numbers(log: Log) -> list[tuple[str, int, int, int | None]]:
    return [(e.name, e.sequence, e.depth, e.parent_sequence) for e in log.events]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def instrument(log: Log) -> StackedPassInstrument:
    return StackedPassInstrument(log)


# Pairing, numbering, depth and parents


@isolated
def test_passes_are_numbered_as_they_begin_and_know_their_depth_and_parent(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A +B +C -C -B +D -D -A +E -E ]")

    assert numbers(log) == [
        ("A", 0, 0, None),
        ("B", 1, 1, 0),
        ("C", 2, 2, 1),
        ("D", 3, 1, 0),
        ("E", 4, 0, None),
    ]


@isolated
def test_end_of_a_pass_comes_with_its_result_and_its_state(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A +B -B -A ]")

    assert log.lines == [
        "enter",
        "started A before-A",
        "started B before-B",
        "finished B after-B (state of B)",
        "finished A after-A (state of A)",
        "exit",
    ]


@isolated
def test_pending_events_are_the_open_observed_passes_outermost_first(log: Log) -> None:
    instrument = StackedPassInstrument(log, capture_predicate=lambda name, depth: name != "B")

    drive(instrument, "[ +A +B +C")
    assert instrument.pending_events == tuple(log.events)
    assert [event.name for event in instrument.pending_events] == ["A", "C"]

    drive(instrument, "-C -B -A")
    assert instrument.pending_events == ()


@isolated
def test_numbering_restarts_with_every_context(instrument: StackedPassInstrument, log: Log) -> None:
    drive(instrument, "[ +A -A +B -B ] [ +C -C ]")

    assert [(e.name, e.sequence) for e in log.events] == [("A", 0), ("B", 1), ("C", 0)]


@isolated
def test_sequence_allocator_numbers_observed_passes_across_contexts(log: Log) -> None:
    allocator = iter(range(40, 50)).__next__
    instrument = StackedPassInstrument(
        log, sequence_allocator=allocator, capture_predicate=lambda name, depth: name != "hidden"
    )

    drive(instrument, "[ +A +hidden -hidden -A ] [ +B -B ]")

    assert [(e.name, e.sequence) for e in log.events] == [("A", 40), ("B", 41)]


@isolated
def test_hidden_pass_counts_for_depth_but_is_no_parent_and_has_no_number(log: Log) -> None:
    instrument = StackedPassInstrument(log, capture_predicate=lambda name, depth: name != "hidden")

    drive(instrument, "[ +A +hidden +hidden +B -B -hidden -hidden -A +hidden +C -C -hidden ]")

    assert numbers(log) == [("A", 0, 0, None), ("B", 1, 3, 0), ("C", 2, 1, None)]
    assert [line.split()[0] for line in log.lines].count("finished") == 3
    assert not [line for line in log.lines if line.startswith(("mismatch", "incomplete"))]


@isolated
def test_without_capture_nested_only_outermost_passes_are_observed(log: Log) -> None:
    instrument = StackedPassInstrument(log, capture_nested=False)

    drive(instrument, "[ +A +B +A -A -B -A +C -C ]")

    assert numbers(log) == [("A", 0, 0, None), ("C", 1, 0, None)]
    assert log.lines[-2:] == ["finished C after-C (state of C)", "exit"]
    assert not [line for line in log.lines if line.startswith(("mismatch", "incomplete"))]


@isolated
def test_capture_predicate_is_asked_only_about_passes_that_capture_nested_leaves(log: Log) -> None:
    asked: list[tuple[str, int]] = []

    def predicate(name: str, depth: int) -> bool:
        asked.append((name, depth))
        return True

    drive(StackedPassInstrument(log, capture_predicate=predicate), "[ +A +B -B -A ]")
    assert asked == [("A", 0), ("B", 1)]

    asked.clear()
    drive(
        StackedPassInstrument(log, capture_predicate=predicate, capture_nested=False),
        "[ +A +B -B -A ]",
    )
    assert asked == [("A", 0)]


# Passes that don't end


@isolated
def test_end_out_of_turn_is_a_mismatch_and_gives_up_all_open_passes(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A +B +C -B")

    assert log.lines[-2:] == ["mismatch B C", "incomplete A B C"]
    assert isinstance(log.errors[0], RuntimeError)
    assert str(log.errors[0]) == "the end of pass 'B' was reported inside pass 'C'"
    assert instrument.pending_events == ()

    drive(instrument, "-A +D -D ]")
    assert log.lines[-4:] == [
        "mismatch A None",
        "started D before-D",
        "finished D after-D (state of D)",
        "exit",
    ]
    assert numbers(log)[-1] == ("D", 3, 0, None)


@isolated
def test_end_without_an_open_pass_is_a_mismatch_and_nothing_else(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ -A ]")

    assert log.lines == ["enter", "mismatch A None", "exit"]


@isolated
def test_abort_returns_the_open_passes_outermost_first_and_tells_the_observer_once(
    log: Log,
) -> None:
    instrument = StackedPassInstrument(log, capture_predicate=lambda name, depth: name != "hidden")
    drive(instrument, "[ +A +hidden +B")
    error = ValueError("tile")

    passes = instrument.abort(error)

    a, b = log.events
    assert passes == (
        IncompletePass("A", 0, a, "state of A"),
        IncompletePass("hidden", 1, None, None),
        IncompletePass("B", 2, b, "state of B"),
    )
    assert log.incomplete == list(passes)
    assert log.errors == [error]
    assert instrument.abort(error) == ()
    drive(instrument, "]")
    assert log.errors == [error]


@isolated
def test_exit_gives_up_open_passes_before_the_observer_is_told_of_it(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A +B ]")

    assert log.lines[-2:] == ["incomplete A B", "exit"]
    assert log.errors == [None]


@isolated
def test_error_at_exit_is_the_exception_that_ends_the_context(
    instrument: StackedPassInstrument, log: Log
) -> None:
    error = ValueError("tile")
    drive(instrument, "[ +A")
    try:
        raise error
    except ValueError:
        drive(instrument, "]")

    assert log.errors == [error]


@isolated
def test_error_handled_before_the_context_was_entered_is_not_blamed(
    instrument: StackedPassInstrument, log: Log
) -> None:
    try:
        raise ValueError("an earlier attempt")
    except ValueError:
        drive(instrument, "[ +A ]")

    assert log.errors == [None]


# Observers, and other code of users, that raise


@isolated
def test_pass_whose_begin_the_observer_refuses_stays_open_and_is_given_up_without_state() -> None:
    log = Log(raise_in="started")
    instrument = StackedPassInstrument(log)
    drive(instrument, "[")
    with pytest.raises(KeyError):
        drive(instrument, "+A")

    drive(instrument, "]")

    assert log.incomplete == [IncompletePass("A", 0, log.events[0], None)]


@isolated
@pytest.mark.parametrize("option", ["capture_predicate", "sequence_allocator", "phase_provider"])
def test_pass_is_paired_also_when_an_option_raises(log: Log, option: str) -> None:
    def fail(*args: object) -> Any:
        raise KeyError(option)

    options: dict[str, Any] = {option: fail}
    instrument = StackedPassInstrument(log, **options)
    drive(instrument, "[")
    with pytest.raises(KeyError):
        drive(instrument, "+A")

    drive(instrument, "-A ]")

    assert log.lines == ["enter", "exit"]


@isolated
def test_open_passes_are_given_up_also_when_the_observer_raises_at_the_mismatch() -> None:
    log = Log(raise_in="mismatch")
    instrument = StackedPassInstrument(log)

    with pytest.raises(KeyError):
        drive(instrument, "[ +A +B -A")

    assert log.lines[-1] == "incomplete A B"
    assert instrument.pending_events == ()


@isolated
def test_observer_is_told_of_the_exit_also_when_it_raises_at_the_open_passes() -> None:
    log = Log(raise_in="incomplete")
    instrument = StackedPassInstrument(log)

    with pytest.raises(KeyError):
        drive(instrument, "[ +A ]")

    assert log.lines[-2:] == ["incomplete A", "exit"]
    assert active_stacked_pass_instruments() == ()


@isolated
@pytest.mark.parametrize(("raise_in", "script"), [("enter", "["), ("exit", "[ ]")])
def test_context_the_observer_raises_for_is_left_and_the_outer_one_goes_on(
    raise_in: str, script: str
) -> None:
    log = Log()
    instrument = StackedPassInstrument(log)
    drive(instrument, "[ +A")
    log.raise_in = raise_in
    with pytest.raises(KeyError):
        drive(instrument, script)
    log.raise_in = ""

    drive(instrument, "+B -B -A ]")

    assert numbers(log) == [("A", 0, 0, None), ("B", 1, 1, 0)]
    assert active_stacked_pass_instruments() == ()


# One instrument in several contexts and threads


@isolated
def test_instrument_entered_inside_itself_keeps_the_outer_passes_and_numbering(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A +B [ +X -X +Y ] -B +C -C -A ]")

    assert numbers(log) == [
        ("A", 0, 0, None),
        ("B", 1, 1, 0),
        ("X", 0, 0, None),
        ("Y", 1, 0, None),
        ("C", 2, 1, 0),
    ]
    assert [p.name for p in log.incomplete] == ["Y"]
    assert not [line for line in log.lines if line.startswith("mismatch")]


@isolated
def test_exit_without_an_entry_does_no_harm(instrument: StackedPassInstrument, log: Log) -> None:
    drive(instrument, "] [ +A -A ] ]")

    assert numbers(log) == [("A", 0, 0, None)]


@isolated
def test_threads_that_share_an_instrument_do_not_mix(
    instrument: StackedPassInstrument, log: Log
) -> None:
    in_step = threading.Barrier(2, timeout=10)
    pending: dict[str, list[str]] = {}

    def compile_kernel(name: str) -> None:
        for step in ("[", f"+{name}1", f"+{name}2", f"-{name}2", f"-{name}1", "]"):
            in_step.wait()
            drive(instrument, step)
            if step == f"+{name}2":
                in_step.wait()
                pending[name] = [event.name for event in instrument.pending_events]

    threads = [threading.Thread(target=compile_kernel, args=(name,)) for name in ("A", "B")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers(log)) == [
        ("A1", 0, 0, None),
        ("A2", 1, 1, 0),
        ("B1", 0, 0, None),
        ("B2", 1, 1, 0),
    ]
    assert pending == {"A": ["A1", "A2"], "B": ["B1", "B2"]}
    assert [line.split()[0] for line in log.lines].count("finished") == 4


# Which instruments are active


@isolated
@pytest.mark.parametrize("first_out", ["first in", "last in"])
def test_active_instruments_are_those_entered_and_not_left_in_either_order(first_out: str) -> None:
    first, last = StackedPassInstrument(Log()), StackedPassInstrument(Log())
    assert active_stacked_pass_instruments() == ()
    drive(first, "[")
    drive(last, "[")
    assert active_stacked_pass_instruments() == (first, last)

    leaving, staying = (first, last) if first_out == "first in" else (last, first)
    drive(leaving, "]")
    assert active_stacked_pass_instruments() == (staying,)
    drive(staying, "]")
    assert active_stacked_pass_instruments() == ()


@isolated
def test_instrument_entered_twice_is_active_once_and_until_both_are_left(
    instrument: StackedPassInstrument,
) -> None:
    drive(instrument, "[ [")
    assert active_stacked_pass_instruments() == (instrument,)
    drive(instrument, "]")
    assert active_stacked_pass_instruments() == (instrument,)
    drive(instrument, "]")
    assert active_stacked_pass_instruments() == ()


@isolated
def test_instruments_of_another_thread_are_not_active_even_in_a_copy_of_its_context(
    instrument: StackedPassInstrument,
) -> None:
    drive(instrument, "[")
    seen: list[tuple[StackedPassInstrument, ...]] = []
    copied = contextvars.copy_context()

    def look() -> None:
        seen.append(active_stacked_pass_instruments())
        seen.append(copied.run(active_stacked_pass_instruments))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [(), ()]
    assert active_stacked_pass_instruments() == (instrument,)


@isolated
def test_instrument_left_in_a_copied_context_is_not_active_in_the_first_one(
    instrument: StackedPassInstrument,
) -> None:
    drive(instrument, "[")
    contextvars.copy_context().run(drive, instrument, "]")

    assert active_stacked_pass_instruments() == ()


# Phases


@isolated
def test_phases_nest_and_come_back_also_after_exceptions() -> None:
    assert current_pass_phase() is None
    with pass_phase("lower"):
        with pass_phase("split"):
            assert current_pass_phase() == "split"
        assert current_pass_phase() == "lower"
        with pass_phase(None):
            assert current_pass_phase() is None
        with pytest.raises(ValueError, match="tile"), pass_phase("fails"):
            raise ValueError("tile")
        assert current_pass_phase() == "lower"
    assert current_pass_phase() is None


@isolated
def test_phase_belongs_to_its_thread() -> None:
    seen: list[str | None] = []
    with pass_phase("lower"):
        thread = threading.Thread(target=lambda: seen.append(current_pass_phase()))
        thread.start()
        thread.join()

    assert seen == [None]


@isolated
def test_event_has_the_phase_in_which_the_pass_begins(
    instrument: StackedPassInstrument, log: Log
) -> None:
    drive(instrument, "[ +A -A")
    with pass_phase("lower"):
        drive(instrument, "+B")
    drive(instrument, "+C -C -B ]")

    assert [(e.name, e.phase) for e in log.events] == [("A", None), ("B", "lower"), ("C", None)]


@isolated
def test_phase_provider_replaces_the_phase_blocks(log: Log) -> None:
    instrument = StackedPassInstrument(log, phase_provider=lambda: "mine")
    with pass_phase("lower"):
        drive(instrument, "[ +A -A ]")

    assert log.events[0].phase == "mine"


# The classes


def test_events_are_values_that_cannot_be_changed() -> None:
    event = PassEvent(name="A", sequence=1, depth=2, parent_sequence=0, phase=None)

    assert event == PassEvent("A", 1, 2, 0, None)
    assert len({event, PassEvent("A", 1, 2, 0, None)}) == 1
    with pytest.raises(AttributeError):
        event.name = "B"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        IncompletePass("A", 0, event, None).state = 1  # type: ignore[misc]


@isolated
def test_observer_that_overrides_nothing_can_be_used() -> None:
    drive(StackedPassInstrument(PassEventObserver()), "[ +A +B -A -A +C ]")


def test_instance_is_of_both_classes_and_keeps_the_name(
    instrument: StackedPassInstrument, log: Log, tvm: Any
) -> None:
    assert isinstance(instrument, StackedPassInstrument)
    assert isinstance(instrument, tvm.ir.instrument.PassInstrument)
    assert type(instrument).__name__ == "StackedPassInstrument"
    assert repr(instrument) == f"StackedPassInstrument({log!r})"
    assert type(StackedPassInstrument(log)) is type(instrument)


@isolated
def test_users_can_derive_a_class_with_arguments_of_its_own(log: Log, tvm: Any) -> None:
    class Tagged(StackedPassInstrument):
        def __init__(self, tag: str) -> None:
            super().__init__(log, capture_nested=False)
            self.tag = tag

        def run_before_pass(self, mod: Any, info: Any) -> None:
            log.note(self.tag)
            super().run_before_pass(mod, info)

    tagged = Tagged("here")
    drive(tagged, "[ +A +B -B -A ]")

    assert isinstance(tagged, Tagged)
    assert isinstance(tagged, tvm.ir.instrument.PassInstrument)
    assert repr(tagged) == f"Tagged({log!r})"
    assert log.lines.count("here") == 2
    assert numbers(log) == [("A", 0, 0, None)]
