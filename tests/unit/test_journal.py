"""The journal: whole packets in a growing file, readable at every moment and after every death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packet_events import EventPackets
from tests.torn_journals import torn
from tests.traces import said
from tilelang_trace.formats.pftrace.numbers import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME
from tilelang_trace.formats.pftrace.packets import clock_packet, metadata_packet, track_packet
from tilelang_trace.formats.pftrace.reader import read, read_events
from tilelang_trace.recording.journal import BLOCK_BYTES, Journal, is_alive
from tilelang_trace.recording.sink import IDENT
from tilelang_trace.trace.build import TraceBuilder


def write_passes(journal: Journal, count: int, name: str = "p") -> None:
    """`count` slices of 1 ns on one thread."""
    packets = EventPackets(2, 7)
    journal.append(track_packet(2, 7, thread=(1, 1, "main")))
    journal.append(packets.first())
    for time in range(count):
        journal.append(
            packets.begin(10 + 2 * time, f"{name}{time % 3}", "pass", {"sequence": time})
        )
        journal.append(packets.end(11 + 2 * time))


def test_what_was_appended_is_in_the_file_while_the_journal_is_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write_passes(journal, 5)
    data = journal.path.read_bytes()
    assert len(data) % BLOCK_BYTES == 0, "whole blocks, so zeros follow the packets"
    trace = read(data).build()
    assert [trace.name(row) for row in range(5)] == ["p0", "p1", "p2", "p0", "p1"]
    assert not trace.findings
    journal.close()


def test_packets_lie_across_blocks(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write_passes(journal, 40_000)
    journal.append(track_packet(2, 8, name="x" * (2 * BLOCK_BYTES + 5)))
    journal.close()
    data = journal.path.read_bytes()
    assert len(data) > 3 * BLOCK_BYTES
    assert len(data) % BLOCK_BYTES, "closing cuts the zeros off"
    trace = read(data).build()
    assert trace.slices.begin.tolist() == list(range(10, 80_010, 2))
    assert not trace.findings


def test_times_are_those_of_the_monotonic_clock(tmp_path: Path) -> None:
    """However far the clocks of the trace are apart: they are never read at one moment."""
    journal = Journal(tmp_path)
    shown = {CLOCK_MONOTONIC: 0, CLOCK_BOOTTIME: 5_000, CLOCK_REALTIME: 10**18}
    journal.append(clock_packet(1, shown))
    journal.append(metadata_packet(1, 0, f"{IDENT}.1", 1))
    packets = EventPackets(2, 7, CLOCK_MONOTONIC)
    journal.append(track_packet(2, 7, thread=(1, 1, "main")))
    journal.append(packets.first())
    journal.append(packets.begin(10, "p", "pass", {}))
    journal.append(packets.end(11))
    journal.close()
    builder = TraceBuilder()
    reading = read_events(journal.path.read_bytes(), builder)
    assert [*builder.begins] == [10]
    assert reading.last_time == 11


PACKETS = {
    "a begin with new names": EventPackets(3, 8).begin(
        300, "a new name " + "x" * 300, "pass", {"sequence": 300, "phase": "lower " * 30}
    ),
    "an end": EventPackets(2, 7).end(10_000),
    "metadata": metadata_packet(1, 5, "tilelang_trace.journal_end", {"how": "closed"}),
}


class TestAPacketThatIsHalfThere:
    """Every reader takes the journal for what it was before, until the packet is whole."""

    @pytest.mark.parametrize("name", PACKETS)
    @pytest.mark.parametrize("head_last", [False, True])
    def test_the_trace_is_that_without_it_or_that_with_it(
        self, tmp_path: Path, name: str, head_last: bool
    ) -> None:
        journal = Journal(tmp_path)
        write_passes(journal, 5)
        journal.append(EventPackets(2, 7).begin(25, "open", "pass", {}))
        journal.append(track_packet(3, 8, thread=(1, 2, "worker")))
        journal.append(EventPackets(3, 8).first())
        without, *half, whole = (
            said(read(data[:4096]).build())
            for data in torn(journal, PACKETS[name], head_last=head_last)
        )
        if name != "metadata":
            assert whole != without
        assert len(half) > 1
        assert [n for n, found in enumerate(half) if found != without] == []

    def test_one_that_was_given_up_is_passed_by(self, tmp_path: Path) -> None:
        """As an exception of a signal's handler may do it, between two instructions."""
        journal = Journal(tmp_path)
        write_passes(journal, 1)
        *_, half, _ = torn(journal, PACKETS["an end"])
        rest = EventPackets(2, 7).begin(50, "goes on", "pass", {})
        data = half[: journal.start + journal.position] + b"\x0a" + rest
        trace = read(data + bytes(100)).build()
        assert [trace.name(row) for row in range(2)] == ["p0", "goes on"]
        assert {finding.rule for finding in trace.findings} == {"never-ended"}


