"""What a file of ours says about itself beside its events, the same in JSON and protobuf.

Viewers get ids and names that they can show (small, unique); the envelope holds the model's own:
processes and threads with their real ids, lanes, metadata, and where zero is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from tilelang_trace.errors import UserError
from tilelang_trace.trace.arguments import FORMAT_VERSION
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import CounterTrack, Ints, Lane, Process, Thread, Trace

NAME = "tilelang_trace"
"""The key that the envelope stands under."""

EXACT_NS = 2**52
"""Times up to this (52 days) are exact as microseconds in a double, which is how JSON is read."""


def seal(trace: Trace, origin: int, lane_ids: list[int], counter_ids: list[int]) -> dict[str, Json]:
    """The envelope of a Trace whose times are written less `origin` (ns).

    `lane_ids` and `counter_ids` say what the file calls its lanes and its counters.
    """
    return {
        "format_version": FORMAT_VERSION,
        "origin_ns": origin,
        "processes": [asdict(process) for process in trace.processes],
        "threads": [asdict(thread) for thread in trace.threads],
        "lanes": [{"id": id_, **asdict(lane)} for id_, lane in zip(lane_ids, trace.lanes)],
        "counter_tracks": [
            {"id": id_, **asdict(track)} for id_, track in zip(counter_ids, trace.counter_tracks)
        ],
        "metadata": dict(trace.metadata),
    }


@dataclass(frozen=True)
class Opened:
    """What an envelope says of the file around it."""

    origin: int
    """ns to add to the times of the file."""
    lanes: dict[int, int]
    """The lane in the builder of each lane id."""
    counters: list[int]
    """The id of each counter track of the builder."""


def unseal(sealed: Mapping[str, Json], builder: TraceBuilder) -> Opened:
    """Put what an envelope says into a builder that is empty. Raises UserError if it is damaged."""
    try:
        version = sealed["format_version"]
        if version > FORMAT_VERSION:
            raise UserError(
                f"the trace has format version {version}, this tilelang-trace reads up to "
                f"{FORMAT_VERSION}: upgrade it"
            )
        builder.processes.extend(Process(**entry) for entry in sealed["processes"])
        builder.threads.extend(Thread(**entry) for entry in sealed["threads"])
        lanes = [(entry["id"], _without_id(entry)) for entry in sealed["lanes"]]
        opened = Opened(
            int(sealed["origin_ns"]),
            {int(id_): builder.lane(Lane(**entry)) for id_, entry in lanes},
            [int(entry["id"]) for entry in sealed["counter_tracks"]],
        )
        builder.counter_tracks.extend(
            CounterTrack(**_without_id(entry)) for entry in sealed["counter_tracks"]
        )
        builder.metadata.update(sealed["metadata"])
        _check(builder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"the trace's own header is damaged: {error!r}") from None
    return opened


def _without_id(entry: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in entry.items() if key != "id"}


_IDS = (int, type(None))


def _check(builder: TraceBuilder) -> None:
    """ValueError if a name is no text, an id no number, or something points to what isn't there."""
    named: list[Process | Thread | Lane | CounterTrack] = [*builder.processes, *builder.threads]
    owned_ones: list[Lane | CounterTrack] = [*builder.lanes, *builder.counter_tracks]
    for entry in (*named, *owned_ones):
        for key, value in vars(entry).items():
            if type(value) is not str if key in ("name", "unit") else type(value) not in _IDS:
                raise ValueError(f"the {key} {value!r}")
    processes, threads = range(len(builder.processes)), range(len(builder.threads))
    for thread in builder.threads:
        if thread.process not in processes:
            raise ValueError(f"no process {thread.process!r}")
    for owned in owned_ones:
        if owned.process is not None and owned.process not in processes:
            raise ValueError(f"no process {owned.process!r}")
        if owned.thread is not None and owned.thread not in threads:
            raise ValueError(f"no thread {owned.thread!r}")


def earliest(trace: Trace) -> int:
    """The earliest time that is written of a Trace, ns; 0 if there is none."""
    return min((int(np.min(times)) for times in _times(trace, trace.slices.begin)), default=0)


def latest(trace: Trace) -> int:
    """The latest time that is written of a Trace, ns; 0 if there is none."""
    return max((int(np.max(times)) for times in _times(trace, trace.slices.end)), default=0)


def _times(trace: Trace, of_slices: Ints) -> Iterator[Ints]:
    """Columns of times, those that have any. Of a counter without a number a file has a gap."""
    counters = trace.counters
    of_counters = counters.time[np.isfinite(counters.value)]
    return (times for times in (of_slices, trace.instants.time, of_counters) if len(times))


def first_lanes(trace: Trace) -> dict[int, int]:
    """The first lane of each thread that has one."""
    found: dict[int, int] = {}
    for number, lane in enumerate(trace.lanes):
        if lane.thread is not None:
            found.setdefault(lane.thread, number)
    return found
