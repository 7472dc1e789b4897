"""Chrome JSON traces (`.json`): Trace -> the object form, closed, one event a line; JSON -> Trace.

What Perfetto does with such a file decides how it is written: `ts` and `dur` are microseconds,
relative to the start, with all three decimals; pid and tid are small numbers of the file's own
(real ones can be too wide or come twice), a process bears the number of its first thread; a parent
stands before its children; names are UTF-8. Source of the form: the Trace Event Format document,
and Perfetto's JSON importer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.trace import failures, findings
from tilelang_trace.trace.begin_end import OpenSlices
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Json, Lane, Trace

_CHUNK = 4096


# ---------------------------------------------------------------------------------- writing


def _us(ns: int) -> orjson.Fragment:
    """A time as microseconds, from integer digits: a float would round it."""
    return orjson.Fragment(f"{ns // 1000}.{ns % 1000:03d}")


def origin_of(trace: Trace) -> int:
    """The time that is written as 0: the start of the recording, or 0 itself where all times stay
    exact.
    """
    start = trace.metadata.get("start")
    if isinstance(start, Mapping) and isinstance(start.get("monotonic_ns"), int):
        return min(int(start["monotonic_ns"]), envelope.earliest(trace))
    first = envelope.earliest(trace)
    return first if first < 0 or envelope.latest(trace) > envelope.EXACT_NS else 0


class _Rows:
    """The pid and tid that each lane and each counter bears in the file."""

    def __init__(self, trace: Trace) -> None:
        self.tids = list(range(1, len(trace.lanes) + 1))
        owner = [
            trace.threads[lane.thread].process if lane.thread is not None else lane.process
            for lane in trace.lanes
        ]
        count = len(trace.processes)
        first = {p: tid for tid, p in reversed(list(zip(self.tids, owner)))}
        self._process_pids = [first.get(p, len(self.tids) + 1 + p) for p in range(count)]
        # Rows that belong to no process still need one in JSON.
        self.no_process = len(self.tids) + count + 1
        self.pids = [self.pid(p) for p in owner]
        self.failures = len(self.tids) + count + 2

    def pid(self, process: int | None) -> int:
        return self.no_process if process is None else self._process_pids[process]


def write(trace: Trace) -> Iterator[bytes]:
    """The file, in pieces."""
    origin = origin_of(trace)
    rows = _Rows(trace)
    first = True
    for events in _events(trace, rows, origin):
        if events:
            lead = b'{"traceEvents":[\n' if first else b",\n"
            first = False
            yield lead + b",\n".join(map(orjson.dumps, events))
    if first:
        yield b'{"traceEvents":[\n'
    sealed = envelope.seal(trace, origin, rows.tids)
    yield b'\n],\n"displayTimeUnit":"ns",\n"otherData":'
    yield orjson.dumps({envelope.NAME: sealed}) + b"}\n"


def _events(trace: Trace, rows: _Rows, origin: int) -> Iterator[list[dict[str, Any]]]:
    yield list(_names(trace, rows))
    found = failures.failures(trace)
    yield from _slices(trace, rows, origin)
    yield list(_instants(trace, rows, origin))
    yield [
        {
            "ph": "C",
            "ts": _us(time - origin),
            "pid": rows.pid(_process_of_counter(trace, track)),
            "tid": 0,
            "name": trace.counter_tracks[track].name,
            "args": {trace.counter_tracks[track].unit or "value": value},
        }
        for track, time, value in zip(
            trace.counters.track.tolist(),
            trace.counters.time.tolist(),
            trace.counters.value.tolist(),
        )
    ]
    arrows = [
        event
        for number, (source, target) in enumerate(trace.flows.tolist(), 1)
        for event in _arrow(trace, rows, origin, number, source, target)
    ]
    yield arrows
    yield list(_failures(trace, rows, origin, found, 1 + len(trace.flows)))


def _process_of_counter(trace: Trace, track: int) -> int | None:
    counter = trace.counter_tracks[track]
    return trace.threads[counter.thread].process if counter.thread is not None else counter.process


def _names(trace: Trace, rows: _Rows) -> Iterator[dict[str, Any]]:
    def name(kind: str, pid: int, tid: int, text: str) -> dict[str, Any]:
        return {"ph": "M", "ts": 0, "pid": pid, "tid": tid, "name": kind, "args": {"name": text}}

    for number, process in enumerate(trace.processes):
        pid = rows.pid(number)
        yield name("process_name", pid, pid, process.name)
        yield {
            "ph": "M",
            "ts": 0,
            "pid": pid,
            "tid": pid,
            "name": "process_sort_index",
            "args": {"sort_index": number},
        }
    for number, lane in enumerate(trace.lanes):
        text = trace.threads[lane.thread].name if lane.thread is not None else ""
        yield name(
            "thread_name", rows.pids[number], rows.tids[number], f"{text} {lane.name}".strip()
        )


def _slices(trace: Trace, rows: _Rows, origin: int) -> Iterator[list[dict[str, Any]]]:
    slices, strings = trace.slices, trace.strings
    for start in range(0, len(slices), _CHUNK):
        stop = min(start + _CHUNK, len(slices))
        yield [
            {
                "ph": "X",
                "ts": _us(begin),
                "dur": _us(duration),
                "pid": rows.pids[lane],
                "tid": rows.tids[lane],
                "name": strings[name],
                "cat": failures.written_category(strings[category], arguments.get("status")),
                "args": arguments,
            }
            for begin, duration, name, category, lane, arguments in zip(
                (slices.begin[start:stop] - origin).tolist(),
                slices.duration[start:stop].tolist(),
                slices.name[start:stop].tolist(),
                slices.category[start:stop].tolist(),
                slices.lane[start:stop].tolist(),
                map(_writable, trace.arguments.between(start, stop)),
            )
        ]


def _writable(arguments: dict[str, Json]) -> dict[str, Json]:
    """Arguments that every JSON reader takes: an integer wider than 64 bits becomes text."""
    for name, value in arguments.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            arguments[name] = str(value)
    return arguments


def _instants(trace: Trace, rows: _Rows, origin: int) -> Iterator[dict[str, Any]]:
    instants = trace.instants
    for row, arguments in enumerate(trace.instant_arguments.between(0, len(instants))):
        lane = int(instants.lane[row])
        yield {
            "ph": "i",
            "s": "t",
            "ts": _us(int(instants.time[row]) - origin),
            "pid": rows.pids[lane],
            "tid": rows.tids[lane],
            "name": trace.strings[int(instants.name[row])],
            "cat": trace.strings[int(instants.category[row])],
            "args": _writable(arguments),
        }


def _flow_end(
    phase: str, pid: int, tid: int, time: int, number: int, category: str
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": phase,
        "ts": _us(time),
        "pid": pid,
        "tid": tid,
        "id": number,
        "name": category,
        "cat": category,
    }
    return {**event, "bp": "e"} if phase == "f" else event


def _arrow(
    trace: Trace, rows: _Rows, origin: int, number: int, source: int, target: int
) -> Iterator[dict[str, Any]]:
    for phase, row in (("s", source), ("f", target)):
        lane = int(trace.slices.lane[row])
        time = int(trace.slices.begin[row]) - origin
        yield _flow_end(phase, rows.pids[lane], rows.tids[lane], time, number, "flow")


def _failures(
    trace: Trace, rows: _Rows, origin: int, found: list[failures.Failure], first_flow: int
) -> Iterator[dict[str, Any]]:
    """The row "Failures": an instant for each failed slice, and the arrow from the one to the
    other.
    """
    if not found:
        return
    first_lane = int(trace.slices.lane[found[0].row])
    pid, tid = rows.pids[first_lane], rows.failures
    yield {
        "ph": "M",
        "ts": 0,
        "pid": pid,
        "tid": tid,
        "name": "thread_name",
        "args": {"name": failures.ROW_NAME},
    }
    for number, failure in enumerate(found, first_flow):
        yield {
            "ph": "i",
            "s": "t",
            "ts": _us(failure.time - origin),
            "pid": pid,
            "tid": tid,
            "name": failure.name,
            "cat": failures.CATEGORY,
            "args": {},
        }
        lane = int(trace.slices.lane[failure.row])
        begin = int(trace.slices.begin[failure.row]) - origin
        category = failures.CATEGORY
        yield _flow_end("s", rows.pids[lane], rows.tids[lane], begin, number, category)
        yield _flow_end("f", pid, tid, failure.time - origin, number, category)


# ---------------------------------------------------------------------------------- reading


def read(data: bytes) -> TraceBuilder:
    """A builder with all that the file says. Raises UserError if it is no Chrome JSON trace."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UserError(f"not valid JSON: {error.msg} at line {error.lineno}") from None
    return _Reader().read(document)