def test_a_page_that_was_read_before_the_next_one_was_written(tmp_path: Path) -> None:
    """Somebody reads a live journal: what follows zeros came later and waits for the next time."""
    journal = Journal(tmp_path)
    write_passes(journal, 3)
    early = journal.path.read_bytes()
    write_passes(journal, 300)
    late = journal.path.read_bytes()
    builder = TraceBuilder()
    read_events(early[:4096] + late[4096:], builder)
    trace = builder.build()
    assert [trace.name(row) for row in range(len(trace.slices))] == ["p0", "p1", "p2"]


def test_a_journal_without_a_lock_is_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be taken for that of a process that died."""
    seen: list[list[Path]] = []
    monkeypatch.setattr(
        "tilelang_trace.recording.journal._lock_file",
        lambda descriptor: seen.append(list(tmp_path.glob("*.pftrace"))),
    )
    Journal(tmp_path)
    assert seen == [[]]


def test_a_disk_that_is_full_at_once_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, start: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tilelang_trace.recording.journal._allocate", full)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with pytest.raises(OSError, match="No space left"):
        Journal(tmp_path)
    assert list(tmp_path.iterdir()) == []
    if before:
        assert set(os.listdir("/proc/self/fd")) == before


def test_the_lock_says_whether_the_writer_lives(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert is_alive(journal.path)
    journal.close()
    assert not is_alive(journal.path)


def test_a_killed_process_leaves_all_that_it_appended(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal; from pathlib import Path; sys.path.insert(0, os.getcwd())\n"
        "from tests.unit.test_journal import write_passes, Journal\n"
        "write_passes(Journal(Path(sys.argv[1])), 30_000)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (path,) = tmp_path.iterdir()
    assert not is_alive(path)
    trace = read(path.read_bytes()).build()
    assert len(trace.slices) == 30_000
    assert not trace.findings


def test_after_a_fork_only_the_parent_writes_its_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write_passes(journal, 3)
    child = os.fork()
    if not child:
        journal.abandon()
        os._exit(0)
    os.waitpid(child, 0)
    assert is_alive(journal.path)
    journal.append(track_packet(2, 9, name="after"))
    journal.close()
    assert len(read(journal.path.read_bytes()).build().slices) == 3


def test_a_full_disk_is_told_before_a_packet_is_cut_and_leaves_room_for_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, start: int) -> None:
        raise OSError(28, "No space left on device")

    journal = Journal(tmp_path)
    write_passes(journal, 3)
    monkeypatch.setattr("tilelang_trace.recording.journal._allocate", full)
    long_packet = track_packet(2, 8, name="x" * 100_000)
    with pytest.raises(OSError, match="No space left"):
        for _ in range(30):
            journal.append(long_packet)
    journal.close(track_packet(2, 9, name="y" * 200_000))
    data = journal.path.read_bytes()
    assert data.endswith(b"y" * 200_000 + b"\x78\x02")
    trace = read(data).build()
    assert len(trace.slices) == 3
    assert not trace.findings
