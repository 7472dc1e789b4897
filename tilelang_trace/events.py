"""Turns TVM's raw pass callbacks into events that belong together, for observers of any purpose.

TVM tells an instrument that a pass is about to run and that one has run. `StackedPassInstrument`
pairs the two, numbers the passes in the order in which they run, says which pass runs inside which,
and finds the passes that never ended. What to record about a pass is up to a `PassEventObserver`:

    class Printer(PassEventObserver):
        def pass_started(self, mod, event):
            print("  " * event.depth + event.name)

    with tvm.transform.PassContext(instruments=[StackedPassInstrument(Printer())]):
        tvm.compile(mod, target="llvm")

Importing this module doesn't import TVM; making an instrument does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tilelang_trace.pairing import unwind
from tilelang_trace.tvm_binding import TvmPassInstrument, loaded_tvm

CapturePredicate = Callable[[str, int], bool]
"""Decides from (name, depth) whether a pass is shown to the observer."""

SequenceAllocator = Callable[[], int]
"""Gives the number of the next observed pass."""

PHASE: ContextVar[str | None] = ContextVar("tilelang_trace_phase", default=None)
"""The label of `pass_phase`; `current_pass_phase` is how to ask for it."""


@contextmanager
def pass_phase(name: str | None) -> Generator[None, None, None]:
    """Label the passes that begin inside the `with` block as belonging to the phase `name`.

    Blocks nest: the innermost label counts, and the one before is back afterwards, also when the
    block is left by an exception. `None` takes the label off for the block. The label is a context
    variable: a thread started inside the block doesn't have it.
    """
    token = PHASE.set(name)
    try:
        yield
    finally:
        PHASE.reset(token)


def current_pass_phase() -> str | None:
    """The label of the innermost `pass_phase` block around the caller, None outside of any."""
    return PHASE.get()


@dataclass(frozen=True)
class PassEvent:
    """One run of one pass, as it is known when the pass begins.

    `name` is the pass's own name. `sequence` counts the observed passes in the order in which they
    begin. `depth` is the number of passes that were running around this one, whether observed or
    not: 0 is outermost. `parent_sequence` is the sequence of the nearest enclosing pass that is
    observed, None if there is none. `phase` is the phase label at the beginning.
    """

    name: str
    sequence: int
    depth: int
    parent_sequence: int | None
    phase: str | None

    def __init__(
        self, name: str, sequence: int, depth: int, parent_sequence: int | None, phase: str | None
    ) -> None:
        # That of a frozen dataclass takes three times as long, once a pass.
        fields = self.__dict__
        fields["name"] = name
        fields["sequence"] = sequence
        fields["depth"] = depth
        fields["parent_sequence"] = parent_sequence
        fields["phase"] = phase


@dataclass(frozen=True, slots=True)
class IncompletePass:
    """A pass that began and was given up: no after-callback came for it.

    `event` is None for a pass that was hidden from the observer. `state` is what the observer's
    `pass_started` returned for it, None if the pass was hidden or `pass_started` raised.
    """

    name: str
    depth: int
    event: PassEvent | None
    state: Any


class PassEventObserver:
    """What a `StackedPassInstrument` calls. No method does anything; override what is needed.

    Each pass that was given to `pass_started` comes back once: in `pass_finished`, or among the
    passes of `passes_incomplete`. The calls come on the thread that runs the pass, in the order of
    what happens; with several threads they interleave, so an observer used by several keeps its
    data per thread or locks.

    An exception from any method passes through TVM and fails the compile that is being observed.
    """

    def enter_pass_context(self) -> None:
        """A PassContext with this instrument was entered. If this raises, it wasn't."""

    def exit_pass_context(self) -> None:
        """The PassContext was left, normally or by an exception; no pass is open any more.

        If this raises, the context counts as left all the same.
        """

    def pass_started(self, mod: Any, event: PassEvent) -> Any:
        """A pass is about to run on `mod`. The result is handed back as `state` when it ends.

        If this raises, TVM doesn't run the pass and the compile fails. The pass stays open and is
        reported in `passes_incomplete` with the state None, as a pass that fails itself is.
        """

    def pass_finished(self, mod: Any, event: PassEvent, state: Any) -> None:
        """A pass has ended; `mod` is its result."""

    def passes_incomplete(
        self, passes: Sequence[IncompletePass], error: BaseException | None
    ) -> None:
        """The open passes, outermost first, hidden ones too, were given up because of `error`.

        The last one is the nearest to the failure, the others enclose it. `error` is None if the
        reason is not known.
        """

    def callback_mismatch(self, actual: str, expected: str | None) -> None:
        """The end of the pass `actual` was reported where the innermost open pass is `expected`.

        `expected` is None if no pass is open. This happens after a pass has caught the exception of
        a pass it called, and when an instrument is added or replaced while passes run. The open
        passes are given up next.
        """


