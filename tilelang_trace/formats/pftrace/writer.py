"""Perfetto protobuf traces (`.pftrace`): Trace -> packets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from tilelang_trace.formats import envelope
from tilelang_trace.formats.flows import Flows
from tilelang_trace.formats.pftrace.numbers import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME
from tilelang_trace.formats.pftrace.packets import (
    PacketSequence,
    clock_packet,
    joined,
    metadata_packet,
    root_packet,
    track_packet,
)
from tilelang_trace.formats.pftrace.slice_packets import SlicePackets
from tilelang_trace.trace import failures
from tilelang_trace.trace.model import Trace

_ROOT_SEQUENCE = 1
_CHUNK = 4096


def _unique(ids: list[int | None], invented: list[int], largest: int) -> list[int]:
    """The real ids where they can stand in the file (known, positive, no two equal), else invented
    ones.
    """
    real = [i for i in ids if i is not None and 0 < i <= largest]
    return [i for i in ids if i is not None] if len(set(real)) == len(ids) else invented


def write(trace: Trace) -> Iterator[bytes]:
    """The file, in pieces.

    Times are those of the Trace; if it knows what the wall clock and the boot clock showed
    (metadata `start`), the file has a ClockSnapshot, so that it can be laid beside other traces.
    """
    origin = min(0, envelope.earliest(trace))
    clocks = _clocks(trace) if not origin else {}
    clock = CLOCK_MONOTONIC if clocks else None
    tracks = _Tracks(trace)
    found = failures.failures(trace)
    flows = Flows(trace, found)
    sequences = [
        PacketSequence(_ROOT_SEQUENCE + 1 + lane, uuid, clock)
        for lane, uuid in enumerate(tracks.lanes)
    ]
    yield from _pieces(_head(trace, origin, clocks, tracks))
    yield from _pieces(sequence.first() for sequence in sequences)
    slices = SlicePackets(trace, origin, flows)
    bounds = np.searchsorted(trace.slices.lane, range(len(sequences) + 1)).tolist()
    for sequence, start, stop in zip(sequences, bounds, bounds[1:]):
        yield from slices.of_lane(range(start, stop), sequence)
    yield from _pieces(_instants(trace, origin, sequences))
    first_id = _ROOT_SEQUENCE + 1 + len(sequences)
    yield from _pieces(_counters(trace, origin, tracks, clock, first_id))
    yield from _pieces(_failures(found, origin, tracks, clock, flows))


def _pieces(packets: Iterator[bytes]) -> Iterator[bytes]:
    """Packets as pieces of a file, some at a time."""
    while piece := joined(islice(packets, _CHUNK)):
        yield piece


def _head(trace: Trace, origin: int, clocks: dict[int, int], tracks: _Tracks) -> Iterator[bytes]:
    """What stands before all events."""
    yield root_packet(_ROOT_SEQUENCE)
    if clocks:
        yield clock_packet(_ROOT_SEQUENCE, clocks)
    start = max(0, clocks.get(CLOCK_BOOTTIME, envelope.earliest(trace) - origin))
    yield metadata_packet(
        _ROOT_SEQUENCE,
        start,
        envelope.NAME,
        envelope.seal(trace, origin, tracks.lanes, tracks.counters),
    )
    yield from tracks.packets()


def boot_time_of(trace: Trace, time: int) -> int | None:
    """What the boot clock showed at a time of the Trace, by the file's ClockSnapshot; None if the
    file has none.
    """
    clocks = _clocks(trace) if envelope.earliest(trace) >= 0 else {}
    return time + clocks[CLOCK_BOOTTIME] - clocks[CLOCK_MONOTONIC] if clocks else None


def _clocks(trace: Trace) -> dict[int, int]:
    start = trace.metadata.get("start")
    if not isinstance(start, Mapping):
        return {}
    names = {
        CLOCK_REALTIME: "realtime_ns",
        CLOCK_MONOTONIC: "monotonic_ns",
        CLOCK_BOOTTIME: "boottime_ns",
    }
    clocks = {
        clock: start[name] for clock, name in names.items() if isinstance(start.get(name), int)
    }
    return clocks if CLOCK_MONOTONIC in clocks and CLOCK_BOOTTIME in clocks else {}


class _Tracks:
    """The tracks of a Trace: a uuid for each process, lane and counter, and their descriptors."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._last = 0
        self.processes = [self.next_uuid() for _ in trace.processes]
        self.lanes = [self.next_uuid() for _ in trace.lanes]
        self.counters = [self.next_uuid() for _ in trace.counter_tracks]
        self._first = envelope.first_lanes(trace)
        self._pids = _unique(
            [p.pid for p in trace.processes], list(range(1, len(trace.processes) + 1)), 2**31 - 1
        )
        self._tids = _unique(
            [t.tid for t in trace.threads],
            [self._invented_tid(thread) for thread in range(len(trace.threads))],
            2**31 - 1,
        )

    def _invented_tid(self, thread: int) -> int:
        """A tid that no other thread and no process has: the first thread of a process bears its
        pid.
        """
        process = self._trace.threads[thread].process
        siblings = [i for i, t in enumerate(self._trace.threads) if t.process == process]
        if siblings[0] == thread:
            return self._pids[process]
        return max(self._pids, default=0) + 1 + thread

    def next_uuid(self) -> int:
        self._last += 1
        return self._last

    def packets(self) -> Iterator[bytes]:
        trace = self._trace
        for number, process in enumerate(trace.processes):
            yield track_packet(
                _ROOT_SEQUENCE,
                self.processes[number],
                process=(self._pids[number], process.name),
                labels=_labels(trace) if number == 0 else (),
                rank=number,
            )
        for number, lane in enumerate(trace.lanes):
            uuid = self.lanes[number]
            if lane.thread is not None and self._first[lane.thread] == number:
                thread = trace.threads[lane.thread]
                yield track_packet(
                    _ROOT_SEQUENCE,
                    uuid,
                    parent=self.processes[thread.process],
                    thread=(self._pids[thread.process], self._tids[lane.thread], thread.name),
                    rank=lane.thread,
                )
            else:
                yield track_packet(
                    _ROOT_SEQUENCE,
                    uuid,
                    name=lane.name,
                    parent=self._parent(lane.thread, lane.process),
                    rank=number,
                )
        series = Counter((c.name, c.thread, c.process) for c in trace.counter_tracks)
        for number, counter in enumerate(trace.counter_tracks):
            is_one_of_several = series[counter.name, counter.thread, counter.process] > 1
            yield track_packet(
                _ROOT_SEQUENCE,
                self.counters[number],
                # As Perfetto calls the series of a counter of JSON.
                name=f"{counter.name} {counter.unit}" if is_one_of_several else counter.name,
                parent=self._parent(counter.thread, counter.process),
                counter_unit=counter.unit,
            )

    def _parent(self, thread: int | None, process: int | None) -> int | None:
        if thread is not None and thread in self._first:
            return self.lanes[self._first[thread]]
        return None if process is None else self.processes[process]


