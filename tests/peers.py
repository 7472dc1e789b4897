"""What is read of a file of another tool, held against what Perfetto's engine shows of the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

import tilelang_trace
from tilelang_trace.trace.model import Trace


def agrees(engine: Any, path: Path) -> Trace:
    """The Trace of a file, after it was compared with the engine's: slices, instants, counter
    values, flows, threads and the time of each name must be the same.
    """
    trace = tilelang_trace.read(path)
    engine.load(path)
    assert not engine.problems()
    never_ended = {row["name"] for row in engine.query("select name from slice where dur = -1")}
    assert names(trace, never_ended) == names_of_engine(engine)
    assert len(trace.slices) + len(trace.instants) == engine.scalar("select count(*) from slice")
    assert len(trace.flows) == engine.scalar("select count(*) from flow")
    assert len(trace.counters) == engine.scalar("select count(*) from counter")
    assert threads(trace) == threads_of_engine(engine)
    return trace


def names(trace: Trace, timeless: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """How many slices and instants each name has, and how long they took together, ns; 0 for those
    of some names. A slice that the file gives no time to lasts 1 ns in a Trace, and counts as none.
    """
    counts: Counter[str] = Counter()
    times: dict[str, int] = defaultdict(int)
    for name, ns in zip(trace.slices.name.tolist(), trace.slices.duration.tolist()):
        counts[trace.strings[name]] += 1
        times[trace.strings[name]] += ns if ns > 1 else 0
    counts.update(trace.strings[name] for name in trace.instants.name.tolist())
    return {n: (count, 0 if n in timeless else times[n]) for n, count in counts.items()}


def names_of_engine(engine: Any) -> dict[str, tuple[int, int]]:
    """The same of what Perfetto shows: names with a slice that never ended have no time."""
    rows = engine.query(
        "select name, count(*) as count, iif(min(dur) < 0, 0, sum(iif(dur > 1, dur, 0))) as ns "
        "from slice group by name"
    )
    return {row["name"]: (row["count"], row["ns"]) for row in rows}


def threads(trace: Trace) -> list[tuple[str, int]]:
    """Name of each thread that has slices, empty for one without a name, and how many it has."""
    count: Counter[int | None] = Counter()
    for lane in trace.slices.lane[trace.slices.duration > 1].tolist():
        count[trace.lanes[lane].thread] += 1
    found = [(trace.threads[i], slices) for i, slices in count.items() if i is not None]
    return sorted((t.name if t.name != str(t.tid) else "", slices) for t, slices in found)


def threads_of_engine(engine: Any) -> list[tuple[str, int]]:
    """The same of what Perfetto shows."""
    rows = engine.query(
        "select coalesce(thread.name, '') as name, count(*) as count from slice "
        "join thread_track on thread_track.id = track_id join thread using (utid) "
        "where dur > 1 or dur < 0 group by utid"
    )
    return sorted((row["name"], row["count"]) for row in rows)