class _Reader:
    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.origin = 0
        self.lanes: dict[int, int] = {}
        """Lane of each tid, of a file of ours."""
        self.foreign: dict[tuple[Json, Json], int] = {}
        self.processes: dict[Json, int] = {}
        self.stacks: dict[int, OpenSlices] = {}
        self.counters: dict[tuple[Json, str, str], int] = {}
        self.flows: dict[Json, list[tuple[int, int]]] = {}
        self.names: dict[tuple[str, Json, Json], str] = {}

    def read(self, document: Json) -> TraceBuilder:
        if isinstance(document, dict):
            other = document.get("otherData")
            sealed = other.get(envelope.NAME) if isinstance(other, dict) else None
            if isinstance(sealed, dict):
                self.origin, self.lanes = envelope.unseal(sealed, self.builder)
                for number, track in enumerate(self.builder.counter_tracks):
                    self.counters[None, track.name, track.unit or "value"] = number
            document = document.get("traceEvents")
        if not isinstance(document, list):
            raise UserError('JSON, but no trace: no list of events and no "traceEvents"')
        timed: list[tuple[int, dict[str, Json]]] = []
        for number, event in enumerate(document):
            if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
                raise UserError(f'event {number + 1} of "traceEvents" is no event: no "ph"')
            if event["ph"] == "M":
                arguments = event.get("args")
                if isinstance(arguments, dict) and isinstance(arguments.get("name"), str):
                    key = (event.get("name", ""), event.get("pid"), event.get("tid"))
                    self.names[key] = arguments["name"]
            elif event.get("cat") != failures.CATEGORY:
                timed.append((number, event))
        self._take(timed)
        return self.builder

    def _take(self, events: list[tuple[int, dict[str, Json]]]) -> None:
        rows: list[int] = []
        for number, event in events:
            before = len(self.builder.begins)
            phase = event["ph"]
            time = self._ns(event, "ts", number)
            if phase == "X":
                self._complete(event, time, number)
            elif phase in "BE":
                self._begin_or_end(event, time, number)
            elif phase in "iIR":
                self.builder.instant(
                    self._lane(event), time, *self._labels(event), _arguments(event)
                )
            elif phase == "C":
                self._counter(event, time)
            elif phase in "stf":
                key = (event.get("cat"), event.get("id"))
                self.flows.setdefault(key, []).append((time, self._lane(event)))
            else:
                self.builder.finding(
                    f"event {number + 1}", findings.UNKNOWN_PHASE, f"{phase!r} is left out"
                )
            rows.extend([number] * (len(self.builder.begins) - before))
        self.builder.place = lambda row: f"event {rows[row] + 1}"
        self._close()
        self._join_flows()

    def _ns(self, event: dict[str, Json], key: str, number: int) -> int:
        value = event.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UserError(f"event {number + 1}: {key!r} is no number of microseconds: {value!r}")
        ns = value * 1000 if isinstance(value, int) else round(value * 1000)
        return ns + self.origin if key == "ts" else ns

    def _labels(self, event: dict[str, Json]) -> tuple[str, str]:
        name, category = event.get("name"), event.get("cat")
        return str(name) if name is not None else "", str(category) if category is not None else ""

    def _complete(self, event: dict[str, Json], time: int, number: int) -> None:
        arguments = _arguments(event)
        name, category = self._labels(event)
        category = failures.read_category(category, arguments.get("status"))
        end = time + self._ns(event, "dur", number)
        self.builder.slice(self._lane(event), time, end, name, category, arguments)

    def _begin_or_end(self, event: dict[str, Json], time: int, number: int) -> None:
        lane = self._lane(event)
        stack = self.stacks.setdefault(lane, OpenSlices(self.builder, lane))
        if event["ph"] == "B":
            row: int | None = stack.begin(time, *self._labels(event))
        else:
            row = stack.end(time)
        if row is None:
            self.builder.finding(f"event {number + 1}", findings.END_WITHOUT_BEGIN, "left out")
        else:
            self.builder.arguments.add(row, _arguments(event))

    def _counter(self, event: dict[str, Json], time: int) -> None:
        name, _ = self._labels(event)
        for unit, value in _arguments(event).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            pid = None if self.lanes else event.get("pid")
            key = (pid, name, unit)
            if key not in self.counters:
                self.counters[key] = len(self.builder.counter_tracks)
                self.builder.counter_tracks.append(
                    CounterTrack(name, unit, process=self._process(event.get("pid")))
                )
            self.builder.counter(self.counters[key], time, float(value))

    def _lane(self, event: dict[str, Json]) -> int:
        pid, tid = event.get("pid"), event.get("tid", event.get("pid"))
        if tid in self.lanes:
            return self.lanes[tid]
        lane = self.foreign.get((pid, tid))
        if lane is None:
            process = self._process(pid)
            name = self.names.get(("thread_name", pid, tid), "")
            number = tid if isinstance(tid, int) else None
            thread = self.builder.thread(process, name or str(tid), number)
            lane = self.foreign[pid, tid] = self.builder.lane(Lane(thread))
        return lane

    def _process(self, pid: Json) -> int:
        if pid not in self.processes:
            names = (v for (k, p, _), v in self.names.items() if k == "process_name" and p == pid)
            number = pid if isinstance(pid, int) else None
            self.processes[pid] = self.builder.process(next(names, str(pid)), number)
        return self.processes[pid]

    def _close(self) -> None:
        """End what never ended at the last time of the trace."""
        last = max(self.builder.ends, default=0)
        for stack in self.stacks.values():
            for row in reversed(stack.rows):
                self.builder.ends[row] = max(last, self.builder.begins[row] + 1)
                place = self.builder.place(row) if self.builder.place else ""
                self.builder.finding(place, findings.NEVER_ENDED, "ends at the end of the trace")

    def _join_flows(self) -> None:
        """A step of a flow binds to the innermost slice of its lane around its time."""
        wanted = {lane for steps in self.flows.values() for _, lane in steps}
        if not wanted:
            return
        by_lane: dict[int, list[tuple[int, int, int]]] = {lane: [] for lane in wanted}
        for row, lane in enumerate(self.builder.slice_lanes):
            if lane in wanted:
                span = (self.builder.begins[row], -self.builder.ends[row], row)
                by_lane[lane].append(span)
        for spans in by_lane.values():
            spans.sort()
        for steps in self.flows.values():
            rows = [self._enclosing(by_lane[lane], time) for time, lane in sorted(steps)]
            found = [row for row in rows if row is not None]
            self.builder.flows.extend(zip(found, found[1:]))

    @staticmethod
    def _enclosing(spans: list[tuple[int, int, int]], time: int) -> int | None:
        found = None
        for begin, end, row in spans:
            if begin > time:
                break
            if time < -end:
                found = row
        return found


def _arguments(event: dict[str, Json]) -> dict[str, Json]:
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}
