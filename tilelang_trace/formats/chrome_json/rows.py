"""The rows of a Chrome JSON trace: processes and threads by pid and tid, their names and their
order, as its metadata events (phase M) give them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from tilelang_trace.formats.chrome_json import ids, times
from tilelang_trace.formats.chrome_json.ids import Id
from tilelang_trace.trace import rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Lane

Key = tuple[Id, Id]
"""The pid and tid of a thread, as keys."""

_OTHERS = "metadata_events"
"""Key in a Trace's metadata for metadata events that name and sort nothing."""


class Rows:
    """The processes, threads and lanes that events of other tools stand on, in a builder."""

    def __init__(self, builder: TraceBuilder, tell: Tell) -> None:
        self._builder, self._tell = builder, tell
        self.lanes: dict[Key, int] = {}
        """The lane of each thread."""
        self._threads: dict[Key, int] = {}
        self._processes: dict[Id, int] = {}
        self._instants: dict[Id | None, int] = {}
        """The lane for instants of a process, or of the whole trace."""
        self._names: dict[tuple[Id, Id | None], tuple[int, str]] = {}
        """Of each process and thread: when it was given, and the name; the last one counts."""
        self._sorted: dict[tuple[Id, Id | None], float | Fraction] = {}
        """The sort index of each process and thread that has one."""
        self._first_sorted = 0
        """Number of the first event that gives one."""

    @staticmethod
    def key(event: Mapping[str, Json]) -> Key:
        """The thread of an event. What has no pid is of process 0, what has no tid of its main
        thread, as in Perfetto.
        """
        pid, tid = ids.row_id(event.get("pid")), ids.row_id(event.get("tid"))
        pid = 0 if pid is None else pid
        return pid, pid if tid is None else tid

    def lane(self, number: int, event: Mapping[str, Json]) -> int:
        """The lane of an event's thread."""
        key = self.key(event)
        lane = self.lanes.get(key)
        if lane is None:
            lane = self._builder.lane(Lane(self._thread(number, event)))
            self.lanes[key] = lane
            pid, tid = key
            if tid in (0, pid) and pid != 0 and (pid, 0) in self.lanes and (pid, pid) in self.lanes:
                done = f"tid 0 and tid {pid} of pid {pid} are two threads"
                self._tell(number, rules.ZERO_ID, done)
        return lane

    def _thread(self, number: int, event: Mapping[str, Json]) -> int:
        key = self.key(event)
        thread = self._threads.get(key)
        if thread is None:
            process = self.process(number, event)
            thread = self._builder.thread(process, str(key[1]), ids.row_number(key[1]))
            self._threads[key] = thread
            self._check(number, event, "tid")
        return thread

    def process(self, number: int, event: Mapping[str, Json]) -> int:
        """The id of an event's process."""
        pid, _ = self.key(event)
        process = self._processes.get(pid)
        if process is None:
            process = self._builder.process(str(pid), ids.row_number(pid))
            self._processes[pid] = process
            self._check(number, event, "pid")
        return process

    def lane_of_instants(self, number: int, event: Mapping[str, Json], of_process: bool) -> int:
        """The lane for instants of an event's process, or for those of the whole trace."""
        key = self.key(event)[0] if of_process else None
        if key not in self._instants:
            process = self.process(number, event) if of_process else None
            self._instants[key] = self._builder.lane(Lane(process=process, name="Instants"))
        return self._instants[key]

    def _check(self, number: int, event: Mapping[str, Json], key: str) -> None:
        rule = ids.misread(event.get(key))
        if rule is not None:
            done = f"{key} {ids.text(event[key])!r} stays apart from all others"
            self._tell(number, rule, done)

    def take_metadata(self, number: int, event: Mapping[str, Json]) -> None:
        """Take an event of the phase M, which may come before or after what it names."""
        kind, arguments = event.get("name"), event.get("args")
        field = _FIELDS.get(kind) if isinstance(kind, str) else None
        if field is None:
            kept = {key: event[key] for key in ("name", "pid", "tid", "args") if key in event}
            self._builder.metadata.setdefault(_OTHERS, []).append(kept)
            return
        value = arguments.get(field) if isinstance(arguments, dict) else None
        pid, tid = self.key(event)
        of = (pid, None if str(kind).startswith("process") else tid)
        if field == "name" and isinstance(value, str) and value:
            time = times.exact(event.get("ts"))
            when = 0 if time is None else times.nanoseconds(time)
            if when >= self._names.get(of, (when, ""))[0]:
                self._names[of] = when, value
        elif field == "sort_index" and (index := _number(value)) is not None:
            self._first_sorted = self._first_sorted or number
            self._sorted[of] = index
            if isinstance(value, str):
                done = f"{value!r} is read as a number"
                self._tell(number, rules.SORT_INDEX, done)
        else:
            done = f"{kind} without a proper {field!r} is left out"
            self._tell(number, rules.BAD_METADATA, done)

    def add_idle(self) -> None:
        """Add the processes and threads that have a name, but no events."""
        for pid, tid in self._names:
            process = self._processes.get(pid)
            if process is None:
                process = self._builder.process(str(pid), ids.row_number(pid))
                self._processes[pid] = process
            main = (pid, 0) in self._threads or (pid, pid) in self._threads
            if tid is None or (pid, tid) in self._threads or (tid in (0, pid) and main):
                continue
            thread = self._builder.thread(process, str(tid), ids.row_number(tid))
            self._threads[pid, tid] = thread

    def name(self) -> None:
        """Give names, after the last event."""
        builder = self._builder
        for pid, process in self._processes.items():
            if (name := self._name(pid, None)) is not None:
                builder.processes[process] = replace(builder.processes[process], name=name)
        for (pid, tid), thread in self._threads.items():
            name = self._name(pid, tid)
            if name is None and tid in (0, pid):  # for Perfetto both are the main thread
                other = pid if tid == 0 else 0
                name = None if (pid, other) in self._threads else self._name(pid, other)
            if name is not None:
                builder.threads[thread] = replace(builder.threads[thread], name=name)

    def _name(self, pid: Id, tid: Id | None) -> str | None:
        found = self._names.get((pid, tid))
        return None if found is None else found[1]

    def sort(self) -> None:
        """Put processes and threads in the order of their sort indices (0 where there is none), and
        of their first events where they are equal. All rows of the builder have to be from here.
        """
        if not self._sorted:
            return
        builder, index = self._builder, self._sorted
        of_process: dict[Id, float | Fraction] = {
            pid: index.get((pid, None), 0) for pid in self._processes
        }
        processes = sorted(self._processes, key=of_process.__getitem__)
        rank = {pid: number for number, pid in enumerate(processes)}
        threads = sorted(self._threads, key=lambda key: (rank[key[0]], index.get(key, 0)))
        by_tid = sorted(self.lanes, key=lambda key: (rank[key[0]], _as_number(key[1])))
        in_v52 = [of_process[pid] for pid in self._processes_in_v52()]
        of_threads = [(rank[key[0]], index.get(key, 0)) for key in by_tid]
        if in_v52 != sorted(in_v52) or of_threads != sorted(of_threads):
            done = "processes and threads are in the order of their sort indices"
            self._tell(self._first_sorted, rules.SORT_INDEX, done)
        builder.arrange(
            [self._processes[pid] for pid in processes], [self._threads[key] for key in threads]
        )

    def _processes_in_v52(self) -> list[Id]:
        """The pids that have slices, in the order in which v52 shows them: by their number of
        slices, then name.
        """
        builder = self._builder
        counts: Counter[int] = Counter()
        for lane, count in Counter(builder.slice_lanes).items():
            row = builder.lanes[lane]
            process = row.process if row.thread is None else builder.threads[row.thread].process
            if process is not None:
                counts[process] += count
        shown = [pid for pid, process in self._processes.items() if counts[process]]

        def key(pid: Id) -> tuple[int, str]:
            process = self._processes[pid]
            return -counts[process], builder.processes[process].name

        return sorted(shown, key=key)


_FIELDS = {
    "process_name": "name",
    "thread_name": "name",
    "process_sort_index": "sort_index",
    "thread_sort_index": "sort_index",
}
"""The argument that counts of each metadata event that Perfetto knows."""


def _number(value: Json) -> float | Fraction | None:
    """A sort index, also one that is text."""
    if isinstance(value, str):
        return times.number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return value


def _as_number(tid: Id) -> int:
    return tid if isinstance(tid, int) else 0
