"""Times every pass of a compile and reports where the time went, as text for people.

    timing = TileLangPassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing.instrument]):
        tvm.compile(mod, target="llvm")
    print(timing.report())

Inclusive time is the time between the begin and the end of a pass; self time is the part of it in
which no other pass ran inside. Both come from a monotonic clock; they are seconds in the API and
milliseconds in the report.

What other instruments of the context do after a pass counts as part of the pass if they stand
before this one, so put this one first, as `build_pass_instruments` does. What they do before a pass
counts if they stand behind it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilelang_trace.events import (
    IncompletePass,
    PassEvent,
    PassEventObserver,
    StackedPassInstrument,
)
from tilelang_trace.kernel_label import kernel_label
from tilelang_trace.pairing import unwind

logger = logging.getLogger(__name__)

_SLOWEST = 10


@dataclass(frozen=True, slots=True)
class PassTimingRecord:
    """One run of one pass.

    `duration_s` is the inclusive and `self_duration_s` the self time, in seconds. `depth` is the
    number of passes that were running around it. `sequence` counts the passes in the order in which
    they began. `kernel` names what was compiled (see `kernel_label`), "" if that is unknown.
    """

    name: str
    duration_s: float
    depth: int
    self_duration_s: float = 0.0
    sequence: int = 0
    kernel: str = ""


class TileLangPassTimingInstrument:
    """Times the passes of the PassContexts that its `instrument` is added to.

    The times of a context stay readable after it; entering the next one starts anew. A context
    entered inside another one of this instrument belongs to that: its passes stand in the same
    tree. With several threads each has its own times and reads those; a thread that has none reads
    those of the context that was entered last.

    Passes that didn't end, because they or a pass inside failed, are kept apart from `records`, in
    `incomplete_records`, with the time until the failure.
    """

    def __init__(self, threshold_ms: float = 0.0) -> None:
        """Time passes; the report leaves out those of an inclusive time under `threshold_ms`."""
        self.threshold_ms = threshold_ms
        # TVM never frees an instrument: what it holds this way is the observer, not this object.
        self._observer = _TimingObserver()
        self._instrument = StackedPassInstrument(
            self._observer, sequence_allocator=self._observer.next_sequence
        )

    @property
    def instrument(self) -> StackedPassInstrument:
        """The TVM instrument, for `PassContext(instruments=[...])`."""
        return self._instrument

    @property
    def records(self) -> list[PassTimingRecord]:
        """The passes that ended, in the order in which they began, whatever the threshold."""
        return sorted(self._observer.latest().complete, key=_by_sequence)

    @property
    def incomplete_records(self) -> list[PassTimingRecord]:
        """The passes that didn't end, as `records`, with their time until the failure."""
        return sorted(self._observer.latest().incomplete, key=_by_sequence)

    @property
    def total_duration_s(self) -> float:
        """The time of the outermost passes that ended, in seconds."""
        return sum(record.duration_s for record in self.records if record.depth == 0)

    def report(self, context: str | None = None) -> str:
        """The times as text: the ten slowest passes by self time, then all of them as a tree.

        `context` says what was compiled and stands in the first line.
        """
        run = self._observer.latest()
        return render_report(run.complete, run.incomplete, run.failures, self.threshold_ms, context)

    def print_report(self, context: str | None = None) -> None:
        """Log the report as one message of level INFO."""
        logger.info("%s", self.report(context))


def build_pass_instruments(
    base_instruments: Iterable[Any], threshold_ms: float | None
) -> tuple[list[Any], TileLangPassTimingInstrument | None]:
    """The instruments for a PassContext with timing, and the timing to read afterwards.

    The timing comes first, so that what the others do after a pass isn't counted as part of that
    pass. If `threshold_ms` is None, nothing is timed: the instruments come back as they are, in a
    list, with None.
    """
    instruments = list(base_instruments)
    if threshold_ms is None:
        return instruments, None
    timing = TileLangPassTimingInstrument(threshold_ms)
    return [timing.instrument, *instruments], timing


@contextmanager
def report_pass_timing_on_exit(
    timing_instrument: TileLangPassTimingInstrument | None, context: str | None
) -> Generator[None, None, None]:
    """Log the report when the `with` block is left, also when the compile in it fails.

    The PassContext belongs inside this block: passes that failed are known as such when it has been
    left. With None in place of a timing nothing is done.
    """
    try:
        yield
    finally:
        if timing_instrument is not None:
            timing_instrument.print_report(context)


@dataclass(slots=True)
class _OpenPass:
    """A pass that is running. Times are nanoseconds of the monotonic clock."""

    name: str
    sequence: int
    depth: int
    kernel: str
    start_ns: int = 0
    inner_ns: int = 0  # inclusive time of the passes directly inside that are over

    def record(self, end_ns: int) -> PassTimingRecord:
        inclusive_ns = end_ns - self.start_ns
        return PassTimingRecord(
            name=self.name,
            duration_s=inclusive_ns / 1e9,
            depth=self.depth,
            self_duration_s=(inclusive_ns - self.inner_ns) / 1e9,
            sequence=self.sequence,
            kernel=self.kernel,
        )


