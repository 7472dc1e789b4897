"""Where the time of a compile went: totals by pass name, the slowest runs, the failures.

The numbers are integer nanoseconds and add up exactly: the self times of all passes and the time
between passes make the total.

- **total** is the time of the top-level slices of all threads, so it may exceed **wall** time,
  which runs from the first begin to the last end.
- The **self** time of a pass is its own time without the nearest passes below it. What else lies
  between (a context that the pass enters, the code generator that it calls) is work of the pass,
  and counts for it.
- **between passes** is the rest: the time of slices that no pass encloses, without the passes in
  them.
- The **inclusive** time of a name counts a run inside a run of the same name once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, outermost_of_name, sum_by, time_below
from tilelang_trace.analysis.columns import largest, numbered
from tilelang_trace.analysis.counted import counted, measured, off_threads, sums
from tilelang_trace.analysis.hidden import HIDDEN, hidden_of, hidden_passes
from tilelang_trace.analysis.runs import Failed, Places, Run, RunOrder, describe, failed_runs
from tilelang_trace.trace.arguments import FAILED, INCOMPLETE, KINDS, OPEN
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ints, Mask, Trace
from tilelang_trace.trace.rules import RULES

OTHER = "other"
"""Stands for the kind of slices that are none of ours, where time is broken down by kind."""

_LOSSES_TOLD = 3


@dataclass(frozen=True)
class PassTotals:
    """All runs of the passes of one name."""

    name: str
    count: int
    self_ns: int
    inclusive_ns: int
    share: float
    """Self time as a part of the total, 0 to 1; with the time between passes the shares make 1."""
    inclusive_share: float
    """Inclusive time as a part of the total, 0 to 1."""
    failed: int
    incomplete: int
    open: int


@dataclass(frozen=True)
class Wholeness:
    """Whether a recording has all that happened, and if not, why."""

    complete: bool
    reasons: tuple[str, ...]
    dropped: int
    """Events that the recorder could not keep."""


@dataclass(frozen=True)
class Summary:
    """What `summarize` finds in a Trace."""

    total_ns: int
    wall_ns: int
    between_passes_ns: int
    between_by_kind: Mapping[str, int]
    """The time between passes by the kind of slice that it was spent in."""
    passes: tuple[PassTotals, ...]
    """One entry a name, most self time first."""
    of_all_categories: bool
    """The Trace has no pass (another tool wrote it): `passes` are its slices of all categories."""
    slowest: tuple[Run, ...]
    running: tuple[Run, ...]
    """The innermost slices that were still open when the Trace was taken."""
    failures: tuple[Failed, ...]
    failed: int
    """Slices of all kinds with the status `failed`; likewise the next two."""
    incomplete: int
    open: int
    hidden: int
    """Passes that were left out of the Trace."""
    hidden_ns: int
    """Their time. It is in the slices around them, but for the next one."""
    hidden_outside_ns: int
    """Time of those that no slice is around of; it is in no number here."""
    off_threads: int
    """Slices on rows that belong to no thread; they are in no number here but the next."""
    largest_off_threads: tuple[tuple[str, int], ...]
    """The names with the most time there, and that time."""
    sums: int
    """Slices with which another tool sums up the others; they are in no number here."""
    recording: Wholeness
    findings: Findings

    @property
    def runs(self) -> int:
        """Number of runs of all passes."""
        return sum(entry.count for entry in self.passes)


def summarize(trace: Trace, *, slowest: int = 10, slowest_by: RunOrder = "self") -> Summary:
    """The totals of a Trace and its `slowest` slowest runs, by self or inclusive time."""
    slices, duration = trace.slices, trace.slices.duration
    in_total = counted(trace)
    beside, largest_beside = off_threads(trace)
    shown, of_all_categories = measured(trace)
    places = Places(trace)
    above = nearest_above(slices.parent, shown)
    self_ns = duration - time_below(above, duration, shown)
    total = int(duration[in_total & (slices.parent < 0)].sum())
    between = between_by_kind(trace, in_total & ~shown & (above < 0))
    status = _Statuses(trace)
    hidden, hidden_ns = hidden_passes(trace)
    origin = int(slices.begin[in_total].min()) if in_total.any() else 0

    runs = np.flatnonzero(shown)
    ranking = self_ns[runs] if slowest_by == "self" else duration[runs]
    chosen = runs[largest(ranking, slowest)]
    still_open = in_total & status.open
    innermost = still_open.copy()
    innermost[slices.parent[still_open & (slices.parent >= 0)]] = False

    return Summary(
        total_ns=total,
        wall_ns=int(slices.end[in_total].max()) - origin if in_total.any() else 0,
        between_passes_ns=sum(between.values()),
        between_by_kind=between,
        passes=_totals(trace, shown, self_ns, total, status),
        of_all_categories=of_all_categories,
        slowest=describe(trace, places, chosen, self_ns, origin),
        running=describe(trace, places, np.flatnonzero(innermost), self_ns, origin),
        failures=failed_runs(trace, places),
        failed=int(status.failed.sum()),
        incomplete=int(status.incomplete.sum()),
        open=int(status.open.sum()),
        hidden=hidden,
        hidden_ns=hidden_ns,
        hidden_outside_ns=hidden_of(trace.metadata.get(HIDDEN))[1],
        off_threads=beside,
        largest_off_threads=largest_beside,
        sums=int(sums(trace).sum()),
        recording=wholeness(trace),
        findings=trace.findings,
    )


def slowest_row(trace: Trace) -> tuple[int, int] | None:
    """The row of the pass (of any slice, if there is no pass) with the most self time, and that."""
    shown, _ = measured(trace)
    rows = np.flatnonzero(shown)
    if not len(rows):
        return None
    above, duration = nearest_above(trace.slices.parent, shown), trace.slices.duration
    self_ns = (duration - time_below(above, duration, shown))[rows]
    slowest = int(np.argmax(self_ns))
    return int(rows[slowest]), int(self_ns[slowest])


def between_by_kind(trace: Trace, outside: Mask) -> dict[str, int]:
    """The time of the slices outside of passes, each without its children, by kind."""
    slices, duration = trace.slices, trace.slices.duration
    alone = duration - time_below(slices.parent, duration, slices.parent >= 0)
    by_kind = sum_by(trace.kinds()[outside] + 1, alone[outside], len(KINDS) + 1).tolist()
    return {kind: ns for kind, ns in zip((OTHER, *KINDS), by_kind) if ns}


class _Statuses:
    """Which slices have which status."""

    def __init__(self, trace: Trace) -> None:
        ids = trace.arguments.strings("status", len(trace.slices))

        def having(status: str) -> Mask:
            known = status in trace.strings
            mask: Mask = (
                ids == trace.strings.index(status) if known else np.zeros(len(ids), np.bool_)
            )
            return mask

        self.failed = having(FAILED)
        self.incomplete = having(INCOMPLETE)
        self.open = having(OPEN)


def _totals(
    trace: Trace, measured: Mask, self_ns: Ints, total: int, status: _Statuses
) -> tuple[PassTotals, ...]:
    rows = np.flatnonzero(measured)
    if not len(rows):
        return ()
    outer = rows[outermost_of_name(trace.slices, rows)]
    names, name_of_row = numbered(trace.slices.name[rows])
    of_name = np.zeros(len(measured), np.int64)
    of_name[rows] = name_of_row

    def count(mask: Mask) -> list[int]:
        counts: list[int] = np.bincount(of_name[rows[mask[rows]]], minlength=len(names)).tolist()
        return counts

    columns = zip(
        (trace.strings[i] for i in names.tolist()),
        count(measured),
        sum_by(name_of_row, self_ns[rows], len(names)).tolist(),
        sum_by(of_name[outer], trace.slices.duration[outer], len(names)).tolist(),
        count(status.failed),
        count(status.incomplete),
        count(status.open),
    )
    totals = [
        PassTotals(name, runs, own, inclusive, own / total, inclusive / total, *ended)
        for name, runs, own, inclusive, *ended in columns
    ]
    return tuple(sorted(totals, key=lambda t: (-t.self_ns, -t.inclusive_ns, t.name)))


def wholeness(trace: Trace) -> Wholeness:
    """Whether the recording has all that happened."""
    still_open = int(_Statuses(trace).open.sum())
    said = trace.metadata.get("recording")
    said = said if isinstance(said, dict) else {}
    dropped = _integer(said.get("dropped"))
    reasons = []
    if said.get("complete") is False:
        reasons.append(str(said.get("reason") or "the recording was not finished"))
    if dropped:
        reasons.append(f"events dropped: {dropped}")
    if still_open:
        reasons.append(f"slices still open: {still_open}")
    lost = [str(finding) for finding in trace.findings if RULES[finding.rule].is_loss]
    reasons += lost[:_LOSSES_TOLD]
    if len(lost) > _LOSSES_TOLD:
        reasons.append(f"further losses in the file: {len(lost) - _LOSSES_TOLD}")
    return Wholeness(not reasons, tuple(reasons), dropped)


def _integer(value: Json) -> int:
    # Metadata and arguments of a foreign file may hold anything under our names.
    return value if isinstance(value, int) else 0
