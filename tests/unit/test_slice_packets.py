"""Packets of many slices at once: held against Perfetto's generated classes, and against the same
packets made one by one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.benchmarks import synthetic
from tests.benchmarks.pftrace_writing import begins_and_ends
from tests.packet_events import EventPackets
from tests.random_traces import traces
from tests.traces import TRACES, one_lane, said
from tilelang_trace.formats.flows import Flows
from tilelang_trace.formats.pftrace import reader as pftrace_reader
from tilelang_trace.formats.pftrace import slice_packets
from tilelang_trace.formats.pftrace.packets import joined
from tilelang_trace.formats.pftrace.slice_packets import SlicePackets
from tilelang_trace.formats.pftrace.writer import write
from tilelang_trace.trace.model import Trace

Event = tuple[Any, ...]


def written(trace: Trace) -> bytes:
    return b"".join(write(trace))


def _value(found: pb.DebugAnnotation, texts: dict[int, str]) -> Any:
    if found.dict_entries:
        return {entry.name: _value(entry, texts) for entry in found.dict_entries}
    if found.array_values:
        return [_value(item, texts) for item in found.array_values]
    which = found.WhichOneof("value")
    if which == "string_value_iid":
        return texts[found.string_value_iid]
    value = None if which is None else getattr(found, which)
    return json.loads(value) if which == "legacy_json_value" else value


def decoded(data: bytes) -> dict[int, list[Event]]:
    """The slices' events of a file, by track, as Perfetto's classes read them: begins with all that
    they say, ends with their time only.
    """
    trace = pb.Trace.FromString(data)
    # Every byte is a field that Perfetto knows, written as short as it can be.
    trace.DiscardUnknownFields()
    assert len(trace.SerializeToString()) == len(data)

    events: dict[int, list[Event]] = defaultdict(list)
    track: dict[int, int] = {}
    interned: dict[tuple[int, str], dict[int, str]] = defaultdict(dict)
    for packet in trace.packet:
        id_ = packet.trusted_packet_sequence_id
        if packet.HasField("trace_packet_defaults"):
            track[id_] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                text = entry.str.decode() if field.name.endswith("values") else entry.name
                assert entry.iid not in interned[id_, field.name]
                interned[id_, field.name][entry.iid] = text
        event = packet.track_event
        if event.type == pb.TrackEvent.TYPE_SLICE_END:
            assert len(event.ListFields()) == 1
            events[track[id_]].append((packet.timestamp,))
        elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            categories = interned[id_, "event_categories"]
            arguments = interned[id_, "debug_annotation_names"]
            texts = interned[id_, "debug_annotation_string_values"]
            events[track[id_]].append(
                (
                    packet.timestamp,
                    interned[id_, "event_names"][event.name_iid],
                    ",".join(categories[i] for i in event.category_iids),
                    repr(
                        [(arguments[a.name_iid], _value(a, texts)) for a in event.debug_annotations]
                    ),
                    sorted(event.flow_ids),
                    sorted(event.terminating_flow_ids),
                    event.correlation_id_str,
                )
            )
    return dict(events)


RED = {"failed": "failed 942", "incomplete": "error 373"}
KINDS = ("compile", "context", "phase", "pass", "codegen", "step", "tool")


def expected(trace: Trace) -> dict[int, list[Event]]:
    """The same from the Trace itself, slice by slice."""
    first_uuid = 1 + len(trace.processes)
    origin = min(0, *trace.slices.begin.tolist(), *trace.instants.time.tolist(), 0)
    failed = [
        (int(trace.slices.end[row]), row)
        for row, status in trace.arguments.values("status").items()
        if status == "failed" and trace.category(row).split(",")[0] in KINDS
    ]
    arrows = [source for source, _ in trace.flows.tolist()] + [row for _, row in sorted(failed)]
    targets = [target for _, target in trace.flows.tolist()]
    events: dict[int, list[Event]] = {}
    for lane in range(len(trace.lanes)):
        found, ends = [], list[int]()
        for row in range(len(trace.slices)):
            if trace.slices.lane[row] != lane:
                continue
            begin, arguments = int(trace.slices.begin[row]), trace.arguments.of(row)
            while ends and ends[-1] <= begin:
                found.append((ends.pop() - origin,))
            ends.append(int(trace.slices.end[row]))
            category = trace.category(row)
            colour = ""
            if category.split(",")[0] in KINDS and arguments.get("status") in list(RED):
                category, colour = f"{category},error", RED[arguments["status"]]
            elif category == "difference,slower":
                colour = "slower 116"
            found.append(
                (
                    begin - origin,
                    trace.name(row),
                    category,
                    repr(list(arguments.items())),
                    [number for number, source in enumerate(arrows, 1) if source == row],
                    [number for number, target in enumerate(targets, 1) if target == row],
                    colour,
                )
            )
        found += [(end - origin,) for end in reversed(ends)]
        if found:
            events[first_uuid + lane] = found
    return events


@settings(deadline=None)
@given(traces())
def test_random_traces_are_what_perfetto_s_classes_read(trace: Trace) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_packets, "_FIRST_ROWS", 3)
        patch.setattr(slice_packets, "_MOST_ROWS", 5)
        data = written(trace)
    assert decoded(data) == expected(trace)
    assert written(trace) == data
    assert said(pftrace_reader.read(data).build()) == said(trace)


@pytest.mark.parametrize("name", TRACES)
def test_hand_made_traces_are_what_perfetto_s_classes_read(name: str) -> None:
    trace = TRACES[name]()
    assert decoded(written(trace)) == expected(trace)


def test_the_bytes_are_those_of_packets_made_one_by_one() -> None:
    """Also where thousands of slices share a piece, and numbers and names outgrow one byte."""
    trace = synthetic.trace(5_000)
    together = SlicePackets(trace, 0, Flows(trace, [])).of_lane(range(5_000), EventPackets(2, 3))
    sequence = EventPackets(2, 3)
    packets = [
        sequence.begin(time, name, category, arguments) if name else sequence.end(time)
        for time, name, category, arguments in begins_and_ends(trace)
    ]
    assert b"".join(together) == joined(packets)


def test_long_arguments_don_t_make_large_pieces() -> None:
    count, text = 400, "x" * 64_000
    slices = ((10 * k, 10 * k + 5, "a", "pass", {"ir": {"after": text}}) for k in range(count))
    trace = one_lane(*slices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_packets, "_FIRST_ROWS", 150)
        pieces = list(write(trace))
    assert len(b"".join(pieces)) > count * len(text)
    # After the first one, in which it sees how large they are.
    assert sorted(map(len, pieces))[-2] < 2 * slice_packets._CHUNK_BYTES