def _labels(trace: Trace) -> list[str]:
    """What stands beside the process's name in the viewer: the versions that matter."""
    versions = trace.metadata.get("versions")
    if not isinstance(versions, Mapping):
        return []
    compilers_first = sorted(versions.items(), key=lambda item: item[0] == "python")
    return [f"{name} {version}" for name, version in compilers_first if version]


def _instants(trace: Trace, origin: int, sequences: list[PacketSequence]) -> Iterator[bytes]:
    instants, strings = trace.instants, trace.strings
    for row, arguments in enumerate(trace.instant_arguments.between(0, len(instants))):
        yield sequences[int(instants.lane[row])].instant(
            int(instants.time[row]) - origin,
            strings[int(instants.name[row])],
            strings[int(instants.category[row])],
            arguments,
        )


def _counters(
    trace: Trace, origin: int, tracks: _Tracks, clock: int | None, first_id: int
) -> Iterator[bytes]:
    sequences = [
        PacketSequence(first_id + number, uuid, clock)
        for number, uuid in enumerate(tracks.counters)
    ]
    for sequence in sequences:
        yield sequence.first()
    counters = trace.counters
    for track, time, value in zip(
        counters.track.tolist(), counters.time.tolist(), counters.value.tolist()
    ):
        if math.isfinite(value):  # viewers choke on NaN; a gap says it as well
            yield sequences[track].counter(time - origin, value)


def _failures(
    found: list[failures.Failure], origin: int, tracks: _Tracks, clock: int | None, flows: Flows
) -> Iterator[bytes]:
    """The row "Failures"."""
    if not found:
        return
    uuid = tracks.next_uuid()
    yield track_packet(_ROOT_SEQUENCE, uuid, name=failures.ROW_NAME, rank=-1)
    row = PacketSequence(tracks.next_uuid() + _ROOT_SEQUENCE, uuid, clock)
    yield row.first()
    for failure in found:
        yield row.instant(
            failure.time - origin,
            failure.name,
            failures.CATEGORY,
            {},
            ended_flows=[flows.of_failure[failure.row]],
        )
