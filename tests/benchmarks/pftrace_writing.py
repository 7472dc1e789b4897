"""Writing a Trace as .pftrace, against perfetto's own trace_builder (TraceProtoBuilder).

Both write the same slices: begin and end with their times, names, categories and arguments; the
peer gets them as plain Python values, fills its messages and serialises them. CPU time. Asked for:
at least 10 x the peer's throughput, and at most 100 bytes a slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure, interleaved
from tilelang_trace.formats.pftrace import writer as pftrace_writer
from tilelang_trace.trace.model import Trace

SIZE, REPEATS = 1_000_000, 3

Event = tuple[int, str, str, dict[str, Any]]


def run(size: int, repeats: int) -> Iterator[Figure]:
    trace = synthetic.trace(size)
    events = list(begins_and_ends(trace))
    ours, peer = "tilelang_trace", "TraceProtoBuilder"
    times = interleaved({ours: lambda: written(trace), peer: lambda: built(events)}, repeats)
    for name in (ours, peer):
        yield Figure(f"{name}: time a slice", times[name].least / size * 1e6, "us")
    yield Figure(
        f"throughput, {ours} / {peer}", times[peer].least / times[ours].least, "x", ">= 10"
    )
    yield Figure(f"{ours}: size of a slice", len(written(trace)) / size, "bytes", "<= 100")
    yield Figure(f"{peer}: size of a slice", len(built(events)) / size, "bytes")


def written(trace: Trace) -> bytes:
    """The file that we write."""
    return b"".join(pftrace_writer.write(trace))


def begins_and_ends(trace: Trace) -> Iterator[Event]:
    """The events of a Trace with one lane, in order: (time, name, category, arguments); an end has
    no name.
    """
    slices = trace.slices
    open_: list[int] = []
    columns = zip(slices.begin.tolist(), slices.end.tolist())
    for row, ((begin, end), arguments) in enumerate(
        zip(columns, trace.arguments.between(0, len(slices)))
    ):
        while open_ and open_[-1] <= begin:
            yield open_.pop(), "", "", {}
        open_.append(end)
        yield begin, trace.name(row), trace.category(row), arguments
    for end in reversed(open_):
        yield end, "", "", {}


def built(events: list[Event]) -> bytes:
    """The same as a user of perfetto's package writes it."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()
    descriptor = builder.add_packet().track_descriptor
    descriptor.uuid = 1
    descriptor.thread.pid = descriptor.thread.tid = 4321
    descriptor.thread.thread_name = "MainThread"
    begin, end = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
    for time, name, category, arguments in events:
        packet = builder.add_packet()
        packet.timestamp = time
        packet.trusted_packet_sequence_id = 1
        event = packet.track_event
        event.track_uuid = 1
        if not name:
            event.type = end
            continue
        event.type = begin
        event.name = name
        event.categories.append(category)
        for argument, value in arguments.items():
            annotation = event.debug_annotations.add()
            annotation.name = argument
            if isinstance(value, int):
                annotation.int_value = value
            else:
                annotation.string_value = value
    return builder.serialize()