@dataclass(slots=True)
class _Frame:
    """An open pass. A hidden one has no event."""

    info: Any
    name: str
    event: PassEvent | None = None
    state: Any = None


class _Entry:
    """One entry of one instrument into a PassContext: the frames and the numbering of its own.

    An instrument that is entered again inside itself gets another entry, and has the first back
    unchanged afterwards.
    """

    def __init__(self, instrument: StackedPassInstrument) -> None:
        self.instrument = instrument
        self.frames: list[_Frame] = []
        self.next_sequence = 0
        self.thread = threading.get_ident()
        self.is_open = True
        # The one around: TVM makes a context current only after the callbacks of entering it.
        self.outer_context = loaded_tvm().transform.PassContext.current()
        self.error_at_entry = sys.exc_info()[1]

    def error_at_exit(self) -> BaseException | None:
        """The exception that is ending the `with` block of the context.

        TVM doesn't hand it over, but Python still shows it. One that was being handled already when
        the context was entered (a compile inside an `except` block) is not what ends it.
        """
        error = sys.exc_info()[1]
        return None if error is self.error_at_entry else error


class _ThreadEntries(threading.local):
    """The entries of one instrument on the current thread, innermost last."""

    def __init__(self, instrument: StackedPassInstrument) -> None:
        # Never left: it takes callbacks that come outside of any entered context.
        self.stack = [_Entry(instrument)]


# The open entries of all instruments, in the order in which they were entered.
_open_entries: ContextVar[tuple[_Entry, ...]] = ContextVar(
    "tilelang_trace_open_entries", default=()
)


def active_stacked_pass_instruments() -> tuple[StackedPassInstrument, ...]:
    """The instruments of this kind that are active in the current PassContext of this thread.

    They come in the order in which they were entered, each once. Instruments of an enclosing
    PassContext are not among them, as TVM doesn't call these for passes of an inner context;
    instruments whose `enter_pass_ctx` was called by hand are, until another PassContext is entered.
    """
    thread = threading.get_ident()
    # The context variable alone won't do: a copied context shows entries of another thread, and
    # closed ones.
    entries = [e for e in _open_entries.get() if e.is_open and e.thread == thread]
    if not entries:
        return ()
    context = loaded_tvm().transform.PassContext.current()
    held = list(context.instruments)
    innermost_last: dict[int, StackedPassInstrument] = {}
    for entry in entries:
        instrument = entry.instrument
        if entry.outer_context.same_as(context) or any(other.same_as(instrument) for other in held):
            innermost_last.pop(id(instrument), None)
            innermost_last[id(instrument)] = instrument
    return tuple(innermost_last.values())


