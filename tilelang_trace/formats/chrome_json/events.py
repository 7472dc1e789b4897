"""Events of Chrome JSON traces, of any tool and in any order -> a builder.

Source of the form: the Trace Event Format document, and what Perfetto's JSON importer makes of it.
Nothing but an envelope of ours that is damaged is an error: what an event lacks is a finding.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from functools import partial

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.formats.chrome_json import ids, times
from tilelang_trace.formats.chrome_json.arrows import Arrows
from tilelang_trace.formats.chrome_json.async_slices import AsyncEvent, AsyncSlices
from tilelang_trace.formats.chrome_json.begins_and_ends import BeginOrEnd, BeginsAndEnds
from tilelang_trace.formats.chrome_json.checks import THREAD_TIMES, Checks
from tilelang_trace.formats.chrome_json.counters import Counters
from tilelang_trace.formats.chrome_json.ids import shown
from tilelang_trace.formats.chrome_json.instants import Instant, Instants
from tilelang_trace.formats.chrome_json.rows import Rows
from tilelang_trace.trace import failures, rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json

Event = dict[str, Json]


class EventReader:
    """Puts events into a builder: first `open`, for a file of ours; then each event, in the order
    of the file; then `finish`.

    `place` names the event with a number (1 is the first of the file) for a person: where it is.
    """

    def __init__(self, place: Callable[[int], str]) -> None:
        self._place = place
        self.builder = TraceBuilder()
        self.opened = envelope.Opened(0, {}, [])
        self.is_ours = False
        self._arrows_of_ours: Json = []
        self._rows = Rows(self.builder, self._tell)
        self._counters = Counters(self.builder, self._rows.process, self._tell)
        self._async = AsyncSlices(self.builder)
        self._arrows = Arrows(self.builder, self._tell)
        self._instants = Instants(self.builder)
        self._begins_and_ends = BeginsAndEnds(self.builder, self._tell)
        self._checks = Checks(self._tell)
        self.numbers = array("q")
        """Number of the event that each row of the builder came from."""
        self._is_empty = True
        self._first_bad: int | None = None
        """Number of the first thing that is no event."""

    def open(self, sealed: Mapping[str, Json]) -> None:
        """Take what an envelope says. Raises UserError if it is damaged."""
        self.is_ours = True
        self.opened = envelope.unseal(sealed, self.builder)
        self._counters.open(self.opened.counters)
        self._arrows_of_ours = sealed.get("flows", [])

    def take(self, number: int, event: Json) -> None:
        """Take an event; `number` is its place in the file."""
        phase = event.get("ph") if isinstance(event, dict) else None
        if not isinstance(phase, str) or not phase:
            if event != {}:  # which some tools write behind the last comma
                what = "no object" if not isinstance(event, dict) else "no phase"
                self._tell(number, rules.NO_EVENT, f"{what}: left out")
                self._first_bad = self._first_bad or number
            return
        self._is_empty = False
        phase = phase[0]  # all that counts for Perfetto
        if phase == "M":
            self._checks.numbers(number, event, "M")
            self._rows.take_metadata(number, event)
            return
        take = _TAKE.get(phase)
        if take is None:
            done = f"phase {event['ph']!r} is left out"
            self._tell(number, rules.UNKNOWN_PHASE, done)
            return
        if self.is_ours and self._is_derived(phase, event):
            return
        exact = times.exact(event.get("ts"))
        if exact is None:
            done = f"'ts' is {shown(event.get('ts'))}: left out"
            self._tell(number, rules.NO_TIME, done)
            return
        time = self.opened.origin + times.nanoseconds(exact)
        if time not in times.CLOCK:
            done = f"'ts' is {shown(event['ts'])}: left out"
            self._tell(number, rules.FAR_TIME, done)
            return
        if not self.is_ours:
            self._checks.event(number, event, phase, exact)
        take(self, number, event, phase, time)

    def finish(self) -> TraceBuilder:
        """The builder, after the last event. Raises UserError if the envelope is damaged, or if
        there are things in the list, but no events.
        """
        if self._is_empty and self._first_bad is not None:
            raise UserError(f"no trace: {self._place(self._first_bad)} is no event, nor is another")
        builder, numbers = self.builder, self.numbers
        self._begins_and_ends.pair(self._async, numbers.__getitem__)
        self._async.stand_on_lanes()
        builder.place = lambda row: self._place(numbers[row])
        if self.is_ours:
            self._take_flows(self._arrows_of_ours)
        else:
            self._instants.settle(self._arrows.points(self._rows.lanes), self._add_point)
            begun = self._begins_and_ends.rows()
            self._arrows.join(self._rows.lanes, set(begun), numbers.__getitem__)
            self._checks.depth(builder, numbers.__getitem__)
            self._checks.begins(builder, begun, numbers.__getitem__)
            self._rows.add_idle()
            self._tell_real_time()
        self._rows.name()
        if not self.is_ours:
            self._rows.sort()
        return builder

    # ------------------------------------------------------------------------- files of ours

    def _take_flows(self, flows: Json) -> None:
        """The arrows of a file of ours: pairs of slices, by their number in the file."""
        known = range(len(self.builder.begins))
        for flow in flows if isinstance(flows, list) else [flows]:
            if not (
                isinstance(flow, list)
                and len(flow) == 2
                and all(type(row) is int and row in known for row in flow)
            ):
                raise UserError(f"the trace's own header is damaged: no flow is {shown(flow)}")
            self.builder.flows.append((flow[0], flow[1]))

    def _is_derived(self, phase: str, event: Event) -> bool:
        """Whether the writer made it for viewers: the row "Failures", and arrows."""
        if phase in "stf":
            return True  # the envelope has the arrows themselves
        return event.get("cat") == failures.CATEGORY and self._lane_of_ours(event) is None

    def _lane_of_ours(self, event: Event) -> int | None:
        tid = event.get("tid")
        return self.opened.lanes.get(tid) if type(tid) is int else None

    # ------------------------------------------------------------------- what all events have

    def _tell(self, number: int, rule: rules.Rule, done: str) -> None:
        self.builder.finding(partial(self._place, number), rule, done)

    def _tell_real_time(self) -> None:
        """Where times are those since 1970, say in the metadata when the first slice begins, as a
        recording does: it stays known where times are written from zero on.
        """
        first = min(self.builder.begins, default=0)
        if first in _SINCE_1970:
            start = {"realtime_ns": first, "monotonic_ns": first}
            self.builder.metadata.setdefault("start", start)

    def _lane(self, number: int, event: Event) -> int:
        """The lane of an event's thread."""
        lane = self._lane_of_ours(event) if self.is_ours else None
        return self._rows.lane(number, event) if lane is None else lane

    def _labels(self, number: int, event: Event) -> tuple[str, str]:
        """Name and category."""
        name, category = event.get("name"), event.get("cat")
        if name.__class__ is str and category.__class__ is str:
            return name, category
        for key, value in (("name", name), ("cat", category)):
            if value is not None and not isinstance(value, str):
                done = f"{key!r} is {shown(value)}: taken as text"
                self._tell(number, rules.NO_TEXT, done)
        return _texts(event)

    def _arguments_of(self, number: int, event: Event) -> dict[str, Json]:
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            if arguments is not None:
                done = f"'args' is {shown(arguments)}: kept as one argument"
                self._tell(number, rules.NO_ARGUMENTS, done)
            arguments = {} if arguments is None else {"args": arguments}
        if not self.is_ours:
            for key in THREAD_TIMES:
                if key in event:
                    arguments = {key: event[key], **arguments}
        return arguments

    # -------------------------------------------------------------------------- the phases

    def _begin(self, number: int, event: Event, lane: int, begin: int, end: int) -> int:
        """The row of a slice that begins here, without its arguments."""
        name, category = self._labels(number, event)
        arguments = event.get("args")
        status = arguments.get("status") if isinstance(arguments, dict) else None
        category = failures.read_category(category, status)
        self.numbers.append(number)
        return self.builder.slice(lane, begin, end, name, category)

    def _take_slice(self, number: int, event: Event, phase: str, time: int) -> None:
        begin, duration = times.exact(event["ts"]), times.exact(event.get("dur"))
        end = time + 1
        if begin is None or duration is None:
            done = f"'dur' is {shown(event.get('dur'))}: given 1 ns"
            self._tell(number, rules.NO_DURATION, done)
        else:
            end = self.opened.origin + times.nanoseconds(times.total(begin, duration))
        if end not in times.CLOCK:
            done = f"'dur' is {shown(event['dur'])}: given 1 ns"
            self._tell(number, rules.FAR_TIME, done)
            end = time + 1
        row = self._begin(number, event, self._lane(number, event), time, end)
        if arguments := self._arguments_of(number, event):
            self.builder.arguments.add(row, arguments)
        self._bind(number, event, time, row)

    def _take_begin_or_end(self, number: int, event: Event, phase: str, time: int) -> None:
        lane, row = self._lane(number, event), -1
        if phase == "B":
            row = self._begin(number, event, lane, time, time + 1)
            self._bind(number, event, time, row)
        labels = _texts(event) if row >= 0 else self._labels(number, event)
        arguments = self._arguments_of(number, event)
        self._begins_and_ends.take(lane, BeginOrEnd(time, number, row, *labels, arguments))

    def _take_instant(self, number: int, event: Event, phase: str, time: int) -> None:
        scope = event.get("s")
        owner = {"g": None, "p": "pid"}.get(scope, "tid") if isinstance(scope, str) else "tid"
        if owner is not None and ids.row_id(event.get(owner)) is None:
            self._tell(number, rules.NO_OWNER, f"an instant without {owner!r}: kept")
        if owner == "tid":
            lane = self._lane(number, event)
        else:
            lane = self._rows.lane_of_instants(number, event, owner == "pid")
        labels, arguments = self._labels(number, event), self._arguments_of(number, event)
        if owner == "tid" and not self.is_ours:
            self._instants.take(Instant(lane, time, number, *labels, arguments))
        else:
            self.builder.instant(lane, time, *labels, arguments)

    def _add_point(self, instant: Instant) -> None:
        """Make a slice of an instant that has an arrow."""
        self.numbers.append(instant.number)
        begin, end = instant.time, instant.time + 1
        row = self.builder.slice(instant.lane, begin, end, instant.name, instant.category)
        self.builder.arguments.add(row, instant.arguments)

    def _take_counter(self, number: int, event: Event, phase: str, time: int) -> None:
        name, _ = self._labels(number, event)
        self._counters.take(number, event, name, time)

    def _take_async(self, number: int, event: Event, phase: str, time: int) -> None:
        name, category = _texts(event) if phase == "b" else self._labels(number, event)
        id_, pid = ids.async_id(event), ids.row_id(event.get("pid"))
        if id_ is None or pid is None:
            missing = "pid" if pid is None else "id"
            self._tell(number, rules.NO_OWNER, f"an async event without {missing!r}: kept")
        elif not ids.is_async_id_read(event):
            self._tell(number, rules.NO_OWNER, f"the async id is {shown(id_[1])}: kept")
        pid = 0 if pid is None else pid
        scope = ids.text(event.get("scope", ""))
        if id_ is None:
            group: tuple[ids.Id, ...] = ("no id", pid, category, name)
        else:
            of = (pid,) if id_[0] == "local" else ()
            group = (id_[0], *of, category, scope, id_[1])
        process, row = self._rows.process(number, event), -1
        if phase == "b":
            row = self._begin(number, event, -1, time, time + 1)
            self._bind(number, event, time, row)
        arguments = self._arguments_of(number, event)
        self._async.take(
            AsyncEvent(time, number, phase, name, category, group, process, row, arguments)
        )

    def _take_arrow(self, number: int, event: Event, phase: str, time: int) -> None:
        labels, thread = self._labels(number, event), self._rows.key(event)
        self._arrows.take_event(number, event, phase, time, labels, thread)

    def _bind(self, number: int, event: Event, time: int, row: int) -> None:
        if "bind_id" in event and not self.is_ours:
            self._arrows.take_slice(number, event, time, row, self._rows.key(event))


_SINCE_1970 = range(10**18, 4 * 10**18)
"""Times (ns) that a clock shows which counts from 1970 (2001 to 2096), and no other."""

_TAKE: dict[str, Callable[[EventReader, int, Event, str, int], None]] = {
    "X": EventReader._take_slice,
    **dict.fromkeys("BE", EventReader._take_begin_or_end),
    **dict.fromkeys("iIR", EventReader._take_instant),
    "C": EventReader._take_counter,
    **dict.fromkeys("ben", EventReader._take_async),
    **dict.fromkeys("stf", EventReader._take_arrow),
}
"""What takes the events of each phase but M."""


def _texts(event: Event) -> tuple[str, str]:
    """Name and category, whatever they are."""
    name, category = event.get("name"), event.get("cat")
    return "" if name is None else ids.text(name), "" if category is None else ids.text(category)
