"""What is open in a journal that grows, as it is seen from outside. No TVM."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packet_events import EventPackets
from tests.torn_journals import torn
from tilelang_trace.formats.pftrace.packets import metadata_packet, track_packet
from tilelang_trace.formats.pftrace.reader import read_events
from tilelang_trace.recording import folder
from tilelang_trace.recording.journal import Journal
from tilelang_trace.recording.live.live_journal import LiveJournal, Slice, Thread
from tilelang_trace.recording.live.view import LiveView, longest, span, where
from tilelang_trace.recording.sink import ThreadSink
from tilelang_trace.trace.build import TraceBuilder


class Object:
    """A PassInfo or a PassContext."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def same_as(self, other: object) -> bool:
        return self is other


class Process:
    """A process that records, as far as its journal shows it."""

    def __init__(self, journals: Path, pid: int = 77, phase: str | None = None) -> None:
        self.journal = Journal(journals, pid)
        self.journal.append(track_packet(1, pid << 24, process=(pid, "mlp.py")))
        self._tracks = itertools.count(2)
        self._pid, self._phase = pid, phase

    def thread(self) -> ThreadSink:
        number = next(self._tracks)
        return ThreadSink(
            self.journal,
            number,
            self._pid << 24 | number,
            self._pid << 24,
            self._pid,
            itertools.count().__next__,
            lambda: self._phase,
        )


@pytest.fixture
def view(tmp_path: Path) -> LiveView:
    return LiveView(tmp_path)


def names(view: LiveView) -> list[list[str]]:
    """The open slices of each thread."""
    view.update()
    return [[slice_.name for slice_ in thread.open] for thread in view.threads()]


def test_what_is_open_stays_when_the_packets_of_a_thread_start_anew(
    tmp_path: Path, view: LiveView
) -> None:
    """As they do after an exception that struck in the middle of an event."""
    sink = Process(tmp_path, phase="lower").thread()
    outer, inner = Object("outer"), Object("inner")
    sink.before_pass(None, inner)
    sink.after_pass(None, inner)
    sink.before_pass(None, outer)
    sink._start_packets()
    sink.before_pass(None, inner)
    assert names(view) == [["outer", "inner"]]
    assert [thread.passes for thread in view.threads()] == [1]
    sink.after_pass(None, inner)
    sink.after_pass(None, outer)
    assert names(view) == [[]]
    assert view.passes == 3


def test_what_is_open_is_seen_from_outside_in_with_the_time_of_its_begin(
    tmp_path: Path, view: LiveView
) -> None:
    sink = Process(tmp_path, phase="lower").thread()
    before = time.monotonic_ns()
    sink.enter_context(Object(), {"opt_level": 3}, False)
    sink.before_pass(None, Object("outer"))
    between = time.monotonic_ns()
    sink.before_pass(None, Object("innér"))
    view.update()
    (thread,) = view.threads()
    assert (thread.pid, thread.name, thread.passes) == (77, "MainThread", 0)
    assert [(s.name, s.kind, s.phase) for s in thread.open] == [
        ("PassContext", "context", ""),
        ("outer", "pass", "lower"),
        ("innér", "pass", "lower"),
    ]
    context, outer, inner = (s.begun_ns for s in thread.open)
    assert before <= context <= outer <= between <= inner <= time.monotonic_ns()


