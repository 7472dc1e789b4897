"""What a file says of its tracks, processes and threads, packet by packet.

Source of the rules: Perfetto's track_descriptor.proto and track_event_tracker.h. A descriptor may
come again: the first one of a uuid says what kind of track it is, names may be told later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilelang_trace.formats.pftrace.packet_sequence import utf8
from tilelang_trace.formats.pftrace.track_keys import DEFAULT_TRACK, ThreadKey, TrackKey
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Tell

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_MERGED_BY_NAME = 1
"""A track says that siblings of its name are shown as one (0: it doesn't say); above: never."""

_UNITS = {1: "ns", 2: "count", 3: "bytes"}
_BUILTIN_COUNTERS = {1: ("thread_time", "ns"), 2: ("thread_instruction_count", "count")}


@dataclass
class Counter:
    """What a track of a counter adds to its values."""

    unit: str
    multiplier: int
    is_incremental: bool


@dataclass
class Track:
    """A track, as its descriptors have told it."""

    number: int
    """Of the packet that told it first."""
    parent: int
    name: str
    thread: ThreadKey | None
    pid: int | None
    """Of a track that is a process."""
    counter: Counter | None
    may_merge: bool
    """Whether it allows that siblings of its name are shown as one with it."""

    def is_merged(self) -> bool:
        """Whether Perfetto shows siblings of its name as one with it."""
        is_row = self.thread is None and self.pid is None and self.counter is None
        return is_row and self.may_merge and bool(self.name)

    def kind(self) -> tuple[object, ...]:
        """What doesn't change."""
        return self.parent, self.thread, self.pid, self.counter is not None


class TrackDescriptors:
    """The tracks of a file, by their uuids, and the names of processes and threads."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.tracks: dict[int, Track] = {}
        self.process_names: dict[int, str] = {}
        """By pid, for processes that have no track of their own."""
        self.thread_names: dict[ThreadKey, str] = {}
        self.names: dict[int, str] = {}
        """The names of processes and threads by the uuid of their track."""
        self.renamed: list[tuple[TrackKey, bool, str]] = []
        """Names that events tell: something on a thread, whether its process is meant, the name."""

    def take(self, number: int, descriptor: pb.TrackDescriptor) -> None:
        """Take what a packet says of a track."""
        uuid = descriptor.uuid
        if not descriptor.HasField("uuid"):
            self._tell(number, rules.INCOMPLETE_IDS, "a track without a uuid, passed by")
            return
        track = self._track(number, descriptor)
        self._take_names(uuid, descriptor)
        known = self.tracks.setdefault(uuid, track)
        if known is track:
            return
        if known.kind() != track.kind():
            done = f"another track with the uuid {uuid}, passed by"
            self._tell(number, rules.CHANGED_TRACK, done)
        elif track.name and (not known.name or not track.may_merge):
            known.name = track.name

    def _track(self, number: int, descriptor: pb.TrackDescriptor) -> Track:
        name = utf8(descriptor.name or descriptor.static_name or descriptor.atrace_name)
        thread = pid = counter = None
        if descriptor.HasField("thread"):
            its = descriptor.thread
            if its.HasField("pid") and its.HasField("tid"):
                thread = ThreadKey(its.pid, its.tid)
            else:
                name = name or utf8(its.thread_name)
                self._tell(number, rules.INCOMPLETE_IDS, "kept as a row that is no thread")
        elif descriptor.HasField("process"):
            if descriptor.process.HasField("pid"):
                pid = descriptor.process.pid
            else:
                name = name or utf8(descriptor.process.process_name)
                self._tell(number, rules.INCOMPLETE_IDS, "kept as a row that is no process")
        elif descriptor.HasField("counter"):
            name, counter = _counter(name, descriptor.counter)
        may_merge = descriptor.sibling_merge_behavior <= _MERGED_BY_NAME
        parent = descriptor.parent_uuid if descriptor.uuid != DEFAULT_TRACK else DEFAULT_TRACK
        return Track(number, parent, name, thread, pid, counter, may_merge)

    def _take_names(self, uuid: int, descriptor: pb.TrackDescriptor) -> None:
        thread, process = descriptor.thread.thread_name, descriptor.process.process_name
        if thread or process:
            self.names[uuid] = utf8(thread or process)

    def take_thread(self, thread: pb.ThreadDescriptor) -> None:
        """Take a thread of the older form."""
        if thread.thread_name:
            self.thread_names[ThreadKey(thread.pid, thread.tid)] = utf8(thread.thread_name)

    def take_process(self, process: pb.ProcessDescriptor) -> None:
        """Take a process of the older form."""
        if process.process_name:
            self.process_names[process.pid] = utf8(process.process_name)

    def rename(self, key: TrackKey, what: str, annotations: Sequence[pb.DebugAnnotation]) -> None:
        """Take an event that names the thread or the process that it is on."""
        if what in ("thread_name", "process_name") and annotations:
            name = utf8(annotations[0].string_value)
            if name:
                self.renamed.append((key, what == "process_name", name))


def _counter(name: str, descriptor: pb.CounterDescriptor) -> tuple[str, Counter]:
    usual_name, usual_unit = _BUILTIN_COUNTERS.get(descriptor.type, ("", ""))
    unit = usual_unit or _UNITS.get(descriptor.unit) or utf8(descriptor.unit_name)
    multiplier = descriptor.unit_multiplier if descriptor.unit_multiplier > 0 else 1
    return name or usual_name, Counter(unit, multiplier, descriptor.is_incremental)
