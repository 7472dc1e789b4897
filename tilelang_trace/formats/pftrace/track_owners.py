"""Tracks of a `.pftrace` -> processes, threads, lanes and counter tracks of a builder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang_trace.formats.pftrace.packet_sequence import utf8
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


class TrackOwners:
    """Finds or adds to a builder what a track stands for."""

    def __init__(self, builder: TraceBuilder, tracks: dict[int, pb.TrackDescriptor]) -> None:
        self._builder = builder
        self._tracks = tracks
        self._processes: dict[int | None, int] = {}
        """By pid; of several the first."""
        for number, process in enumerate(builder.processes):
            self._processes.setdefault(process.pid, number)
        self._threads: dict[tuple[int, int | None], int] = {}
        """By process and tid."""
        for number, thread in enumerate(builder.threads):
            self._threads.setdefault((thread.process, thread.tid), number)
        self._lanes: dict[Lane, int] = {}
        for number, lane in enumerate(builder.lanes):
            self._lanes.setdefault(lane, number)
        self._process_names = {
            track.process.pid: utf8(track.process.process_name)
            for track in tracks.values()
            if track.HasField("process")
        }

    def name(self, uuid: int) -> str:
        """The name of a track."""
        track = self._tracks.get(uuid)
        return utf8(track.name or track.static_name) if track is not None else ""

    def lane(self, uuid: int) -> int:
        """The lane of a track: that of its thread or process itself, or a new one."""
        thread, process = self._owner(uuid)
        track = self._tracks.get(uuid)
        if track is not None and not track.HasField("thread") and not track.HasField("process"):
            return self._new_lane(Lane(thread, process, self.name(uuid)))
        lane = Lane(thread, process)
        known = self._lanes.get(lane)
        return self._new_lane(lane) if known is None else known

    def counter(self, uuid: int) -> int:
        """A new counter track for a track that is one."""
        thread, process = self._owner(uuid)
        unit = utf8(self._tracks[uuid].counter.unit_name)
        self._builder.counter_tracks.append(CounterTrack(self.name(uuid), unit, thread, process))
        return len(self._builder.counter_tracks) - 1

    def _new_lane(self, lane: Lane) -> int:
        number = self._builder.lane(lane)
        self._lanes.setdefault(lane, number)
        return number

    def _owner(self, uuid: int) -> tuple[int | None, int | None]:
        """The thread, or else the process, that a track belongs to: its own or that of its
        ancestors.
        """
        seen: set[int] = set()
        while uuid in self._tracks and uuid not in seen:
            seen.add(uuid)
            track = self._tracks[uuid]
            if track.HasField("thread"):
                return self._thread(track.thread), None
            if track.HasField("process"):
                return None, self._process(track.process.pid)
            uuid = track.parent_uuid
        return None, None

    def _process(self, pid: int) -> int:
        if pid not in self._processes:
            name = self._process_names.get(pid, "")
            self._processes[pid] = self._builder.process(name, pid)
        return self._processes[pid]

    def _thread(self, descriptor: pb.ThreadDescriptor) -> int:
        process = self._process(descriptor.pid)
        key = process, descriptor.tid
        if key not in self._threads:
            name = utf8(descriptor.thread_name)
            self._threads[key] = self._builder.thread(process, name, descriptor.tid)
        return self._threads[key]
