"""What a Trace and what Perfetto's engine say of a file of another tool, in words that are equal if
they say the same.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.perfetto.engine import Engine
from tilelang_trace.trace.model import Lane, Trace

_SLICES = """
select slice.ts, slice.dur, coalesce(slice.name, '') as name,
       coalesce(slice.category, '') as category, coalesce(parent.name, '') as parent,
       thread.tid, coalesce(process.pid, owner.pid) as pid
from slice left join slice parent on parent.id = slice.parent_id
left join thread_track on thread_track.id = slice.track_id left join thread using (utid)
left join process owner on owner.upid = thread.upid
left join process_track on process_track.id = slice.track_id
left join process on process.upid = process_track.upid
"""
_COUNTERS = """
select coalesce(track.name, '') as name, coalesce(unit, '') as unit, ts, value
from counter join counter_track track on track.id = counter.track_id
"""
_FLOWS = """
select source.name as source, target.name as target, source.ts as ts
from flow join slice source on source.id = slice_out join slice target on target.id = slice_in
where source.dur != 0 and target.dur != 0
"""

Row = tuple[Any, ...]


def by_engine(engine: Engine, data: bytes) -> dict[str, Counter[Row]]:
    """What the engine makes of a file; it is loaded."""
    engine.load(data)
    last = engine.scalar("select max(ts + max(dur, 0)) from slice")
    slices: Counter[Row] = Counter()
    instants: Counter[Row] = Counter()
    for row in engine.query(_SLICES):
        owner = row["pid"], row["tid"]
        if row["dur"] == 0:
            instants[(row["ts"], row["name"], row["category"], *owner)] += 1
        else:
            end = last if row["dur"] == -1 else row["ts"] + row["dur"]
            texts = row["name"], row["category"], row["parent"]
            slices[(row["ts"], end, *texts, *owner)] += 1
    return {
        "slices": slices,
        "instants": instants,
        "counters": Counter(tuple(row.values()) for row in engine.query(_COUNTERS)),
        "flows": Counter(tuple(row.values()) for row in engine.query(_FLOWS)),
    }


def by_trace(trace: Trace) -> dict[str, Counter[Row]]:
    """The same of a Trace."""
    slices, instants, counters = trace.slices, trace.instants, trace.counters

    def owner(lane: Lane) -> Row:
        if lane.thread is not None:
            thread = trace.threads[lane.thread]
            return trace.processes[thread.process].pid, thread.tid
        return (trace.processes[lane.process].pid if lane.process is not None else None), None

    rows = range(len(slices))
    return {
        "slices": Counter(
            (
                int(slices.begin[row]),
                int(slices.end[row]),
                trace.name(row),
                trace.category(row),
                trace.name(int(slices.parent[row])) if slices.parent[row] >= 0 else "",
                *owner(trace.lanes[slices.lane[row]]),
            )
            for row in rows
        ),
        "instants": Counter(
            (
                int(instants.time[row]),
                trace.strings[instants.name[row]],
                trace.strings[instants.category[row]],
                *owner(trace.lanes[instants.lane[row]]),
            )
            for row in range(len(instants))
        ),
        "counters": Counter(
            (trace.counter_tracks[track].name, trace.counter_tracks[track].unit, time, value)
            for track, time, value in zip(
                counters.track.tolist(), counters.time.tolist(), counters.value.tolist()
            )
        ),
        "flows": Counter(
            (trace.name(source), trace.name(target), int(slices.begin[source]))
            for source, target in trace.flows.tolist()
        ),
    }