@dataclass(slots=True)
class _Run:
    """An outermost context and all contexts entered inside it, on one thread."""

    complete: list[PassTimingRecord] = field(default_factory=list)
    incomplete: list[PassTimingRecord] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    open: list[_OpenPass] = field(default_factory=list)
    next_sequence: int = 0
    # One for each context that is entered, innermost last; None until its first pass.
    kernels: list[str | None] = field(default_factory=list)

    def kernel(self, mod: Any) -> str:
        """The label for a pass on `mod`: that of its context's first module, as it costs time."""
        if not self.kernels:
            return ""
        label = self.kernels[-1]
        if label is None:
            label = self.kernels[-1] = kernel_label(mod)
        return label

    def end(self, opened: _OpenPass, end_ns: int) -> PassTimingRecord:
        """The record of a pass just taken off `open`; its time is inner time of the one around."""
        if self.open:
            self.open[-1].inner_ns += end_ns - opened.start_ns
        return opened.record(end_ns)


class _ThreadRun(threading.local):
    """The latest run of the current thread."""

    def __init__(self) -> None:
        self.run: _Run | None = None


class _TimingObserver(PassEventObserver):
    """Measures passes into the run of the thread they come on."""

    def __init__(self) -> None:
        self._thread = _ThreadRun()
        self._last = _Run()  # of any thread

    def latest(self) -> _Run:
        """The run to report: the latest of this thread, else of any."""
        return self._thread.run or self._last

    def next_sequence(self) -> int:
        run = self._current()
        run.next_sequence += 1
        return run.next_sequence - 1

    def enter_pass_context(self) -> None:
        if not self._current().kernels:
            self._start_run()
        self._current().kernels.append(None)

    def exit_pass_context(self) -> None:
        kernels = self._current().kernels
        if kernels:
            kernels.pop()

    def pass_started(self, mod: Any, event: PassEvent) -> _OpenPass:
        run = self._current()
        # The depth of the event restarts in a context inside another; the depth in the run doesn't.
        opened = _OpenPass(event.name, event.sequence, len(run.open), run.kernel(mod))
        run.open.append(opened)
        opened.start_ns = time.monotonic_ns()
        return opened

    def pass_finished(self, mod: Any, event: PassEvent, state: _OpenPass) -> None:
        end_ns = time.monotonic_ns()
        run = self._current()
        unwind(run.open, state.depth)
        run.complete.append(run.end(state, end_ns))

    def passes_incomplete(
        self, passes: Sequence[IncompletePass], error: BaseException | None
    ) -> None:
        end_ns = time.monotonic_ns()
        run = self._current()
        for given_up in reversed(passes):  # from the inside, so that each knows its inner time
            opened = given_up.state
            if opened is None:  # Ctrl-C came while it began
                continue
            unwind(run.open, opened.depth)
            run.incomplete.append(run.end(opened, end_ns))
        run.failures.append(f"{passes[-1].name} did not end: {_first_line(error)}")

    def _current(self) -> _Run:
        return self._thread.run or self._start_run()

    def _start_run(self) -> _Run:
        self._thread.run = self._last = _Run()
        return self._last


def _by_sequence(record: PassTimingRecord) -> int:
    return record.sequence


def _first_line(error: BaseException | None) -> str:
    if error is None:
        return "the reason is not known"
    try:
        lines = str(error).splitlines()
    except Exception:  # the text is made by code of others
        lines = []
    return ": ".join([type(error).__name__, *lines[:1]])


def render_report(
    complete: Sequence[PassTimingRecord],
    incomplete: Sequence[PassTimingRecord],
    failures: Sequence[str],
    threshold_ms: float = 0.0,
    context: str | None = None,
) -> str:
    """The report of these passes as text, wherever they were measured.

    `failures` are lines that say what went wrong, for above the tables. For the rest see
    `TileLangPassTimingInstrument.report`, which gives such a report of its own passes.
    """
    # An incomplete pass is what the report is read for after a failure: no threshold hides it.
    unfinished = {record.sequence for record in incomplete}
    records = sorted([*complete, *incomplete], key=_by_sequence)
    shown = [
        record
        for record in records
        if record.sequence in unfinished or record.duration_s * 1e3 >= threshold_ms
    ]
    slowest = sorted(shown, key=lambda record: -record.self_duration_s)[:_SLOWEST]

    lines = [_title(records, len(incomplete), context), *failures]
    if shown:
        lines += ["", f"Slowest {len(slowest)} by self time", _HEADER]
        lines += [_row(record, unfinished) for record in slowest]
        lines += ["", "All passes, in the order in which they began", _HEADER]
        lines += [_row(record, unfinished, indent=2 * record.depth) for record in shown]
    if hidden := len(records) - len(shown):
        lines += ["", f"{_passes(hidden)} under {threshold_ms:g} ms not shown"]
    return "\n".join(lines)


def _title(records: list[PassTimingRecord], incomplete: int, context: str | None) -> str:
    kernels = ", ".join(dict.fromkeys(record.kernel for record in records if record.kernel))
    parts = [
        "Pass timing",
        f" of {kernels}" if kernels else "",
        f" ({context})" if context else "",
        f": {_passes(len(records))}",
    ]
    if records:
        outermost_s = sum(record.duration_s for record in records if record.depth == 0)
        parts.append(f" in {outermost_s * 1e3:.3f} ms")
    if incomplete:
        parts.append(f", {incomplete} incomplete")
    return "".join(parts)


# The name comes last and whole: long ones that differ only at their end must stay different.
_HEADER = f"{'self ms':>12}{'inclusive ms':>14}{'number':>8}  pass"


def _row(record: PassTimingRecord, incomplete: set[int], indent: int = 0) -> str:
    times = f"{record.self_duration_s * 1e3:12.3f}{record.duration_s * 1e3:14.3f}"
    mark = "  (incomplete)" if record.sequence in incomplete else ""
    return f"{times}{record.sequence:8}  {' ' * indent}{record.name}{mark}"


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes"
