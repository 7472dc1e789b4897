"""Times on the clocks of a file -> times on one clock, that of the trace.

Source of the rules: Perfetto's clock_snapshot.proto and clock_synchronizer.h. A snapshot says what
several clocks showed at one moment. A time is moved by the snapshot at or before it, to a clock
that is in the same snapshots, and over at most four steps. Clocks 64 to 127 belong to one sequence,
and may count in deltas.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilelang_trace.formats.pftrace.event_columns import FARTHEST
from tilelang_trace.formats.pftrace.numbers import CLOCK_BOOTTIME, CLOCK_MONOTONIC
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace.model import Mask

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_SEQUENCE_CLOCKS = range(64, 128)
_MOST_STEPS = 4

TRACE_CLOCK, MONOTONIC_CLOCK = 0, 1
"""Numbers of clocks: that of the trace, which times have that name none; and the monotonic one, of
older events, which is taken for the former if nothing relates them.
"""


class _Unit(NamedTuple):
    ns: int
    is_incremental: bool


class Clocks:
    """The clocks of a file. Each has a number here, by its id and, if it has one, its sequence."""

    def __init__(self) -> None:
        self._keys: dict[tuple[int, int], int] = {(0, 0): 0, (0, -CLOCK_MONOTONIC): 1}
        """The number of each clock, by sequence and id."""
        self._units: dict[int, _Unit] = {}
        self._groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        """Per set of clocks what they showed, ns."""
        self._ticks = array("q"), array("i"), array("q"), array("b")
        """What moves clocks that count in deltas, beside events: packet, clock, time, and whether
        it is absolute.
        """
        self._primary = 0
        self._shown: dict[tuple[int, ...], Ints] = {}
        """What is in `_groups`, as arrays."""

    def number(self, sequence: int, id_: int) -> int:
        """The number of a clock."""
        key = (sequence if id_ in _SEQUENCE_CLOCKS else 0, id_)
        return self._keys.setdefault(key, len(self._keys))

    def tick(self, number: int, clock: int, time: int, is_absolute: bool = False) -> None:
        """Take notice that a packet without an event has a time."""
        for column, entry in zip(self._ticks, (number, clock, min(time, FARTHEST), is_absolute)):
            column.append(entry)

    def take(self, number: int, sequence: int, snapshot: pb.ClockSnapshot) -> None:
        """Take what a snapshot says."""
        shown = {}
        for entry in snapshot.clocks:
            clock = self.number(sequence, entry.clock_id)
            unit = self._units.setdefault(
                clock, _Unit(entry.unit_multiplier_ns or 1, entry.is_incremental)
            )
            shown[clock] = min(entry.timestamp * unit.ns, FARTHEST)
            if unit.is_incremental:
                self.tick(number, clock, shown[clock], is_absolute=True)
        if shown:
            clocks = tuple(sorted(shown))
            self._groups.setdefault(clocks, []).append(tuple(shown[clock] for clock in clocks))
        self._primary = self._primary or snapshot.primary_trace_clock

    def on_trace_clock(
        self, numbers: Ints, times: Ints, clocks: Ints, is_monotonic: bool
    ) -> tuple[Ints, Mask]:
        """Times on the clock of the trace, and which of them could not be moved there.

        `numbers` are those of the packets, `clocks` those of the clocks. `is_monotonic` says that
        the trace's clock is the monotonic one, which is so in files of ours.
        """
        is_lost = np.zeros(len(times), np.bool_)
        used = np.flatnonzero(np.bincount(clocks)) if len(clocks) else np.empty(0, np.int64)
        trace_clock = self._trace_clock(is_monotonic, used.tolist())
        if all(clock in (TRACE_CLOCK, trace_clock) for clock in used.tolist()):
            return times, is_lost
        steps = self._steps(trace_clock)
        moved = times.copy()
        order = np.argsort(clocks, kind="stable")
        bounds = np.searchsorted(clocks[order], [*used, len(self._keys)])
        ticks = _Ticks(*(np.array(column) for column in self._ticks))
        monotonic = self._keys.get((0, CLOCK_MONOTONIC), -1)
        for clock, start, stop in zip(used.tolist(), bounds, bounds[1:]):
            rows = order[start:stop]
            if clock == MONOTONIC_CLOCK:
                clock = monotonic if monotonic in steps else trace_clock
            if clock in (TRACE_CLOCK, trace_clock):
                continue
            if clock not in steps:
                is_lost[rows] = True
                continue
            its_times = self._absolute(clock, numbers[rows], times[rows], ticks)
            moved[rows] = self._moved(clock, its_times, steps)
        return moved, is_lost | (moved < 0)

    def _trace_clock(self, is_monotonic: bool, used: list[int]) -> int:
        """The clock of the trace, by its number."""
        wanted = self._primary or CLOCK_BOOTTIME
        if is_monotonic and (0, CLOCK_MONOTONIC) in self._keys:
            wanted = CLOCK_MONOTONIC
        if not self._groups and len(used) == 1:  # nothing to relate it to, and nothing else there
            (only,) = used
            if only not in self._units and self._is_global(only):
                return only
        return self.number(0, wanted)

    def _is_global(self, clock: int) -> bool:
        return next(key for key, number in self._keys.items() if number == clock)[0] == 0

    def _steps(self, trace_clock: int) -> dict[int, tuple[int, tuple[int, ...]]]:
        """Per clock the next one on the way to that of the trace, and the snapshots that have
        both.
        """
        groups_of: dict[int, list[tuple[int, ...]]] = {}
        for group in self._groups:
            for clock in group:
                groups_of.setdefault(clock, []).append(group)
        found: dict[int, tuple[int, tuple[int, ...]]] = {trace_clock: (trace_clock, ())}
        waiting = deque([(trace_clock, 0)])
        seen: set[tuple[int, ...]] = set()
        while waiting:
            target, steps = waiting.popleft()
            for group in groups_of.get(target, ()) if steps < _MOST_STEPS else ():
                if group in seen:
                    continue
                seen.add(group)
                for clock in group:
                    if clock not in found:
                        found[clock] = target, group
                        waiting.append((clock, steps + 1))
        return found

    def _absolute(self, clock: int, numbers: Ints, times: Ints, ticks: _Ticks) -> Ints:
        """Times of one clock in ns, not as deltas."""
        unit = self._units.get(clock, _Unit(1, False))
        times = np.where(times > FARTHEST // unit.ns, -1, times * np.int64(unit.ns))
        if not unit.is_incremental:
            return times
        of_clock = ticks.of(clock)
        is_absolute = ticks.is_absolute[of_clock] != 0
        more = ticks.time[of_clock]
        more = np.where(is_absolute, more, more * np.int64(unit.ns))
        numbers = np.concatenate([ticks.number[of_clock], numbers])
        is_absolute = np.concatenate([is_absolute, np.zeros(len(times), np.bool_)])
        all_times = np.concatenate([more, times])
        order = np.argsort(numbers, kind="stable")
        all_times, is_absolute = all_times[order], is_absolute[order]
        total = np.cumsum(np.where(is_absolute, 0, all_times))
        last = np.maximum.accumulate(np.where(is_absolute, np.arange(len(order)), -1))
        since = np.where(last >= 0, all_times[last] - total[last], 0)
        result = np.empty_like(total)
        result[order] = total + since
        return result[len(more) :]

    def _moved(
        self, clock: int, times: Ints, steps: dict[int, tuple[int, tuple[int, ...]]]
    ) -> Ints:
        """Times of one clock on that of the trace."""
        is_bad = times < 0
        while steps[clock][1]:
            target, group = steps[clock]
            if group not in self._shown:
                self._shown[group] = np.array(self._groups[group], np.int64)
            shown = self._shown[group]
            here, there = shown[:, group.index(clock)], shown[:, group.index(target)]
            order = np.argsort(here, kind="stable")
            place = np.maximum(np.searchsorted(here[order], times, side="right") - 1, 0)
            times = times + (there - here)[order][place]
            clock = target
        return np.where(is_bad, -1, times)


class _Ticks:
    """The columns of ticks, by clock."""

    def __init__(self, number: Ints, clock: Ints, time: Ints, is_absolute: Ints) -> None:
        order = np.argsort(clock, kind="stable")
        self._clock = clock[order]
        self.number, self.time = number[order], time[order]
        self.is_absolute = is_absolute[order]

    def of(self, clock: int) -> slice:
        """Where those of one clock stand, in the order of the file."""
        first, stop = np.searchsorted(self._clock, [clock, clock + 1]).tolist()
        return slice(first, stop)
