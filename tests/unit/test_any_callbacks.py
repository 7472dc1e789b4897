"""Callbacks in any order, on several threads: they give a well-formed tree and lose no finished
pass.

A pass is finished if its after-callback came while it was open: begun, and not given up since.
Passes of equal names are told apart by the recorder, which knows the objects. To a
`StackedPassInstrument`, which knows names only, it is finished if its end comes in turn: what is
open when another comes is given up.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_tvm import Info, fake_tvm
from tests.well_formed import check
from tilelang_trace import pass_timing
from tilelang_trace.events import (
    IncompletePass,
    PassEvent,
    PassEventObserver,
    StackedPassInstrument,
)
from tilelang_trace.pass_timing import TileLangPassTimingInstrument
from tilelang_trace.recording.finish import read_journals
from tilelang_trace.recording.journal import Journal
from tilelang_trace.recording.sink import ThreadSink
from tilelang_trace.trace.arguments import CONTEXT_NAME, OK
from tilelang_trace.trace.model import Trace

THREADS = 2

Script: TypeAlias = "list[tuple[int, tuple[str, int]]]"
"""What comes on which thread: a step, and what it is about."""

# Two passes and two contexts bear one name each: an object may be open twice, and so may a name.
INFOS = (Info("Simplify"), Info("Simplify"), Info("Lower"))
CONTEXTS = (Info(), Info())

_threads = st.integers(0, THREADS - 1)
_passes = st.tuples(st.sampled_from(["before", "after"]), st.integers(0, len(INFOS) - 1))
_contexts = st.tuples(
    st.sampled_from(["enter", "exit", "fail", "detach"]), st.integers(0, len(CONTEXTS) - 1)
)
_others = st.tuples(st.sampled_from(["open", "close", "break", "unwind"]), st.integers(0, 2))
steps = st.lists(
    st.tuples(_threads, st.one_of(_passes, _passes, _contexts, _others)), min_size=12, max_size=40
)


class Expected:
    """What a thread should have recorded: a plain list of what is open, as `OK` or not."""

    def __init__(self) -> None:
        self.open: list[tuple[object, int]] = []
        self.rows: list[list[Any]] = []
        """Name, row of the parent and whether it ended well, of each slice in order of begins."""

    def begin(self, key: object, name: str) -> None:
        self.rows.append([name, self.open[-1][1] if self.open else -1, False])
        self.open.append((key, len(self.rows) - 1))

    def end(self, key: object, *, is_well: bool) -> bool:
        """End the innermost one with this key; what is inside it has not ended well."""
        places = [place for place, (open_, _) in enumerate(self.open) if open_ is key]
        if places:
            self.rows[self.open[places[-1]][1]][2] = is_well
            del self.open[places[-1] :]
        return bool(places)


class Recorded:
    """A thread with its sink, and what is expected of it."""

    def __init__(self, journal: Journal, number: int) -> None:
        numbers = itertools.count()
        self.sink = ThreadSink(
            journal, 2 + number, 2 + number, 1, 5, numbers.__next__, lambda: None
        )
        self.expected = Expected()
        self.others: list[Any] = []
        self.strays = 0

    def step(self, what: str, number: int) -> None:
        sink, expected, error = self.sink, self.expected, ValueError("no")
        if what == "before":
            sink.before_pass(None, INFOS[number])
            expected.begin(INFOS[number], INFOS[number].name)
        elif what == "after":
            sink.after_pass(None, INFOS[number])
            self.strays += not expected.end(INFOS[number], is_well=True)
        elif what == "enter":
            sink.enter_context(CONTEXTS[number], {}, False)
            expected.begin(CONTEXTS[number], CONTEXT_NAME)
        elif what in ("exit", "fail"):
            sink.exit_context(CONTEXTS[number], error if what == "fail" else None)
            expected.end(CONTEXTS[number], is_well=what == "exit")
        elif what == "detach":
            sink.detach(CONTEXTS[number])
            expected.end(CONTEXTS[number], is_well=False)
        elif what == "open":
            self.others.append(sink.open_slice("compile", "kernel", {}))
            expected.begin(self.others[-1], "kernel")
        elif what == "unwind":
            sink.unwind(number, error)
            del expected.open[number:]
        elif self.others:
            opened = self.others.pop(number % len(self.others))
            sink.close_slice(opened, error if what == "break" else None, {})
            expected.end(opened, is_well=what == "close")


@contextmanager
def workers() -> Iterator[list[ThreadPoolExecutor]]:
    """Threads that do what they are given, one thing after the other."""
    with ExitStack() as threads:
        yield [threads.enter_context(ThreadPoolExecutor(1)) for _ in range(THREADS)]


@given(script=steps)
def test_the_recorder(script: Script, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    with workers() as threads:
        sinks = [
            thread.submit(Recorded, journal, number).result()
            for number, thread in enumerate(threads)
        ]
        for number, step in script:
            threads[number].submit(sinks[number].step, *step).result()
    journal.close()
    trace = read_journals(folder)

    check(trace)
    assert not trace.findings
    expected = [recorded.expected.rows for recorded in sinks]
    assert sorted(_rows_by_lane(trace).values()) == sorted(filter(None, expected))
    assert [recorded.sink.strays for recorded in sinks] == [recorded.strays for recorded in sinks]


def _rows_by_lane(trace: Trace) -> dict[int, list[list[Any]]]:
    """As `Expected.rows`, of each lane that has slices."""
    statuses = trace.arguments.values("status")
    found: dict[int, list[list[Any]]] = {}
    first: dict[int, int] = {}
    for row, (lane, parent) in enumerate(
        zip(trace.slices.lane.tolist(), trace.slices.parent.tolist())
    ):
        start = first.setdefault(lane, row)
        place = parent - start if parent >= 0 else -1
        found.setdefault(lane, []).append([trace.name(row), place, statuses[row] == OK])
    return found


# ------------------------------------------------------------------------- the instrument


class Log(PassEventObserver):
    """What came of each pass that was started, by thread and number."""

    def __init__(self) -> None:
        self.started: list[tuple[int, PassEvent]] = []
        self.ended: list[tuple[int, PassEvent, bool]] = []

    def pass_started(self, mod: Any, event: PassEvent) -> Any:
        self.started.append((threading.get_ident(), event))
        return event

    def pass_finished(self, mod: Any, event: PassEvent, state: Any) -> None:
        assert state is event
        self.ended.append((threading.get_ident(), event, True))

    def passes_incomplete(
        self, passes: Sequence[IncompletePass], error: BaseException | None
    ) -> None:
        assert [given_up.depth for given_up in passes] == list(range(len(passes)))
        for given_up in passes:
            assert given_up.event is not None
            self.ended.append((threading.get_ident(), given_up.event, False))


def drive(instrument: StackedPassInstrument, script: Script) -> list[list[bool]]:
    """Call it as scripts say, each thread of them on a thread of its own. At the end all contexts
    are left. Returns for each thread which of its passes finished, in order of begins.
    """
    expected = [[Expected()] for _ in range(THREADS)]
    order: list[list[list[Any]]] = [[] for _ in range(THREADS)]

    def step(thread: int, what: str, number: int) -> None:
        entries, info = expected[thread], SimpleNamespace(name=INFOS[number % 3].name)
        frames = entries[-1].open
        if what == "before":
            instrument.run_before_pass(None, info)
            entries[-1].begin(info, info.name)
            order[thread].append(entries[-1].rows[-1])
        elif what == "after":
            instrument.run_after_pass(None, info)
            if frames and entries[-1].rows[frames[-1][1]][0] == info.name:
                entries[-1].end(frames[-1][0], is_well=True)
            else:
                frames.clear()
        elif what == "enter":
            instrument.enter_pass_ctx()
            entries.append(Expected())
        else:
            instrument.exit_pass_ctx()
            if len(entries) > 1:
                entries.pop()
            else:
                frames.clear()

    with workers() as threads:
        for number, (what, which) in script:
            threads[number].submit(step, number, what, which).result()
        for number in sorted({number for number, _ in script}):
            for _ in range(len(expected[number])):  # one more than it has entered
                threads[number].submit(step, number, "exit", 0).result()
    return [[row[2] for row in rows] for rows in order]


_callbacks = st.tuples(
    st.sampled_from(["before", "before", "after", "after", "enter", "exit"]), st.integers(0, 2)
)
scripts = st.lists(st.tuples(_threads, _callbacks), min_size=12, max_size=40)


@pytest.fixture(scope="module", autouse=True)
def tvm() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        yield fake_tvm(patch)


@given(script=scripts)
def test_the_instrument(script: Script) -> None:
    log = Log()
    finished = drive(
        StackedPassInstrument(log, sequence_allocator=itertools.count().__next__), script
    )

    assert sorted(id(event) for _, event in log.started) == sorted(
        id(event) for _, event, _ in log.ended
    ), "each pass comes back once"
    thread_of = {event.sequence: thread for thread, event in log.started}
    assert all(thread_of[event.sequence] == thread for thread, event, _ in log.ended)
    is_well = {event.sequence: well for _, event, well in log.ended}
    told = [
        [is_well[event.sequence] for by, event in log.started if by == thread]
        for thread in dict.fromkeys(thread for thread, _ in log.started)
    ]
    assert sorted(told) == sorted(filter(None, finished))
    by_number = {event.sequence: event for _, event in log.started}
    for event in by_number.values():
        parent = event.parent_sequence
        assert (parent is None) == (event.depth == 0)
        if parent is not None:
            assert by_number[parent].depth == event.depth - 1
            assert thread_of[parent] == thread_of[event.sequence] and parent < event.sequence


@given(script=scripts)
def test_the_times(script: Script) -> None:
    # A thread reads its own times, those since it last was outside of any context.
    inside = [(0, ("enter", 0))]
    level = 0
    for _, step in script:
        level += {"enter": 1, "exit": -1}.get(step[0], 0)
        if level < 0:
            level = 0
        else:
            inside.append((0, step))
    ticks = itertools.count(step=1_000_000_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pass_timing, "time", SimpleNamespace(monotonic_ns=ticks.__next__))
        timing = TileLangPassTimingInstrument()
        finished = drive(timing.instrument, inside)[0]

    complete, incomplete = timing.records, timing.incomplete_records
    everything = sorted((*complete, *incomplete), key=lambda record: record.sequence)
    assert [record in complete for record in everything] == finished
    assert [record.sequence for record in everything] == list(range(len(finished)))
    for record in everything:
        assert 0 <= record.self_duration_s <= record.duration_s
    outermost = [record.duration_s for record in everything if record.depth == 0]
    assert sum(record.self_duration_s for record in everything) == sum(outermost)
    depths = [record.depth for record in everything]
    assert all(inner <= outer + 1 for outer, inner in zip([-1, *depths], depths))