class StackedPassInstrument(TvmPassInstrument):
    """A TVM instrument that pairs the callbacks of passes and gives an observer events.

    Use it in `PassContext(instruments=[...])`. One instrument may serve several contexts, also one
    inside the other, and several threads: open passes and numbers are kept for each entry into a
    context.

    A pass whose end is reported out of turn can't be placed any more: then, and when a context is
    left, all open passes are given up (see `abort`). Passes are recognised by name.

    Like every instrument written in Python it is held by TVM until the process ends, and its
    observer with it. An observer that collects much should let go of it when it has been used.
    """

    def __init__(
        self,
        observer: PassEventObserver,
        *,
        capture_nested: bool = True,
        capture_predicate: CapturePredicate | None = None,
        sequence_allocator: SequenceAllocator | None = None,
        phase_provider: Callable[[], str | None] = current_pass_phase,
    ) -> None:
        """Observe passes for `observer`.

        `capture_nested=False` hides all passes but the outermost ones. `capture_predicate` is asked
        about the passes that remain and hides those it says False to. Hidden passes still count for
        depth and still enclose others; they get no number.

        Numbers start at 0 whenever a context is entered. With a `sequence_allocator` they are what
        it returns, so that several contexts, or instruments, can share one numbering.
        `phase_provider` is asked for the phase of each observed pass.
        """
        self.observer = observer
        self.capture_nested = capture_nested
        self.capture_predicate = capture_predicate
        self.sequence_allocator = sequence_allocator
        self.phase_provider = phase_provider
        self._entries = _ThreadEntries(self)
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.observer!r})"

    @property
    def pending_events(self) -> tuple[PassEvent, ...]:
        """The events of the observed passes that are open on this thread, outermost first."""
        frames = self._entries.stack[-1].frames
        return tuple(frame.event for frame in frames if frame.event is not None)

    def enter_pass_ctx(self) -> None:
        """Called by TVM when a PassContext with this instrument is entered."""
        entry = _Entry(self)
        self._entries.stack.append(entry)
        _open_entries.set((*_open_entries.get(), entry))
        try:
            self.observer.enter_pass_context()
        except BaseException:
            self._leave(entry)
            raise

    def exit_pass_ctx(self) -> None:
        """Called by TVM when the PassContext is left. What is still open is given up first."""
        entry = self._entries.stack[-1]
        try:
            try:
                self.abort(entry.error_at_exit())
            finally:
                self.observer.exit_pass_context()
        finally:
            self._leave(entry)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Called by TVM before the pass `info` runs on `mod`."""
        entry = self._entries.stack[-1]
        frames = entry.frames
        depth = len(frames)
        around = frames[-1].event if depth else None
        parent = around.sequence if around is not None else _innermost_sequence(frames)
        name = str(info.name)
        frame = _Frame(info, name)
        # Open before anything that may raise: the pass is then given up like one that fails.
        frames.append(frame)
        if depth and not self.capture_nested:
            return
        if self.capture_predicate is not None and not self.capture_predicate(name, depth):
            return
        if self.sequence_allocator is not None:
            sequence = self.sequence_allocator()
        else:
            sequence = entry.next_sequence
            entry.next_sequence = sequence + 1
        frame.event = event = PassEvent(name, sequence, depth, parent, self.phase_provider())
        frame.state = self.observer.pass_started(mod, event)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Called by TVM after the pass `info`, with its result `mod`."""
        frames = self._entries.stack[-1].frames
        # To ask for the name takes TVM far longer than to see that it is the same object.
        if not (frames and frames[-1].info == info):
            actual = str(info.name)
            expected = frames[-1].name if frames else None
            if actual != expected:
                self._mismatch(actual, expected)
                return
        frame = frames.pop()
        if frame.event is not None:
            self.observer.pass_finished(mod, frame.event, frame.state)

    def abort(self, error: BaseException | None = None) -> tuple[IncompletePass, ...]:
        """Give up the open passes of the innermost context on this thread, because of `error`.

        Returns them outermost first: the last is the nearest to the failure. The observer is told
        in one call, and not at all if none was open. After-callbacks that still come for them are
        mismatches.
        """
        passes = tuple(
            IncompletePass(frame.name, depth, frame.event, frame.state)
            for depth, frame in enumerate(unwind(self._entries.stack[-1].frames))
        )
        if passes:
            self.observer.passes_incomplete(passes, error)
        return passes

    def _mismatch(self, actual: str, expected: str | None) -> None:
        if expected is None:
            problem = f"the end of pass {actual!r} was reported while no pass was open"
        else:
            problem = f"the end of pass {actual!r} was reported inside pass {expected!r}"
        try:
            self.observer.callback_mismatch(actual, expected)
        finally:
            self.abort(RuntimeError(problem))

    def _leave(self, entry: _Entry) -> None:
        stack = self._entries.stack
        if entry is stack[0]:  # an exit without an entry
            return
        stack.remove(entry)
        entry.is_open = False
        _open_entries.set(tuple(e for e in _open_entries.get() if e.is_open))


def _innermost_sequence(frames: list[_Frame]) -> int | None:
    """The number of the innermost frame that has one."""
    for frame in reversed(frames):
        if frame.event is not None:
            return frame.event.sequence
    return None
