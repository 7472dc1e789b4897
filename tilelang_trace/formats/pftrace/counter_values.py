"""The values of counters in a file -> counters of a builder.

Source of the rules: Perfetto's counter_descriptor.proto: values are in units of `unit_multiplier`;
those of an incremental counter add up, on each sequence by itself and until its state is cleared.
"""

from __future__ import annotations

import numpy as np

from tilelang_trace.formats.pftrace.packet_reader import PacketReader
from tilelang_trace.formats.pftrace.track_descriptors import Counter
from tilelang_trace.formats.pftrace.track_keys import TrackKey
from tilelang_trace.formats.pftrace.track_owners import TrackOwners
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace import rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Mask


class CounterValues:
    """Places values of counters. `counters` are those that the file's own header knows."""

    def __init__(
        self,
        packets: PacketReader,
        owners: TrackOwners,
        times: Ints,
        counters: dict[TrackKey, int],
    ) -> None:
        self._packets = packets
        self._owners = owners
        self._times = times
        self._counters = counters

    def take_descriptors(self) -> None:
        """Add the counters that have descriptors, in the order of those."""
        for uuid, track in self._packets.tracks.tracks.items():
            if track.counter is not None:
                self._counter(uuid)

    def _counter(self, key: TrackKey) -> int | None:
        if key not in self._counters:
            found = self._owners.counter(key)
            if found is not None:
                self._counters[key] = found
        return self._counters.get(key)

    def place(self, builder: TraceBuilder, is_lost: Mask) -> None:
        """Add the values to the builder, but for those of events that are lost."""
        events = self._packets.events
        rows, tracks, values, states = (events.column(c) for c in events.values)
        if is_lost.any():
            kept = ~is_lost[rows]
            rows, tracks, values, states = (c[kept] for c in (rows, tracks, values, states))
        if not len(rows):
            return
        numbers: Ints = events.column(events.numbers)
        keys = list(events.keys)
        order = np.lexsort((numbers[rows], tracks))
        starts = np.flatnonzero(np.diff(tracks[order], prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(order)]):
            its = order[start:stop]
            key = keys[tracks[its[0]]]
            counter = self._counter(key)
            if counter is None:
                for number in numbers[rows[its]].tolist():
                    done = "a value on a track that is no counter, left out"
                    self._packets.tell(number, rules.UNPLACED, done)
                continue
            track = self._packets.tracks.tracks.get(key) if isinstance(key, int) else None
            its_values = values[its]
            if track is not None and track.counter is not None:
                its_values = _absolute(track.counter, its_values, states[its])
            times = self._times[rows[its]]
            if np.any(times[1:] < times[:-1]):
                by_time = np.argsort(times, kind="stable")
                times, its_values = times[by_time], its_values[by_time]
            builder.counters(counter, times, its_values)


def _absolute(counter: Counter, values: Ints, states: Ints) -> Ints:
    """Values in the counter's unit, given in the order of the file."""
    if counter.multiplier != 1:
        values = values * counter.multiplier
    if not counter.is_incremental:
        return values
    by_state = np.argsort(states, kind="stable")
    total = np.cumsum(values[by_state])
    starts = np.flatnonzero(np.diff(states[by_state], prepend=-1))
    before = total[starts] - values[by_state][starts]
    absolute = np.empty_like(total)
    absolute[by_state] = total - np.repeat(before, np.diff(starts, append=len(total)))
    return absolute
