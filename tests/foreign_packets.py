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
