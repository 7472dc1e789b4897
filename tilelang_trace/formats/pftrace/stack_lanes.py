"""Events -> stacks of events that nest with each other, and stacks -> lanes of a builder."""

from __future__ import annotations

import heapq
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.event_columns import (
    FARTHEST,
    SLICE_BEGIN,
    SLICE_END,
    EventColumns,
    StackEvents,
)
from tilelang_trace.formats.pftrace.track_keys import AsyncKey, TrackKey
from tilelang_trace.formats.pftrace.track_owners import TrackOwners
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace import failures
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Ids


class StackLanes:
    """Finds the stack of each event, and the lane of each stack. `known` are the lanes of tracks
    that are known already; in a file of ours (`is_sealed`) the row of failures is left out.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        events: EventColumns,
        owners: TrackOwners,
        known: dict[TrackKey, int],
        times: Ints,
        *,
        is_sealed: bool,
    ) -> None:
        self._builder = builder
        self._events = events
        self._owners = owners
        self._known_lanes = known
        self._times = times
        self._is_sealed = is_sealed
        self._numbers: Ints = events.column(events.numbers)
        self._names: Ids = events.column(events.names)
        self._kinds: npt.NDArray[np.int8] = events.column(events.kinds)
        self._lane_names: dict[int, str] = {}
        """The name of the first event of each stack."""

    def stacks(self, rows: Ints) -> tuple[Ids, list[TrackKey]]:
        """The stack of each event, -1 if it is left out, and one of the tracks of each stack."""
        tracks: Ids = self._events.column(self._events.tracks)
        keys = list(self._events.keys)
        if np.any(self._numbers[1:] < self._numbers[:-1]):
            rows = rows[np.argsort(self._numbers[rows], kind="stable")]
        first = np.full(len(keys), -1, np.int64)
        first[tracks[rows[::-1]]] = rows[::-1]  # of several, the first one stays
        used = np.flatnonzero(first >= 0)
        used = used[np.argsort(self._numbers[first[used]], kind="stable")]
        numbers: dict[Hashable, int] = {}
        found: list[TrackKey] = []
        of_track = np.full(len(keys), -1, np.int32)
        texts = self._builder.strings.texts() if len(keys) else ()
        for number in used.tolist():
            key = keys[number]
            identity: Hashable
            if isinstance(key, AsyncKey):
                identity = (*self._owners.owner(key), key.scope, key.id)
            else:
                identity = self._lane(key, texts[self._names[first[number]]])
                if identity < 0:
                    continue
            stack = numbers.setdefault(identity, len(numbers))
            if stack == len(found):
                found.append(key)
                self._lane_names[stack] = texts[self._names[first[number]]]
            of_track[number] = stack
        return of_track[tracks] if len(tracks) else tracks, found

    def _lane(self, key: TrackKey, name: str) -> int:
        """The lane of a track; -1 if its events are left out."""
        if key not in self._known_lanes:
            if self._is_sealed and self._owners.name(key) == failures.ROW_NAME:
                return -1  # it is derived from the failed slices when the trace is written
            self._known_lanes[key] = self._owners.lane(key, name)
        return self._known_lanes[key]

    def lanes(self, keys: list[TrackKey], order: Ints, parts: list[StackEvents]) -> Ids:
        """The lane of each stack. Slices with ids that have one name share lanes, as far as they
        are not at the same time.
        """
        lanes = np.zeros(len(keys), np.int32)
        free: dict[tuple[Hashable, str], list[tuple[int, int]]] = {}
        spans: list[tuple[int, int, int]] = []
        for part in parts:
            if isinstance(keys[part.stack], AsyncKey):
                events = order[part.first : part.stop]
                kinds = self._kinds[events]
                is_open = np.count_nonzero(kinds == SLICE_BEGIN) > np.count_nonzero(
                    kinds == SLICE_END
                )
                stop = FARTHEST if is_open else int(self._times[events[-1]])
                spans.append((int(self._times[events[0]]), stop, part.stack))
            else:
                lanes[part.stack] = self._known_lanes[keys[part.stack]]
        for start, stop, stack in sorted(spans):
            key, name = keys[stack], self._lane_names[stack]
            waiting = free.setdefault((self._owners.owner(key), name), [])
            if waiting and waiting[0][0] < start:
                lane = heapq.heappop(waiting)[1]
            else:
                lane = self._owners.lane(key, name)
            heapq.heappush(waiting, (stop, lane))
            lanes[stack] = lane
        return lanes
