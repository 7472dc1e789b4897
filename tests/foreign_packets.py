"""Packets of other tools, in protobuf's text form: short to write, and easy to read in a test."""

from __future__ import annotations

from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

CLEARED = "sequence_flags: 1"
NEEDS = "sequence_flags: 2"


def file_of(*packets: str) -> bytes:
    """The bytes of a file."""
    data: bytes = text_format.Parse("\n".join(packets), pb.Trace()).SerializeToString()
    return data


def packet(content: str, time: int | None = None, sequence: int = 1, more: str = "") -> str:
    """Any packet."""
    at = "" if time is None else f"timestamp: {time}"
    of = f"trusted_packet_sequence_id: {sequence}" if sequence else ""
    return f"packet {{ {at} {of} {more} {content} }}"


def track(uuid: int, content: str = "", more: str = CLEARED, sequence: int = 1) -> str:
    """A descriptor of a track."""
    return packet(f"track_descriptor {{ uuid: {uuid} {content} }}", 0, sequence, more)


def thread(uuid: int = 5, pid: int = 4, tid: int = 6, more: str = "") -> str:
    """A descriptor of a thread."""
    return track(uuid, f'{more} thread {{ pid: {pid} tid: {tid} thread_name: "t{tid}" }}')


def event(
    kind: str,
    time: int | None,
    name: str = "",
    content: str = "",
    *,
    on: int | None = 5,
    sequence: int = 1,
    more: str = "",
) -> str:
    """An event: `B`, `E`, `I` and `C` begin and end a slice, are an instant, or give a counter's
    value; others are phases of the older form.
    """
    types = {"B": "SLICE_BEGIN", "E": "SLICE_END", "I": "INSTANT", "C": "COUNTER"}
    said = f"type: TYPE_{types[kind]}" if kind in types else legacy(kind)
    named = f'name: "{name}"' if name else ""
    where = "" if on is None else f"track_uuid: {on}"
    return packet(f"track_event {{ {said} {where} {named} {content} }}", time, sequence, more)


def legacy(phase: str, more: str = "") -> str:
    """What makes an event one of the older form; the phase may be written twice, as `XX`, where the
    letter alone means something else for `event`.
    """
    return f"legacy_event {{ phase: {ord(phase[0])} {more} }}"


POINT = event("I", 5, "i")
BREAKING = {
    "missing-sequence": (thread(), event("I", 5, "i", sequence=0)),
    "no-time": (thread(), event("I", None)),
    "far-time": (thread(), event("I", 2**63)),
    "no-state": (thread(), POINT, event("I", 6, sequence=7, more=NEEDS)),
    "names-without-state": (
        packet('interned_data { event_names { iid: 1 name: "i" } }', sequence=3),
        event("I", 5, content="name_iid: 1", sequence=3),
    ),
    "untold-name": (thread(), event("I", 5, content="name_iid: 1")),
    "lost-packets": (thread(), event("I", 5, "i", more="previous_packet_dropped: 1")),
    "incomplete-ids": (track(5, 'thread { pid: 4 thread_name: "t" }'), POINT),
    "changed-track": (thread(), track(5, 'name: "row"'), POINT),
    "lost-parent": (track(5, "parent_uuid: 77"), POINT),
    "shared-id": (thread(5), thread(6), POINT),
    "shared-name": (
        track(5, 'name: "row"'),
        track(6, 'name: "row"'),
        POINT,
        event("I", 6, "i", on=6),
    ),
    "changed-name": (thread(), event("I", 5, "i", 'debug_annotations { name: "a.b" }')),
    "unread-argument": (
        thread(),
        event("I", 5, "i", 'debug_annotations { name: "a" proto_value: "x" }'),
    ),
    "unplaced": (thread(), packet("track_event { track_uuid: 5 }", 5)),
    "unknown-phase": (thread(), event("O", 5, "i")),
    "loose-flow": (thread(), event("I", 5, "i", "flow_ids: 3")),
    "no-track-events": (thread(), packet("trace_uuid { msb: 1 }")),
    "empty-slice": (thread(), event("B", 5, "i"), event("E", 5)),
    "end-without-begin": (thread(), event("E", 5)),
    "never-ended": (thread(), event("B", 5, "i")),
    "unknown-clock": (
        thread(),
        POINT,
        event("I", 6, "lost", more="timestamp_clock_id: 64"),
    ),
}
"""Packets of files that break one rule each, by its name."""
