"""Random packets of track events, of this project's shape and of others: for readers.

Ids are few, so that they are told anew, told late, or never; times may go back; names of arguments
come twice.
"""

from __future__ import annotations

import random

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_TEXTS = ("pass", "error", "n", "status", "depth", "m")
_VALUES = ("failed", "ok", "~", "a", "", "incomplete")
_UUIDS = (0, 1, 2, 3, 2**63 + 5)


def packets(chance: random.Random) -> list[pb.TracePacket]:
    """The packets of a file."""
    oddness = chance.choice((0.01, 0.05, 0.3))
    found = [_track(chance, uuid) for uuid in _UUIDS[1:] if chance.random() < 0.8]
    found += [
        pb.TracePacket(trusted_packet_sequence_id=id_, sequence_flags=1)
        for id_ in range(1, 4)
        if chance.random() < 0.9
    ]
    time = 100
    for _ in range(chance.choice((3, 20, 80, 300))):
        time += chance.choice((0, 0, 1, 1, 5, 1000))
        if chance.random() < oddness:
            time = max(0, time - chance.randrange(50))
        found.append(_packet(chance, time, oddness))
    return found


def _track(chance: random.Random, uuid: int) -> pb.TracePacket:
    packet = pb.TracePacket()
    track = packet.track_descriptor
    track.uuid = uuid
    kind = chance.choice(("process", "thread", "row", "counter", "child"))
    if kind == "process":
        track.process.pid, track.process.process_name = chance.randrange(3), f"p{uuid}"
    elif kind == "thread":
        track.thread.pid, track.thread.tid = chance.randrange(3), chance.randrange(3)
    elif kind == "counter":
        track.name, track.counter.unit_name = "c", "B"
    else:
        track.name, track.parent_uuid = chance.choice(("Failures", "row")), chance.choice(_UUIDS)
    return packet


def _packet(chance: random.Random, time: int, oddness: float) -> pb.TracePacket:
    packet = pb.TracePacket(timestamp=time)
    if chance.random() < 0.95:
        packet.trusted_packet_sequence_id = chance.randrange(1, 4)
    packet.sequence_flags = 1 if chance.random() < oddness / 2 else 2
    if chance.random() < oddness / 2:
        defaults = packet.trace_packet_defaults.track_event_defaults
        defaults.track_uuid = chance.choice(_UUIDS)
    if chance.random() < oddness * 2:
        _tell(chance, packet.interned_data)
    if chance.random() < 0.97:
        _fill(chance, packet.track_event, oddness)
    return packet


def _tell(chance: random.Random, interned: pb.InternedData) -> None:
    for field in (
        interned.event_categories,
        interned.event_names,
        interned.debug_annotation_names,
    ):
        for _ in range(chance.randrange(4)):
            iid = chance.randrange(6)
            name = _TEXTS[iid] if chance.random() < 0.9 else chance.choice(_TEXTS)
            field.add(iid=iid, name=name)
    for _ in range(chance.randrange(4)):
        iid = chance.randrange(6)
        text = _VALUES[iid] if chance.random() < 0.9 else chance.choice(_VALUES)
        interned.debug_annotation_string_values.add(
            iid=iid, str=b"\xff" if text == "~" else text.encode()
        )


def _fill(chance: random.Random, event: pb.TrackEvent, oddness: float) -> None:
    event.type = chance.choice((1, 1, 1, 2, 2, 2, 2, 3, 4))
    if chance.random() < 0.9:
        event.name_iid = chance.randrange(6)
    elif chance.random() < oddness:
        event.name = "inline"
    for _ in range(chance.choice((0, 1, 1, 1, 2))):
        event.category_iids.append(chance.randrange(6))
    if chance.random() < oddness / 4:
        event.categories.append("pass,error")
    if chance.random() < 0.3:
        event.track_uuid = chance.choice(_UUIDS)
    for _ in range(chance.choice((0, 0, 1, 2, 3))):
        _annotate(chance, event.debug_annotations.add(), 0)
    if chance.random() < 0.1:
        event.flow_ids.append(chance.randrange(4))
    if chance.random() < 0.1:
        event.terminating_flow_ids.append(chance.randrange(4))
    if chance.random() < 0.1:
        event.counter_value = chance.randrange(-5, 5)
    elif chance.random() < 0.1:
        event.double_counter_value = chance.random()
    if chance.random() < 0.1:
        event.correlation_id_str = "red"


def _annotate(chance: random.Random, annotation: pb.DebugAnnotation, level: int) -> None:
    if chance.random() < 0.8:
        annotation.name_iid = chance.randrange(6)
    else:
        annotation.name = chance.choice(("x", "status", "depth", ""))
    kind = chance.randrange(12)
    if kind == 0:
        annotation.bool_value = chance.random() < 0.5
    elif kind == 1:
        annotation.uint_value = chance.choice((0, 5, 2**63 - 1, 2**63, 2**64 - 1))
    elif kind in (2, 3, 4):
        annotation.int_value = chance.choice((0, 1, -1, 300, 2**63 - 1, -(2**63), 70_000))
    elif kind == 5:
        annotation.double_value = chance.choice((0.0, -0.0, 1.5, 1e300))
    elif kind == 6:
        annotation.string_value = chance.choice(("failed", "ok", "", "text"))
    elif kind in (7, 8):
        annotation.string_value_iid = chance.randrange(6)
    elif kind == 9:
        annotation.legacy_json_value = chance.choice(("{}", "[1", "3"))
    elif kind < 12 and level < 2:
        field = annotation.dict_entries if kind == 10 else annotation.array_values
        for _ in range(chance.randrange(3)):
            _annotate(chance, field.add(), level + 1)
