"""The events of a file -> slices, instants, counters and flows of a builder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.formats.pftrace.counter_values import CounterValues
from tilelang_trace.formats.pftrace.event_columns import (
    ARRIVES_NEXT,
    COMPLETE,
    COUNTER,
    FARTHEST,
    INSTANT,
    SLICE_BEGIN,
    SLICE_END,
    StackEvents,
)
from tilelang_trace.formats.pftrace.flow_arrows import Around, Step, arrows
from tilelang_trace.formats.pftrace.named_ends import paired_by_name
from tilelang_trace.formats.pftrace.packet_reader import PacketReader
from tilelang_trace.formats.pftrace.read_arguments import ReadArguments, arguments_of
from tilelang_trace.formats.pftrace.stack_lanes import StackLanes
from tilelang_trace.formats.pftrace.track_keys import TrackKey
from tilelang_trace.formats.pftrace.track_owners import TrackOwners
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace import failures, rules
from tilelang_trace.trace.arguments import ERROR_STATUSES, FAILED
from tilelang_trace.trace.begin_end import Pairs
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Arguments, Ids, Mask
from tilelang_trace.trace.nesting import DEEPEST
from tilelang_trace.trace.rules import Rule


class Placing:
    """Puts the events of a file into a builder: what is on a track goes to a lane or a counter.

    Events that nest with each other are a stack: those of one lane, or of one id.
    """

    unfinished: dict[int, list[int]]
    """Per lane the rows of slices that never ended, outermost first; their ends are set to the last
    time.
    """
    arguments: ReadArguments
    """The arguments of the rows, not yet added to the builder."""
    rows: range
    """The rows of the builder that came from this file."""

    _left_behind: list[int]
    """Slices that never ended although one around them did."""

    def __init__(self, builder: TraceBuilder, packets: PacketReader) -> None:
        self._builder = builder
        self._packets = packets
        events = self._events = packets.events
        sealed = packets.documents.get(envelope.NAME)
        self.is_ours = any(name.startswith(envelope.NAME) for name in packets.documents)
        """Whether this project wrote the file."""
        opened = envelope.Opened(0, {}, [])
        self._is_sealed = isinstance(sealed, dict)
        if isinstance(sealed, dict):
            opened = envelope.unseal(sealed, builder)
        self._owners = TrackOwners(builder, packets.tracks, packets.tell)
        self._known_lanes: dict[TrackKey, int] = {}
        self._known_lanes.update(opened.lanes.items())
        counters: dict[TrackKey, int] = {uuid: n for n, uuid in enumerate(opened.counters)}
        if not self._is_sealed:
            self._owners.take_descriptors()
        self._numbers: Ints = events.column(events.numbers)
        self._kinds: npt.NDArray[np.int8] = events.column(events.kinds)
        self._names: Ids = events.column(events.names)
        self._category_ids: Ids = events.column(events.categories)
        times, is_lost = packets.clocks.on_trace_clock(
            self._numbers,
            events.column(events.times),
            events.column(events.clocks),
            is_monotonic=self.is_ours,
        )
        for number in self._numbers[is_lost].tolist():
            packets.tell(number, rules.UNKNOWN_CLOCK, "left out")
        self._is_lost = is_lost
        self._times = _moved(times, opened.origin)
        self._counters = CounterValues(packets, self._owners, self._times, counters)
        if not self._is_sealed:
            for uuid, track in packets.tracks.tracks.items():
                if track.thread is not None:
                    self._known_lanes[uuid] = self._owners.lane(uuid)
            self._counters.take_descriptors()
        kept = self._times[~is_lost] if is_lost.any() else self._times
        self.last_time = int(kept.max()) if len(kept) else opened.origin
        self._columns = events.arguments.columns()

    def where(self, row: int, more: str = "") -> Callable[[], str]:
        """Where a row of the builder stands in the file."""
        number = int(self._numbers[self._event_of_row[row - self.rows.start]])
        return lambda: f"byte {self._packets.places.of(number)}{more}"

    def _tell(self, event: int, rule: Rule, done: str) -> None:
        self._packets.tell(int(self._numbers[event]), rule, done)

    def place(self) -> None:
        """Put all events into the builder."""
        wanted = (self._kinds != COUNTER) & ~self._is_lost
        stack_lanes = StackLanes(
            self._builder,
            self._events,
            self._owners,
            self._known_lanes,
            self._times,
            is_sealed=self._is_sealed,
        )
        stacks, keys = stack_lanes.stacks(np.flatnonzero(wanted))
        kept = wanted & (stacks >= 0)
        order, parts = self._events.by_stack(np.flatnonzero(kept), self._times, stacks)
        lane_of_stack = stack_lanes.lanes(keys, order, parts)
        stack = stacks[order]
        lane = lane_of_stack[stack] if len(stack) else stack
        self._counters.place(self._builder, self._is_lost)
        self._place_instants(order, lane)
        row = self._place_slices(order, lane, stack)
        self._place_flows(row, order, parts)
        self._owners.take_names()
        if not self.is_ours:
            self._tell_of_siblings()

    def _tell_of_siblings(self) -> None:
        """Tell of tracks with events that Perfetto shows as one."""
        seen: set[tuple[int, str]] = set()
        used: Ints = np.bincount(self._events.column(self._events.tracks))
        for uuid, track in self._packets.tracks.tracks.items():
            number = self._events.keys.get(uuid, len(used))
            if number >= len(used) or not used[number] or not track.is_merged():
                continue
            group = track.parent, track.name
            if group in seen:
                done = f"a further track {track.name!r}, kept as a row of its own"
                self._packets.tell(track.number, rules.SHARED_NAME, done)
            seen.add(group)

    # ------------------------------------------------------------------- instants and slices

    def _place_instants(self, order: Ints, lane: Ids) -> None:
        is_instant = self._kinds[order] == INSTANT
        events = order[is_instant]
        first = self._builder.instants(
            lane[is_instant],
            self._times[events],
            self._names[events],
            self._category_ids[events],
        )
        number = np.full(len(self._events), -1, np.int32)
        number[events] = np.arange(first, first + len(events))
        arguments_of(self._columns, number, self._builder.strings).add_to(
            self._builder.instant_arguments
        )

    def _place_slices(self, order: Ints, lane: Ids, stack: Ids) -> Ids:
        """Add the slices; returns the row of each event, -1 if it is none of a slice."""
        builder = self._builder
        kinds = self._kinds[order]
        in_pairs = (kinds == SLICE_BEGIN) | (kinds == SLICE_END)
        events, its_stack = order[in_pairs], stack[in_pairs]
        begins = self._kinds[events] == SLICE_BEGIN
        pairs, self._left_behind = paired_by_name(
            its_stack,
            self._times[events],
            begins,
            self._names[events],
            self._category_ids[events],
            builder.strings.id(""),
        )
        begin_events = events[begins]

        whole = np.flatnonzero(kinds == COMPLETE)
        whole_events, whole_ends = order[whole], self._whole_ends(order[whole])
        self.last_time = max(self.last_time, int(whole_ends.max(initial=self.last_time)))
        # What began last of all lies within what is open around it.
        last = max(self.last_time, int(pairs.end[pairs.is_open].max(initial=self.last_time)))
        ends = np.where(pairs.is_open, last, pairs.end)

        all_events = begin_events
        if len(whole_events):
            all_events = np.concatenate([begin_events, whole_events])
        lanes = np.concatenate([lane[in_pairs][begins], lane[whole]])
        first = builder.slices(
            lanes,
            np.concatenate([pairs.begin, self._times[whole_events]]),
            np.concatenate([ends, whole_ends]),
            self._names[all_events],
            self._categories(all_events),
        )
        self.rows = range(first, len(builder.begins))
        self._event_of_row = all_events
        row = np.full(len(self._events), -1, np.int32)
        row[events] = np.where(pairs.of_event >= 0, pairs.of_event + np.int32(first), -1)
        row[whole_events] = np.arange(first + len(begin_events), self.rows.stop)
        self.unfinished = _unfinished(pairs, lanes, its_stack[begins], first)
        self.arguments = arguments_of(self._columns, row, builder.strings, self._kinds == SLICE_END)
        self._tell_of_pairs(events, its_stack, begins, pairs)
        return row

    def _whole_ends(self, events: Ints) -> Ints:
        """The ends of slices that are one event each."""
        times = self._times[events]
        if not len(events):
            return times
        rows, durations = (np.array(column) for column in self._events.durations)
        duration = np.zeros(len(self._events), np.int64)
        duration[rows] = durations
        return times + np.minimum(duration[events], FARTHEST - times)

    def _tell_of_pairs(self, events: Ints, stack: Ids, begins: Mask, pairs: Pairs) -> None:
        """Tell of ends without a begin, of slices that are too deep, and of times that were
        changed.
        """
        for event in events[pairs.of_event < 0].tolist():
            self._tell(event, rules.END_WITHOUT_BEGIN, "left out")
        if not len(events):
            return
        step = np.where(begins, np.int8(1), np.int8(-1))
        depth = np.cumsum(step, dtype=np.int32)
        first = np.flatnonzero(np.diff(stack, prepend=stack[:1] - np.int32(1)))
        before = depth[first] - step[first]
        sizes = np.diff(first, append=len(stack))
        if depth.max() - before.min() > DEEPEST:
            depth -= np.repeat(before, sizes)
            for event in events[begins & (depth > DEEPEST)].tolist():
                self._tell(event, rules.TOO_DEEP, "kept where it is")
        if self.is_ours:
            return
        times, begin_events = self._times[events], events[begins].tolist()
        for number in self._left_behind:
            done = "ends with what is around it"
            self._tell(begin_events[number], rules.NEVER_ENDED, done)
        is_end = np.flatnonzero(~begins & (pairs.of_event >= 0))
        its_slice = pairs.of_event[is_end]
        begin_times = times[begins]
        for number in np.flatnonzero(pairs.begin != begin_times).tolist():
            done = f"moved by {int(pairs.begin[number] - begin_times[number])} ns"
            self._tell(begin_events[number], rules.SHIFTED, done)
        for at in np.flatnonzero(pairs.end[its_slice] != times[is_end]).tolist():
            slice_, time = its_slice[at], int(times[is_end[at]])
            if time == begin_times[slice_]:
                rule, done = rules.EMPTY_SLICE, "lasted 0 ns, given 1 ns"
            else:
                rule, done = rules.SHIFTED, f"its end moved by {pairs.end[slice_] - time} ns"
            self._tell(int(events[is_end[at]]), rule, done)

    def _categories(self, begins: Ints) -> Ids:
        """The categories of slices, without the derived `error`."""
        strings = self._builder.strings
        written = self._category_ids[begins]
        categories = written.copy()
        texts = strings.texts()
        flagged = {}
        for id_ in np.flatnonzero(np.bincount(written)).tolist():
            bare = failures.read_category(texts[id_], FAILED)
            if bare != texts[id_]:
                flagged[id_] = strings.id(bare)
        if flagged:
            statuses = Arguments(self._columns, texts).strings("status", len(self._events))[begins]
            known = [strings.ids[status] for status in ERROR_STATUSES if status in strings.ids]
            is_error = np.isin(statuses, known)
            for id_, bare_id in flagged.items():
                categories[is_error & (written == id_)] = bare_id
        return categories

    # -------------------------------------------------------------------------------- flows

    def _place_flows(self, row: Ids, order: Ints, parts: list[StackEvents]) -> None:
        flows = self._events.flows
        if not flows:
            return
        kept = np.zeros(len(self._events), np.bool_)
        kept[order] = True
        row_of = {event: int(row[event]) for event, _, _ in flows if kept[event]}
        nexts = {event for event, _, does in flows if does == ARRIVES_NEXT}
        around = Around(row, self._times, self._kinds, self._builder.ends)
        wanted = {event for event, at in row_of.items() if at < 0}
        row_of |= around.rows_of(wanted, nexts, [order[part.first : part.stop] for part in parts])
        steps = (
            (flow, Step.of(int(self._times[event]), int(self._numbers[event]), event, does))
            for event, flow, does in flows
            if kept[event]
        )

        def lost(event: int, why: str) -> None:
            if not self.is_ours:
                self._tell(event, rules.LOOSE_FLOW, f"{why}, the arrow is left out")

        begin = self._builder.begins.__getitem__
        self._builder.flows += arrows(steps, row_of, begin, lost, is_ours=self._is_sealed)


def _moved(times: Ints, origin: int) -> Ints:
    """Times from where the file's own header says that zero is."""
    if not origin:
        return times
    for time in (times.min(), times.max()) if len(times) else (0,):
        if not -(2**63) <= int(time) + origin < 2**63:
            raise UserError(
                f"the trace's own header is damaged: no time is {int(time) + origin} ns"
            )
    return times + origin


def _unfinished(pairs: Pairs, lane: Ids, stack: Ids, first: int) -> dict[int, list[int]]:
    """Per lane the rows of the slices that never ended."""
    found: dict[int, list[int]] = {}
    for number in np.flatnonzero(pairs.is_open).tolist():
        found.setdefault(int(lane[number]), []).append(first + number)
    return found
