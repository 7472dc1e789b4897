"""Events written straight into a journal: right, whole at every moment, and from all threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.torn_journals import torn
from tests.traces import said
from tilelang_trace.formats.pftrace.packets import END, PacketSequence, track_packet
from tilelang_trace.formats.pftrace.reader import read
from tilelang_trace.recording.event_writer import EventWriter
from tilelang_trace.recording.journal import Journal

CLOCK = 3


def writer_on(journal: Journal, track: int) -> tuple[EventWriter, PacketSequence]:
    """A writer for a new thread's track."""
    journal.append(track_packet(track, track, thread=(1, track, f"thread {track}")))
    packets = PacketSequence(track, track, CLOCK)
    journal.append(packets.first())
    return EventWriter(journal, packets), packets


def packets_in(journal: Journal) -> Iterator[pb.TracePacket]:
    """What protobuf reads in a closed journal."""
    yield from pb.Trace.FromString(journal.path.read_bytes()).packet


_times = st.one_of(
    st.integers(0, 2**63 - 1),
    st.integers(-3, 3).flatmap(
        lambda near: st.integers(21, 62).map(lambda bits: max(0, (1 << bits) + near))
    ),
)
_numbers = st.one_of(st.integers(0, 2**35 - 1), st.sampled_from([0, 2**14 - 1, 2**14, 2**28]))
_names = st.sampled_from(["tirx.Simplify", "\u00e4" * 150, "a", "b"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passes=st.lists(st.tuples(_times, _times, _names, _numbers, st.integers(0, 9)), max_size=8))
def test_protobuf_reads_what_was_written(
    passes: list[tuple[int, int, str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal"))
    writer, packets = writer_on(journal, 300)
    for begin, end, name, number, depth in passes:
        head = writer.head_of_pass(name)
        arguments = packets.argument("depth", depth)
        writer.write(begin, writer.begin_of_pass(head, number, arguments))
        writer.write(end, END)
    journal.close()
    found: list[tuple[int, str, dict[str, int]]] = []
    names, argument_names = {0: ""}, {}
    for packet in packets_in(journal):
        assert packet.trusted_packet_sequence_id == 300
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        annotations = packet.interned_data.debug_annotation_names
        argument_names |= {entry.iid: entry.name for entry in annotations}
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.type == (1 if event.name_iid else 2)
            arguments_of = {
                argument_names[a.name_iid]: a.int_value for a in event.debug_annotations
            }
            found.append((packet.timestamp, names[event.name_iid], arguments_of))
    expected = []
    for begin, end, name, number, depth in passes:
        expected += [(begin, name, {"sequence": number, "depth": depth}), (end, "", {})]
    assert found == expected


@pytest.mark.parametrize("head_last", [False, True])
@pytest.mark.parametrize("name", ["known", "new " * 30])
def test_an_event_that_is_half_there_is_not_there(
    tmp_path: Path, name: str, head_last: bool
) -> None:
    journal = Journal(tmp_path)
    writer, _ = writer_on(journal, 2)
    writer.write(10, writer.begin_of_pass(writer.head_of_pass("known"), 0, b""))
    event = writer.begin_of_pass(writer.head_of_pass(name), 1, b"")
    without, *half, whole = (
        said(read(data[:4096]).build())
        for data in torn(journal, lambda: writer.write(20, event), head_last=head_last)
    )
    assert whole != without
    assert len(half) > 1
    assert [n for n, found in enumerate(half) if found != without] == []


def test_an_event_that_cannot_be_written_leaves_no_hole(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    writer, _ = writer_on(journal, 2)
    writer.write(5, END)  # with the names that are new
    writer.write(10, END)
    last = writer.at
    pack_into, *rest = writer._frames[len(END)]

    def fails(*values: object) -> None:
        raise MemoryError

    writer._frames[len(END)] = (fails, *rest)  # type: ignore[assignment]
    with pytest.raises(MemoryError):
        writer.write(20, END)
    assert not writer.has_written(last)
    writer._frames[len(END)] = (pack_into, *rest)  # type: ignore[assignment]
    writer.write(30, END)
    assert writer.has_written(last)
    journal.close()
    times = [p.timestamp for p in packets_in(journal) if p.HasField("track_event")]
    assert times == [5, 10, 30]


def test_threads_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock, and across many blocks of the file."""
    monkeypatch.setattr("tilelang_trace.recording.journal.BLOCK_BYTES", ALLOCATIONGRANULARITY)
    journal = Journal(tmp_path)
    count, tracks = 4_000, range(2, 6)
    start = threading.Barrier(len(tracks))

    def work(track: int) -> None:
        writer, _ = writer_on(journal, track)
        head = writer.head_of_pass(f"pass {track}")
        start.wait()
        for number in range(count):
            writer.write(2 * number, writer.begin_of_pass(head, number, b""))
            writer.write(2 * number + 1, END)
            if not number % 100:
                journal.append(track_packet(track, track, thread=(1, track, f"thread {track}")))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(track,)) for track in tracks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    journal.close()
    times: dict[int, list[int]] = {track: [] for track in tracks}
    for packet in packets_in(journal):
        if packet.HasField("track_event"):
            times[packet.trusted_packet_sequence_id].append(packet.timestamp)
    assert times == {track: [*range(2 * count)] for track in tracks}
