"""Tracks of a `.pftrace` -> processes, threads, lanes and counter tracks of a builder.

Source of the rules: Perfetto's track_event_tracker.cc (`ResolveDescriptorTrackImpl`): each
descriptor of a process or a thread is one of its own, also if its ids were there before; other
tracks belong to what their ancestors are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tilelang_trace.formats.pftrace.track_descriptors import Track, TrackDescriptors
from tilelang_trace.formats.pftrace.track_keys import (
    DEFAULT_TRACK,
    AsyncKey,
    InstantsKey,
    ThreadCounterKey,
    ThreadKey,
    TrackKey,
)
from tilelang_trace.trace import rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.model import CounterTrack, Lane

_MOST_ANCESTORS = 100


class Owner(NamedTuple):
    """The thread, or else the process, that something belongs to, by their numbers."""

    thread: int | None = None
    process: int | None = None


class TrackOwners:
    """Finds or adds to a builder what a track stands for."""

    def __init__(
        self,
        builder: TraceBuilder,
        descriptors: TrackDescriptors,
        tell: Tell,
    ) -> None:
        self._builder = builder
        self._descriptors = descriptors
        self._tracks = descriptors.tracks
        self._tell = tell
        self._before: dict[int | None, int] = {}
        """The processes that were there before this file, by pid; of several the first."""
        for number, process in enumerate(builder.processes):
            self._before.setdefault(process.pid, number)
        self._threads_before = {
            (thread.process, thread.tid): number
            for number, thread in reversed([*enumerate(builder.threads)])
        }
        self._lanes: dict[Lane, int] = {}
        for number, lane in enumerate(builder.lanes):
            self._lanes.setdefault(lane, number)
        self._processes: dict[int, int] = {}
        """By pid; of several the last."""
        self._threads: dict[ThreadKey, int] = {}
        """By ids; of several the last."""
        self._owners: dict[int, Owner] = {}
        """By uuid."""
        self._levels: dict[int, int] = {DEFAULT_TRACK: 0}
        """How many ancestors a track has, by uuid."""

    def take_descriptors(self) -> None:
        """Add the processes and threads that have descriptors, in the order of those."""
        for uuid, track in self._tracks.items():
            if track.pid is not None:
                self._owner_of_uuid(uuid)
        for uuid, track in self._tracks.items():
            if track.thread is not None:
                self._owner_of_uuid(uuid)

    def take_names(self) -> None:
        """Give processes and threads the names that events tell."""
        builder = self._builder
        for key, is_process, name in self._descriptors.renamed:
            thread, process = self.owner(key)
            if is_process and thread is not None:
                process = builder.threads[thread].process
            if is_process and process is not None:
                builder.processes[process] = replace(builder.processes[process], name=name)
            elif not is_process and thread is not None:
                builder.threads[thread] = replace(builder.threads[thread], name=name)

    def name(self, key: TrackKey) -> str:
        """The name of a track, "" if it has none."""
        track = self._tracks.get(key) if isinstance(key, int) else None
        if track is None and key == DEFAULT_TRACK:
            return "Default Track"
        return track.name if track is not None else ""

    def lane(self, key: TrackKey, name: str = "") -> int:
        """The lane of a track: that of its thread or process itself, or a new one. `name` is for
        tracks that have none.
        """
        owner = self.owner(key)
        lane = Lane(*owner)
        if isinstance(key, int):
            track = self._tracks.get(key)
            if track is None or (track.thread is None and track.pid is None):
                return self._new_lane(Lane(*owner, self.name(key) or name))
        elif isinstance(key, AsyncKey):
            return self._new_lane(Lane(*owner, name))
        elif isinstance(key, InstantsKey) and owner == Owner():
            lane = Lane(name="Global instants")
        known = self._lanes.get(lane)
        return self._new_lane(lane) if known is None else known

    def counter(self, key: TrackKey) -> int | None:
        """A new counter track for a track that is one; None if it is none."""
        owner = self.owner(key)
        if isinstance(key, ThreadCounterKey):
            if owner.thread is None:
                return None
            track = CounterTrack(key.name, "", *owner)
        else:
            its = self._tracks.get(key) if isinstance(key, int) else None
            if its is None or its.counter is None:
                return None
            track = CounterTrack(its.name, its.counter.unit, *owner)
        self._builder.counter_tracks.append(track)
        return len(self._builder.counter_tracks) - 1

    def owner(self, key: TrackKey) -> Owner:
        """The thread or process that a track belongs to."""
        if isinstance(key, int):
            return self._owner_of_uuid(key)
        if isinstance(key, ThreadKey):
            if key not in self._threads:
                process = self._by_pid(key.pid)
                name = self._descriptors.thread_names.get(key, "")
                self._threads[key] = self._builder.thread(process, name, key.tid)
            return Owner(self._threads[key])
        if isinstance(key, ThreadCounterKey):
            return self.owner(key.thread)
        if key.process is None:
            return Owner()
        owner = self.owner(key.process)
        if owner.thread is None:
            return owner
        return Owner(process=self._builder.threads[owner.thread].process)

    # ------------------------------------------------------------------------------- parts

    def _new_lane(self, lane: Lane) -> int:
        number = self._builder.lane(lane)
        self._lanes.setdefault(lane, number)
        return number

    def _owner_of_uuid(self, uuid: int) -> Owner:
        """The owner of a track with a uuid: its own or that of its ancestors."""
        way: list[int] = []
        on_way: set[int] = set()
        at = uuid
        while at not in self._owners and at != DEFAULT_TRACK:
            track = self._tracks.get(at)
            if track is None or at in on_way:
                break
            if track.thread is not None:
                self._owners[at] = Owner(self._thread_of(at, track))
                break
            if track.pid is not None:
                self._owners[at] = Owner(process=self._process_of(at, track))
                break
            way.append(at)
            on_way.add(at)
            at = track.parent
        is_lost = bool(way) and at != DEFAULT_TRACK and at not in self._owners
        owner = self._owners.get(at, Owner())
        level = self._levels.get(at, 0)
        for step in reversed(way):
            level += 1
            self._owners[step] = owner
            self._levels[step] = level
            if is_lost or level > _MOST_ANCESTORS:
                self._tell(self._tracks[step].number, rules.LOST_PARENT, "put at the top")
        return owner

    def _process_of(self, uuid: int, track: Track) -> int:
        """The process of a descriptor."""
        pid = track.pid
        assert pid is not None
        number = self._before.get(pid)
        if number is None:
            if pid in self._processes:
                done = f"two processes have the pid {pid}, both kept"
                self._tell(track.number, rules.SHARED_ID, done)
            name = self._descriptors.names.get(uuid) or self._descriptors.process_names.get(pid, "")
            number = self._builder.process(name, pid)
        self._processes[pid] = number
        return number

    def _thread_of(self, uuid: int, track: Track) -> int:
        """The thread of a descriptor."""
        key = track.thread
        assert key is not None
        parent = self._tracks.get(track.parent)
        is_its_process = parent is not None and parent.pid == key.pid
        process = self._owner_of_uuid(track.parent).process if is_its_process else None
        if process is None:
            process = self._by_pid(key.pid)
        before = self._threads_before.get((process, key.tid))
        number = -1 if before is None else before
        if number < 0:
            if key in self._threads:
                done = f"two threads have the tid {key.tid}, both kept"
                self._tell(track.number, rules.SHARED_ID, done)
            names = self._descriptors
            name = names.names.get(uuid) or names.thread_names.get(key, "")
            number = self._builder.thread(process, name, key.tid)
        self._threads[key] = number
        return number

    def _by_pid(self, pid: int) -> int:
        """The process with a pid."""
        if pid in self._processes:
            return self._processes[pid]
        if pid not in self._before:
            name = self._descriptors.process_names.get(pid, "")
            self._processes[pid] = self._builder.process(name, pid)
            return self._processes[pid]
        return self._before[pid]
