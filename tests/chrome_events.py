"""Chrome JSON events of other tools, as a test says them in few words."""

from __future__ import annotations

from typing import Any

from tilelang_trace.formats.chrome_json.events import EventReader
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

Event = dict[str, Any]


def x(name: str, ts: Any, dur: Any, **more: Any) -> Event:
    """A complete event; pid and tid are 1 where they are not given."""
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, **more}


def e(phase: str, name: str | None, ts: Any, **more: Any) -> Event:
    """An event of another phase."""
    named = {} if name is None else {"name": name}
    return {"ph": phase, **named, "ts": ts, "pid": 1, "tid": 1, **more}


def m(kind: str, value: Any, **more: Any) -> Event:
    """A metadata event: a name or a sort index."""
    key = "name" if kind.endswith("name") else "sort_index"
    return {"ph": "M", "name": kind, "pid": 1, "tid": 1, "args": {key: value}, **more}


def collected(*events: Any) -> TraceBuilder:
    reader = EventReader(lambda number: f"event {number}")
    for number, event in enumerate(events, 1):
        reader.take(number, event)
    return reader.finish()


def read(*events: Any) -> Trace:
    """The Trace of a file with these events."""
    return collected(*events).build()


def spans(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, begin and end (ns) of each slice, by begin, the longer first."""
    slices = trace.slices
    rows = range(len(slices))
    found = [(trace.name(row), int(slices.begin[row]), int(slices.end[row])) for row in rows]
    return sorted(found, key=lambda span: (span[1], -span[2]))


def parents(trace: Trace) -> dict[str, str | None]:
    """The name of the slice around each, by its own name."""
    return {
        trace.name(row): trace.name(parent) if parent >= 0 else None
        for row, parent in enumerate(trace.slices.parent.tolist())
    }


def told(trace: Trace) -> list[tuple[str, str]]:
    """Place and rule of each finding."""
    return [(finding.place, finding.rule) for finding in trace.findings]


def arrows(trace: Trace) -> list[tuple[str, str]]:
    """The names of the slices that each arrow joins."""
    return sorted((trace.name(a), trace.name(b)) for a, b in trace.flows.tolist())


def lane_names(trace: Trace) -> dict[str, str]:
    """The name of the row that each slice stands on, by its own name."""
    names = {}
    for row, number in enumerate(trace.slices.lane.tolist()):
        lane = trace.lanes[number]
        thread = "" if lane.thread is None else trace.threads[lane.thread].name
        names[trace.name(row)] = f"{thread} {lane.name}".strip()
    return names
