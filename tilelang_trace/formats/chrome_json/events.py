"""Events of Chrome JSON traces, of any tool and in any order -> a builder.

Source of the form: the Trace Event Format document, and what Perfetto's JSON importer makes of it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from operator import itemgetter

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.trace import failures, findings
from tilelang_trace.trace.begin_end import OpenSlices
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import CounterTrack, Lane


class EventReader:
    """Puts events into a builder: first `open`, for a file of ours; then names and events; then
    `finish`.
    """

    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.opened = envelope.Opened(0, {}, [])
        self.is_ours = False
        self._arrows: Json = []
        self.foreign: dict[tuple[Json, Json], int] = {}
        """Lane of each (pid, tid) that no envelope names."""
        self.processes: dict[Json, int] = {}
        self.counters: dict[tuple[Json, str, str, str | None], int] = {}
        self.begins_and_ends: dict[int, list[tuple[int, int, dict[str, Json]]]] = {}
        """Per lane (time, number of the event, event)."""
        self.flows: dict[Json, list[tuple[str, int, int]]] = {}
        """Per flow (phase, time, lane)."""
        self.names: dict[tuple[str, Json, Json], str] = {}
        self.begin_arguments: dict[int, dict[str, Json]] = {}
        """Arguments of the slices from begins and ends; of one name the end's counts."""
        self.numbers = array("q")
        """Number of the event that each row of the builder came from."""

    def open(self, sealed: Mapping[str, Json]) -> None:
        """Take what an envelope says. Raises UserError if it is damaged."""
        self.is_ours = True
        self.opened = envelope.unseal(sealed, self.builder)
        for number, (pid, track) in enumerate(
            zip(self.opened.counters, self.builder.counter_tracks)
        ):
            key = (pid, track.name, track.unit or "value", None)
            self.counters[(*key[:3], str(number)) if key in self.counters else key] = number
        self._arrows = sealed.get("flows", [])

    def finish(self) -> TraceBuilder:
        """The builder, after the last event. Raises UserError if the envelope is damaged."""
        self._take_begins_and_ends()
        for row, arguments in self.begin_arguments.items():
            self.builder.arguments.add(row, arguments)
        numbers = self.numbers
        self.builder.place = lambda row: f"event {numbers[row]}"
        if self.is_ours:
            self._take_flows(self._arrows)
        else:
            self._join_flows()
        return self.builder

    def _take_flows(self, flows: Json) -> None:
        """The arrows of a file of ours: pairs of slices, by their number in the file."""
        known = range(len(self.builder.begins))
        for flow in flows if isinstance(flows, list) else [flows]:
            if not (
                isinstance(flow, list) and len(flow) == 2 and all(row in known for row in flow)
            ):
                raise UserError(f"the trace's own header is damaged: no flow is {flow!r}")
            self.builder.flows.append((flow[0], flow[1]))

    def _is_derived(self, event: dict[str, Json]) -> bool:
        """Whether the writer made it for viewers: the row "Failures", and arrows."""
        if event["ph"] in "stf":
            return True  # the envelope has the arrows themselves
        return event.get("cat") == failures.CATEGORY and event.get("tid") not in self.opened.lanes

    def take_name(self, event: dict[str, Json]) -> None:
        """Take an event of the phase M. Names count for events that come after them."""
        arguments = event.get("args")
        if isinstance(arguments, dict) and isinstance(arguments.get("name"), str):
            pid, tid = _id(event.get("pid")), _id(event.get("tid"))
            self.names[str(event.get("name")), pid, tid] = arguments["name"]

    def take(self, number: int, event: dict[str, Json]) -> None:
        """Take an event of any other phase; `number` is its place in the file. Raises UserError."""
        if self.is_ours and self._is_derived(event):
            return
        phase = event["ph"]
        place = f"event {number}"
        for key in ("pid", "tid"):
            if isinstance(event.get(key), (list, dict)):
                raise UserError(f"{place}: {key!r} is no number and no text: {event[key]!r}")
        if phase not in _READ:
            self.builder.finding(place, findings.UNKNOWN_PHASE, f"{phase!r} is left out")
            return
        time = self._ns(event, "ts", place, self.opened.origin)
        if phase == "C":
            self._take_counter(event, time)
            return
        lane = self._lane(event)
        if phase == "X":
            end = self._ns(event, "dur", place, time)
            self._slice(number, event, lane, time, end)
        elif phase in "BE":
            self.begins_and_ends.setdefault(lane, []).append((time, number, event))
        elif phase in "stf":
            flow = (event.get("cat"), str(event.get("id")))
            self.flows.setdefault(flow, []).append((phase, time, lane))
        else:
            self.builder.instant(lane, time, *_labels(event), _arguments(event))

    @staticmethod
    def _ns(event: dict[str, Json], key: str, place: str, since: int) -> int:
        """A time in ns. The part behind the point is taken alone, so that nothing is rounded."""
        value = event.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UserError(f"{place}: {key!r} is no number of microseconds: {value!r}")
        whole = int(value)
        time = since + whole * 1000 + round((value - whole) * 1000)
        if time not in CLOCK:
            raise UserError(f"{place}: {key!r} is farther away than any clock: {value!r}")
        return time

    def _slice(self, number: int, event: dict[str, Json], lane: int, begin: int, end: int) -> None:
        arguments = _arguments(event)
        name, category = _labels(event)
        category = failures.read_category(category, arguments.get("status"))
        self.builder.slice(lane, begin, end, name, category, arguments)
        self.numbers.append(number)

    def _take_begins_and_ends(self) -> None:
        """Pair them, lane by lane in the order of their times."""
        last = max(
            (
                *self.builder.ends,
                *(time for events in self.begins_and_ends.values() for time, _, _ in events),
            ),
            default=0,
        )
        for lane, events in self.begins_and_ends.items():
            events.sort(key=itemgetter(0))
            stack = OpenSlices(self.builder, lane)
            for time, number, event in events:
                self._begin_or_end(stack, time, number, event)
            for row in reversed(stack.rows):
                self.builder.ends[row] = max(last, self.builder.begins[row] + 1)
                place = f"event {self.numbers[row]}"
                self.builder.finding(place, findings.NEVER_ENDED, "ends at the end of the trace")

    def _begin_or_end(
        self, stack: OpenSlices, time: int, number: int, event: dict[str, Json]
    ) -> None:
        place = f"event {number}"
        if event["ph"] == "B":
            name, category = _labels(event)
            status = _arguments(event).get("status")
            row: int | None = stack.begin(time, name, failures.read_category(category, status))
            self.numbers.append(number)
        else:
            row = stack.end(time)
        if row is None:
            self.builder.finding(place, findings.END_WITHOUT_BEGIN, "left out")
            return
        if stack.moved:
            self.builder.finding(place, findings.SHIFTED, f"moved by {stack.moved} ns")
        self.begin_arguments.setdefault(row, {}).update(_arguments(event))

    def _take_counter(self, event: dict[str, Json], time: int) -> None:
        name, _ = _labels(event)
        id_ = str(event["id"]) if "id" in event else None
        for unit, value in _arguments(event).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            key = (event.get("pid"), name, unit, id_)
            if key not in self.counters:
                self.counters[key] = len(self.builder.counter_tracks)
                self.builder.counter_tracks.append(
                    CounterTrack(name, unit, process=self._process(event.get("pid")))
                )
            self.builder.counter(self.counters[key], time, float(value))

    def _lane(self, event: dict[str, Json]) -> int:
        pid, tid = event.get("pid"), event.get("tid", event.get("pid"))
        if tid in self.opened.lanes:
            return self.opened.lanes[tid]
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

    def _join_flows(self) -> None:
        """A step of a flow binds to the innermost slice of its lane around its time."""
        wanted = {lane for steps in self.flows.values() for _, _, lane in steps}
        spans: dict[int, list[tuple[int, int, int]]] = {lane: [] for lane in wanted}
        for row, lane in enumerate(self.builder.slice_lanes):
            if lane in wanted:
                spans[lane].append((self.builder.begins[row], -self.builder.ends[row], row))
        for found in spans.values():
            found.sort()
        for steps in self.flows.values():
            # s before t before f, also where their times are equal
            steps.sort(key=lambda step: ("stf".index(step[0]), step[1]))
            rows = [_innermost(spans[lane], time) for _, time, lane in steps]
            joined = [row for row in rows if row is not None]
            self.builder.flows.extend(zip(joined, joined[1:]))


_READ = frozenset("XBEiIRCstf")
"""Phases of events that are read; M, the names, comes before them."""

CLOCK = range(-(2**63) + 2**32, 2**63 - 2**32)
"""Times that are read, ns: 64 bits, with room for what the mending of slices adds."""


def _id(value: Json) -> Json:
    """A pid or tid as a key of a dictionary."""
    return str(value) if isinstance(value, (list, dict)) else value


def _labels(event: dict[str, Json]) -> tuple[str, str]:
    name, category = event.get("name"), event.get("cat")
    return str(name) if name is not None else "", str(category) if category is not None else ""


def _arguments(event: dict[str, Json]) -> dict[str, Json]:
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _innermost(spans: list[tuple[int, int, int]], time: int) -> int | None:
    """The row of the innermost of these (begin, -end, row), sorted, around a time."""
    for index in reversed(range(bisect_right(spans, (time, 0, 0)))):
        _, minus_end, row = spans[index]
        if time < -minus_end:
            return row
    return None
