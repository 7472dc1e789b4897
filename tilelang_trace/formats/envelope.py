"""What a file of ours says about itself beside its events, the same in JSON and protobuf.

Viewers get ids and names that they can show (small, unique); the envelope holds the model's own:
processes and threads with their real ids, lanes, metadata, and where zero is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from tilelang_trace.errors import UserError
from tilelang_trace.trace.arguments import FORMAT_VERSION
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Json, Lane, Process, Thread, Trace

NAME = "tilelang_trace"
"""The key that the envelope stands under."""

EXACT_NS = 2**52
"""Times up to this (52 days) are exact as microseconds in a double, which is how JSON is read."""


def seal(trace: Trace, origin: int, lane_ids: list[int]) -> dict[str, Json]:
    """The envelope of a Trace whose times are written less `origin` (ns) and whose lanes have these
    ids.
    """
    return {
        "format_version": FORMAT_VERSION,
        "origin_ns": origin,
        "processes": [asdict(process) for process in trace.processes],
        "threads": [asdict(thread) for thread in trace.threads],
        "lanes": [{"id": id_, **asdict(lane)} for id_, lane in zip(lane_ids, trace.lanes)],
        "counter_tracks": [asdict(track) for track in trace.counter_tracks],
        "metadata": dict(trace.metadata),
    }


def unseal(envelope: Mapping[str, Json], builder: TraceBuilder) -> tuple[int, dict[int, int]]:
    """Put what an envelope says into a builder; returns the origin (ns) and the lane of each lane
    id.
    """
    try:
        version = envelope["format_version"]
        if version > FORMAT_VERSION:
            raise UserError(
                f"the trace has format version {version}, this tilelang-trace reads up to "
                f"{FORMAT_VERSION}: upgrade it"
            )
        builder.processes.extend(Process(**entry) for entry in envelope["processes"])
        builder.threads.extend(Thread(**entry) for entry in envelope["threads"])
        builder.counter_tracks.extend(CounterTrack(**entry) for entry in envelope["counter_tracks"])
        lanes = {}
        for entry in envelope["lanes"]:
            lane = {key: value for key, value in entry.items() if key != "id"}
            lanes[int(entry["id"])] = builder.lane(Lane(**lane))
        builder.metadata.update(envelope["metadata"])
        return int(envelope["origin_ns"]), lanes
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"the trace's own header is damaged: {error!r}") from None


def earliest(trace: Trace) -> int:
    """The earliest time in a Trace, ns; 0 in an empty one."""
    times = [
        column
        for column in (trace.slices.begin, trace.instants.time, trace.counters.time)
        if len(column)
    ]
    return int(min(np.min(column) for column in times)) if times else 0


def latest(trace: Trace) -> int:
    """The latest time in a Trace, ns; 0 in an empty one."""
    times = [
        column
        for column in (trace.slices.end, trace.instants.time, trace.counters.time)
        if len(column)
    ]
    return int(max(np.max(column) for column in times)) if times else 0


def first_lanes(trace: Trace) -> dict[int, int]:
    """The first lane of each thread that has one."""
    found: dict[int, int] = {}
    for number, lane in enumerate(trace.lanes):
        if lane.thread is not None:
            found.setdefault(lane.thread, number)
    return found
