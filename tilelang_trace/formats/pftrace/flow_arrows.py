"""Steps of flows -> arrows between slices.

Source of the rules: Perfetto's flow_tracker.cc. An arrow goes from the slice that began first to
the other. At an event that is no slice (an instant, or an older event for arrows only) it holds on
to the slice around that, or to the next one, and not to the event as in Perfetto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.event_columns import (
    ARRIVES,
    ARRIVES_NEXT,
    COMPLETE,
    ENDS,
    FARTHEST,
    JOINS,
    LEAVES,
    SLICE_BEGIN,
    SLICE_END,
    FlowKey,
)
from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace.model import Ids

_LAST = frozenset((ENDS, ARRIVES, ARRIVES_NEXT))
"""What happens after all else that happens at one time."""


class Step(NamedTuple):
    """One step of a flow, at an event."""

    time: int
    is_last: bool
    number: int
    """Of the packet."""
    event: int
    does: int

    @classmethod
    def of(cls, time: int, number: int, event: int, does: int) -> Step:
        """A step; steps are in order as tuples."""
        return cls(time, does in _LAST, number, event, does)


def arrows(
    steps: Iterable[tuple[FlowKey, Step]],
    row_of: Mapping[int, int],
    begin: Callable[[int], int],
    lost: Callable[[int, str], None],
    *,
    is_ours: bool,
) -> list[tuple[int, int]]:
    """The arrows, as rows of slices. `row_of` is that of each event (-1: none), `begin` gives when
    a slice begins; `lost` takes an event whose arrow has no place, and why.

    In files of ours each arrow has a number of its own, and may lead back in time.
    """
    by_flow: dict[FlowKey, list[Step]] = {}
    for flow, step in steps:
        by_flow.setdefault(flow, []).append(step)
    found: list[tuple[int, int]] = []
    for its_steps in by_flow.values():
        at = -1
        for step in sorted(its_steps, key=lambda step: (is_ours and step.is_last, step)):
            row = row_of[step.event]
            if row < 0:
                lost(step.event, "no slice is around it")
                continue
            if at < 0 and step.does not in (JOINS, LEAVES):
                if step.does != ENDS:  # to end what hasn't begun is nothing wrong
                    lost(step.event, "its flow has not begun")
                continue
            if at >= 0 and step.does != LEAVES and (is_ours or row != at):
                is_back = not is_ours and begin(at) > begin(row)
                found.append((row, at) if is_back else (at, row))
            if at < 0 or step.does not in (LEAVES, ARRIVES, ARRIVES_NEXT):
                at = row
            if step.does == ENDS:
                at = -1
    return found


class Around:
    """Finds the slices around events that are none of a slice. Of all events it takes the row of
    their slices (-1: none), their times and kinds; of the rows the ends.
    """

    def __init__(
        self, row: Ids, times: Ints, kinds: npt.NDArray[np.int8], ends: Sequence[int]
    ) -> None:
        self._row, self._times, self._kinds, self._ends = row, times, kinds, ends

    def rows_of(self, wanted: set[int], nexts: set[int], stacks: list[Ints]) -> dict[int, int]:
        """The rows of these events, -1 where no slice is around one; of `nexts` those of the slices
        that begin next. `stacks` are the events of each stack, in the order of time.
        """
        found = dict.fromkeys(wanted, -1)
        is_wanted = np.zeros(len(self._row), np.bool_)
        is_wanted[list(wanted)] = True
        for events in stacks if wanted else ():
            if is_wanted[events].any():
                self._look(events, wanted, nexts, found)
        return found

    def _look(self, events: Ints, wanted: set[int], nexts: set[int], found: dict[int, int]) -> None:
        """Find those of one stack."""
        ends_of_open: dict[int, int] = {}
        waiting: list[int] = []
        for event, kind in zip(events.tolist(), self._kinds[events].tolist()):
            at, time = int(self._row[event]), int(self._times[event])
            while ends_of_open and next(reversed(ends_of_open.values())) <= time:
                ends_of_open.popitem()
            if kind in (SLICE_BEGIN, COMPLETE):
                # Where an end is, is seen when it comes; of a whole slice it is known.
                ends_of_open[at] = self._ends[at] if kind == COMPLETE else FARTHEST
                found.update(dict.fromkeys(waiting, at))
                waiting.clear()
            elif kind == SLICE_END:
                ends_of_open.pop(at, None)
            elif event in wanted:
                if event in nexts:
                    waiting.append(event)
                elif ends_of_open:
                    found[event] = next(reversed(ends_of_open))