def test_passes_that_ended_are_counted_however_they_ended(tmp_path: Path, view: LiveView) -> None:
    sink = Process(tmp_path).thread()
    context, good = Object(), Object("good")
    sink.enter_context(context, {}, False)
    sink.before_pass(None, good)
    sink.after_pass(None, good)
    sink.before_pass(None, Object("bad"))
    assert names(view) == [["PassContext", "bad"]]
    assert view.passes == 1
    sink.exit_context(context, ValueError("expected"))
    tool = sink.open_slice("tool", "nvcc", {"command": ["nvcc"]})
    assert names(view) == [["nvcc"]]
    sink.close_slice(tool, None, {"exit_code": 0})
    assert names(view) == [[]]
    assert (view.passes, view.threads()[0].passes) == (2, 2)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_the_reader_of_traces_finds(
    tmp_path: Path, view: LiveView, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.get_native_id", itertools.count(1).__next__)
    chance = random.Random(seed)
    process = Process(tmp_path)
    sinks = [process.thread() for _ in range(3)]
    open_: list[list[Object]] = [[], [], []]
    ended = 0
    for _ in range(2000):
        which = chance.randrange(3)
        if open_[which] and chance.random() < 0.5:
            sinks[which].after_pass(None, open_[which].pop())
            ended += 1
        else:
            open_[which].append(Object(f"pass {chance.randrange(400)}"))
            sinks[which].before_pass(None, open_[which][-1])
        if chance.random() < 0.05:
            assert names(view) == [[info.name for info in infos] for infos in open_]
    assert names(view) == [[info.name for info in infos] for infos in open_]
    assert view.passes == ended
    reading = read_events(process.journal.path.read_bytes(), TraceBuilder())
    begins = reading.builder.begins
    found = [[s.begun_ns for s in thread.open] for thread in view.threads() if thread.open]
    assert sorted(found) == sorted(
        [begins[row] for row in rows] for rows in reading.unfinished.values()
    )


@pytest.mark.parametrize("head_last", [False, True])
@pytest.mark.parametrize("what", ["begin", "again", "end", "closing"])
def test_a_packet_counts_when_its_last_byte_is_there(
    tmp_path: Path, what: str, head_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilelang_trace.recording.journal.is_alive", lambda path: True)
    (tmp_path / "original").mkdir()
    journal = Journal(tmp_path / "original")
    packets = EventPackets(2, 7)
    journal.append(track_packet(2, 7, thread=(1, 9, "main")))
    journal.append(packets.first())
    journal.append(packets.begin(10, "outer", "pass", {"sequence": 0}))
    long_name = "tirx." + "Simplify" * 8
    begin = packets.begin(300, long_name, "pass", {"sequence": 300, "phase": "lower"})
    if what == "again":
        journal.append(begin)
        journal.append(packets.end(400))
        begin = packets.begin(500, long_name, "pass", {"sequence": 300, "phase": "lower"})
    packet = {
        "begin": begin,
        "again": begin,
        "end": packets.end(900),
        "closing": metadata_packet(1, 5, folder.END, {"how": "closed"}),
    }[what]
    copy = tmp_path / journal.path.name
    live = LiveJournal(copy)

    def state() -> tuple[bool, int, list[str]]:
        return live.ended, live.passes, [s.name for thread in live.threads() for s in thread.open]

    seen = []
    for data in torn(journal, packet, head_last=head_last):
        copy.write_bytes(data[:4096])
        live.update()
        seen.append(state())
    passes = 1 if what == "again" else 0
    assert len(seen) > 2
    assert [n for n, found in enumerate(seen[:-1]) if found != (False, passes, ["outer"])] == []
    assert (
        seen[-1]
        == {
            "begin": (False, passes, ["outer", long_name]),
            "again": (False, passes, ["outer", long_name]),
            "end": (False, 1, []),
            "closing": (True, 0, ["outer"]),
        }[what]
    )


def test_one_that_never_got_its_key_is_passed_by(tmp_path: Path, view: LiveView) -> None:
    process = Process(tmp_path)
    sink = process.thread()
    start = process.journal.start + process.journal.position
    sink.before_pass(None, Object("lost"))
    sink.before_pass(None, Object("kept"))
    with open(process.journal.path, "r+b") as stream:
        stream.seek(start)
        stream.write(b"\x7a")
    view.update()
    assert len(view.threads()[0].open) == 1


def test_only_what_was_appended_is_read(
    tmp_path: Path, view: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(tmp_path)
    sink = process.thread()
    infos = [Object(f"p{number}") for number in range(20_000)]
    for info in infos:
        sink.before_pass(None, info)
        sink.after_pass(None, info)
    sizes: list[int] = []
    take: Callable[[LiveJournal, bytes], tuple[int, int]] = LiveJournal._take

    def noting(journal: LiveJournal, data: bytes) -> tuple[int, int]:
        sizes.append(len(data))
        return take(journal, data)

    monkeypatch.setattr(LiveJournal, "_take", noting)
    view.update()
    assert view.passes == 20_000
    assert sum(sizes) > 1 << 20
    sizes.clear()
    sink.before_pass(None, Object("new"))
    assert names(view) == [["new"]]
    assert sum(sizes) <= 2 << 16


@pytest.mark.parametrize("size", [65_000, 65_536, 66_000, 200_000, 3_000_000])
def test_a_packet_may_be_longer_than_what_is_read_at_a_time(
    tmp_path: Path, view: LiveView, size: int
) -> None:
    process = Process(tmp_path)
    sink = process.thread()
    sink.open_slice("step", "long", {"text": "x" * size})
    assert names(view) == [["long"]]
    sink.before_pass(None, Object("behind"))
    assert names(view) == [["long", "behind"]]


def test_journals_come_and_processes_end(tmp_path: Path, view: LiveView) -> None:
    assert names(view) == []
    first, second = Process(tmp_path, 1), Process(tmp_path, 2)
    one, two = first.thread(), second.thread()
    one.before_pass(None, Object("a"))
    assert names(view) == [["a"], []]
    assert sorted(view.journals().values()) == [1, 2]
    info = Object("b")
    two.before_pass(None, info)
    two.after_pass(None, info)
    second.journal.close(metadata_packet(1, 5, folder.END, {"how": "closed"}))
    assert names(view) == [["a"]]
    first.journal.abandon()  # as if it was killed: the lock is gone
    assert names(view) == []
    assert (view.passes, view.journals()) == (1, {})


def test_a_folder_that_is_removed_has_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.mkdir()
    view = LiveView(path)
    process = Process(path)
    process.thread()
    assert names(view) == [[]]
    process.journal.path.unlink()
    path.rmdir()
    assert names(view) == []


# ------------------------------------------------------------------------------------------ words


def thread(*open_: tuple[str, str, int, str]) -> Thread:
    return Thread(1, 2, "main", tuple(Slice(*slice_) for slice_ in open_), 0)


def test_a_place_is_named_from_outside_in_with_its_phase_and_without_contexts() -> None:
    context = ("PassContext", "context", 0, "")
    outer, inner = ("Lower", "pass", 0, "legalize"), ("Simplify", "pass", 0, "legalize")
    assert where(thread(("gemm", "compile", 0, ""), context, outer, inner)) == (
        "gemm > legalize > Lower > Simplify"
    )
    assert where(thread(context)) == "PassContext"
    assert where(thread(("a\x1b[2J\nb", "pass", 0, ""))) == "a?[2J?b"


def test_of_several_threads_the_one_that_hangs_is_named() -> None:
    waiting = thread(("compile_all", "step", 1, ""))
    slow, fast = thread(("slow", "pass", 5, "")), thread(("fast", "pass", 9, ""))
    assert longest([waiting, fast, slow, thread()]) is slow
    assert longest([waiting, thread()]) is waiting
    assert longest([thread()]) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 ms"),
        (0.85, "850 ms"),
        (0.99999, "1.0 s"),
        (12.34, "12.3 s"),
        (59.99, "1 min 0 s"),
        (3792, "63 min 12 s"),
        (7199.4, "119 min 59 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_times_are_said_as_people_do(seconds: float, text: str) -> None:
    assert span(round(seconds * 1e9)) == text
