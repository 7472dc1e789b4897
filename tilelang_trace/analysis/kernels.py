"""The compiles of a Trace, one by one: how long each took, and whether and where it failed.

What counts as a compile is defined in `compiles`. Numbers are integer nanoseconds and add up: the
times of the compiles that lie in no other one, and the time outside of compiles, make the total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above, sum_by, time_below
from tilelang_trace.analysis.compiles import compiles, kernels, outermost
from tilelang_trace.analysis.counted import counted
from tilelang_trace.analysis.hidden import HIDDEN, hidden_of
from tilelang_trace.analysis.runs import Places
from tilelang_trace.trace.arguments import ERROR_STATUSES, INCOMPLETE, PASS
from tilelang_trace.trace.failures import failures, first_line
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ints, Trace


@dataclass(frozen=True)
class Compile:
    """One compile of a kernel."""

    number: int
    """Its place among all compiles by begin, from 1."""
    kernel: str
    configuration: Mapping[str, Json]
    """What an autotuner tried in it; empty if nothing tells, like the texts below."""
    target: str
    start_ns: int
    """Since the earliest slice of the Trace began."""
    inclusive_ns: int
    self_ns: int
    """Without the passes in it: code generation, outside compilers, caches."""
    passes: int
    """Runs of passes in it, also those that were left out of the Trace."""
    status: str
    failed_in: str
    """The slice that failed and took the compile along, by its name."""
    error: str
    """First line of the error that ended it."""
    cache: str
    """`hit`, `miss`, or what else the recorder says."""
    thread: str
    """`process / thread`."""
    nested: bool
    """It lies in another compile, and its time in the time of that one."""
    own_name: str
    """Name of its slice."""


@dataclass(frozen=True)
class Compiles:
    """All compiles of a Trace."""

    compiles: tuple[Compile, ...]
    """By begin."""
    compiles_ns: int
    """Time of the compiles that lie in no other one."""
    outside_ns: int
    """Time of the top-level slices of all threads that is in no compile."""
    total_ns: int
    """Both; as the total of the summary."""
    outside_passes: int
    """Runs of passes in no compile."""

    @property
    def failed(self) -> tuple[int, ...]:
        """The numbers of those that failed."""
        return tuple(c.number for c in self.compiles if c.status in ERROR_STATUSES)


def list_compiles(trace: Trace) -> Compiles:
    """The compiles of a Trace, on rows of threads."""
    slices, duration = trace.slices, trace.slices.duration
    in_total = counted(trace)
    rows = compiles(trace)
    rows = rows[in_total[rows]]
    chosen = np.zeros(len(slices), np.bool_)
    chosen[rows] = True
    is_outer = outermost(trace, rows)
    total = int(duration[in_total & (slices.parent < 0)].sum())
    own = int(duration[rows[is_outer]].sum())

    runs = _runs(trace)
    inside = chosen | (nearest_above(slices.parent, chosen) >= 0)
    return Compiles(
        compiles=_described(trace, rows, is_outer, _passes_below(trace, rows, runs)),
        compiles_ns=own,
        outside_ns=total - own,
        total_ns=total,
        outside_passes=int(runs[in_total & ~inside].sum()),
    )


def _runs(trace: Trace) -> Ints:
    """How many runs of passes each slice stands for: itself, and those left out below it."""
    runs = trace.is_kind(PASS).astype(np.int64)
    for row, value in trace.arguments.values(HIDDEN).items():
        runs[row] += hidden_of(value)[0]
    return runs


def _passes_below(trace: Trace, rows: npt.NDArray[np.int64], runs: Ints) -> list[int]:
    """The runs of passes in each of these slices."""
    parent = trace.slices.parent
    chosen = np.zeros(len(parent), np.bool_)
    chosen[rows] = True
    above = nearest_above(parent, chosen)
    nearest = np.where(chosen, np.arange(len(parent)), above)
    within = nearest >= 0
    count = sum_by(nearest[within], runs[within], len(parent))
    # A compile in a compile: inner ones stand behind, so their count is whole when it is added.
    for row in sorted(rows.tolist(), reverse=True):
        if above[row] >= 0:
            count[above[row]] += count[row]
    found: list[int] = count[rows].tolist()
    return found


def _own_time(trace: Trace, rows: npt.NDArray[np.int64]) -> Ints:
    """The time of these slices without the passes in them, left out or not, and without the
    further ones of these slices.
    """
    slices, duration = trace.slices, trace.slices.duration
    wanted = trace.is_kind(PASS)
    wanted[rows] = True
    above = nearest_above(slices.parent, wanted)
    own = duration - time_below(above, duration, wanted)
    for row, value in trace.arguments.values(HIDDEN).items():
        holder = row if wanted[row] else int(above[row])
        if holder >= 0:
            own[holder] -= hidden_of(value)[1]
    found: Ints = own[rows]
    return found


def _described(
    trace: Trace, rows: npt.NDArray[np.int64], is_outer: npt.NDArray[np.bool_], passes: list[int]
) -> tuple[Compile, ...]:
    slices, duration = trace.slices, trace.slices.duration
    own = _own_time(trace, rows)
    in_total = counted(trace)
    origin = int(slices.begin[in_total].min()) if in_total.any() else 0
    places = Places(trace)
    labels = kernels(trace)
    causes = _causes(trace, rows, places)
    arguments = {
        name: trace.arguments.values(name) for name in ("configuration", "target", "cache", "error")
    }

    def text(name: str, row: int) -> str:
        value = arguments[name].get(row, trace.metadata.get(name))
        if isinstance(value, bool):
            return "hit" if value else "miss"
        return value if isinstance(value, str) else ""

    found = []
    for number, row in enumerate(rows.tolist()):
        configuration = arguments["configuration"].get(row)
        cause = causes.get(row)
        error = arguments["error"].get(row if cause is None else cause)
        found.append(
            Compile(
                number=number + 1,
                kernel=labels[row],
                configuration=configuration if isinstance(configuration, dict) else {},
                target=text("target", row),
                start_ns=int(slices.begin[row]) - origin,
                inclusive_ns=int(duration[row]),
                self_ns=int(own[number]),
                passes=passes[number],
                status=places.status(row),
                failed_in="" if cause is None else trace.name(cause),
                error=first_line(error) if places.status(row) in ERROR_STATUSES else "",
                cache=text("cache", row),
                thread=places.thread(int(slices.lane[row])),
                nested=not is_outer[number],
                own_name=trace.name(row),
            )
        )
    return tuple(found)


def _causes(trace: Trace, rows: npt.NDArray[np.int64], places: Places) -> dict[int, int]:
    """For each compile that failed the slice that is the reason: itself, or the last failed one
    from which all slices up to the compile are incomplete. One that was caught on the way is none.
    """
    wanted = set(rows.tolist())
    causes: dict[int, int] = {}
    for failure in reversed(failures(trace)):
        causes[failure.row] = failure.row
        for above in places.enclosing(failure.row):
            if places.status(above) != INCOMPLETE or above in causes:
                break  # what is around it has a later cause
            causes[above] = failure.row
    return {row: cause for row, cause in causes.items() if row in wanted}
