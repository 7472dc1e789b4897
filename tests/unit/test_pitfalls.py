"""Every way in which a file can be something else to Perfetto than is meant has its finding.

Each file here is made by hand, and breaks one rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from tilelang_trace import check, read, write

NOT_MENDED = {"too-deep"}  # a file that keeps the nesting has it still
IDS = {"pid": 1, "tid": 1}
BEGIN, END = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
INSTANT = TrackEvent.TYPE_INSTANT


def event(ph: str = "X", **more: Any) -> dict[str, Any]:
    found = {"ph": ph, "name": "s", "ts": 10, **IDS, **more}
    return {"dur": 5, **found} if ph == "X" else found


def events(*several: dict[str, Any]) -> bytes:
    return json.dumps(several).encode()


def text(ts: str = "10", dur: str = "5", args: str = "{}", name: str = '"s"') -> bytes:
    """One slice in which these stand as they are."""
    said = f'{{"ph":"X","name":{name},"ts":{ts},"dur":{dur},"pid":1,"tid":1,"args":{args}}}'
    return f"[{said}]".encode("utf-8", "surrogatepass")


def deep(levels: int) -> bytes:
    return events(*(event(ts=level, dur=10_000 - 2 * level) for level in range(levels)))


def flows(start: Any, end: Any) -> list[dict[str, Any]]:
    return [
        event(ts=10),
        event(ts=20),
        event("s", ts=11, cat="c", id=start),
        event("f", ts=21, cat="c", id=end, bp="e"),
    ]


CUT_JSON = b'{"traceEvents":[\n' + text()[1:-1] + b",\n" + text()[1:20]

JSON: list[tuple[str, bytes]] = [
    # Times: doubles of microseconds.
    ("coarse-time", text(ts="1760000000123456.789")),
    ("negative-time", text(ts="-5")),
    ("no-time", text(ts="null")),
    ("no-duration", text(dur="null")),
    ("negative-duration", text(dur="-3")),
    ("empty-slice", text(dur="0")),
    ("shifted", events(*(event(ph, ts=5) for ph in "BEBE"))),
    # How the file begins and ends.
    ("unclosed", b'{"traceEvents":[\n' + text()[1:]),
    ("cut-off", CUT_JSON),
    ("file-start", b"\xef\xbb\xbf" + text()),
    ("file-start", "\ufeff".encode("utf-16-le") + text().decode().encode("utf-16-le")),
    # Numbers of processes and threads: 32 bits.
    ("wide-id", events(event(tid=140635004562304), event(tid=140635004562305))),
    ("wide-id", events(event(pid=-1))),
    ("text-id", events(event(tid="stream 7"))),
    ("zero-id", events(event(pid=7, tid=0), event(pid=7, tid=7))),
    # Slices that nest, or don't.
    ("overlap", events(event(), event(ts=12))),
    ("rounding", events(event(dur=50), event(ts=20, dur=41))),
    ("never-ended", events(event("B"), event(ts=20))),
    ("end-without-begin", events(event(), event("E", ts=20))),
    ("too-deep", deep(600)),
    # What is passed by.
    (
        "sort-index",
        events(event(), event("M", name="thread_sort_index", args={"sort_index": "1"})),
    ),
    ("colour", events(event(cname="terrible"))),
    ("unknown-phase", events(event(), event("?"))),
    # JSON as text.
    ("surrogates", text(name=r'"\"\ud83d\ude00"')),
    ("surrogates", text(name=r'"\"\ud83d"')),
    ("not-a-number", text(args='{"a": NaN, "b": 1}')),
    ("not-a-number", text(args='{"a": -Infinity}')),
    ("control-character", text(name='"a\tb"')),
    ("not-utf-8", text(name='"gr\udcff"').replace(b"\xed\xb3\xbf", b"\xff")),
    ("escapes", text(name=r'"gr\u00fcn"')),
    (
        "counter-id",
        events(*(event("C", id=k, args={"v": k}) for k in range(2))),
    ),
    ("bad-counter", b'[{"ph":"C","name":"c","ts":1,"pid":1,"args":{"v":NaN}}]'),
    # Arrows.
    ("bad-flow", events(*flows("x1", "x1"))),
    ("loose-flow", events(*flows(1, 2))),
]


def packet(**fields: Any) -> TracePacket:
    return TracePacket(**{"trusted_packet_sequence_id": 1, "timestamp": 10, **fields})


def track_event(kind: int = BEGIN, **fields: Any) -> TracePacket:
    packet_fields = {
        key: fields.pop(key) for key in ("timestamp", "sequence_flags") if key in fields
    }
    told = {"type": kind, "track_uuid": 7, "name": "s", **fields}
    return packet(track_event=TrackEvent(**told), **packet_fields)


def thread(uuid: int = 7, **fields: Any) -> TracePacket:
    return packet(track_descriptor={"uuid": uuid, "thread": {"pid": 1, "tid": 2, **fields}})


def row(uuid: int, **fields: Any) -> TracePacket:
    return packet(track_descriptor={"uuid": uuid, "name": "row", **fields})


def without(field: str, packet: TracePacket) -> TracePacket:
    packet.ClearField(field)
    return packet


def trace(*packets: TracePacket) -> bytes:
    return Trace(packet=packets).SerializeToString()


SLICE = (thread(), track_event(), track_event(END, timestamp=20))


def argument(name: str) -> bytes:
    told = track_event(debug_annotations=[{"name": name, "int_value": 1}])
    return trace(thread(), told, track_event(END, timestamp=20))


def counters(uuids: tuple[int, int]) -> list[TracePacket]:
    return [
        packet(
            track_event=TrackEvent(type=TrackEvent.TYPE_COUNTER, track_uuid=uuid, counter_value=1)
        )
        for uuid in uuids
    ]


PROTOBUF: list[tuple[str, bytes]] = [
    ("missing-time", trace(*SLICE, without("timestamp", track_event()))),
    ("missing-sequence", trace(*SLICE, without("trusted_packet_sequence_id", track_event()))),
    ("no-state", trace(*SLICE, track_event(sequence_flags=2, timestamp=30))),
    (
        "incomplete-ids",
        trace(packet(track_descriptor={"uuid": 7, "thread": {"pid": 1}}), *SLICE[1:]),
    ),
    ("cut-off", trace(*SLICE)[:-3]),
    (
        "shared-name",
        trace(
            *(row(uuid) for uuid in (7, 8)),
            *(
                track_event(kind, track_uuid=uuid, timestamp=time)
                for uuid in (7, 8)
                for kind, time in ((BEGIN, 1), (END, 9))
            ),
        ),
    ),
    ("end-without-begin", trace(*SLICE, track_event(END, timestamp=30))),
    ("never-ended", trace(*SLICE, track_event(timestamp=30))),
    (
        "unknown-clock",
        trace(
            *SLICE,
            packet(timestamp_clock_id=77, track_event=TrackEvent(type=INSTANT, track_uuid=7)),
        ),
    ),
    (
        "too-deep",
        trace(
            thread(),
            *(track_event(timestamp=time) for time in range(600)),
            *(track_event(END, timestamp=1000 + time) for time in range(600)),
        ),
    ),
    ("time-out-of-range", trace(*SLICE, track_event(INSTANT, timestamp=2**63 + 1))),
    ("changed-name", argument("a.b")),
    ("lost-parent", trace(row(8, parent_uuid=99), track_event(INSTANT, track_uuid=8))),
    (
        "untold-name",
        trace(
            packet(sequence_flags=1),
            thread(),
            track_event(INSTANT, sequence_flags=2, name_iid=5, name=None),
        ),
    ),
]


CASES = pytest.mark.parametrize(
    ("rule", "data"),
    [
        pytest.param(rule, data, id=f"{rule} {number}")
        for several in (JSON, PROTOBUF)
        for number, (rule, data) in enumerate(several)
    ],
)


@CASES
def test_it_is_found(tmp_path: Path, rule: str, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert rule in check(path).counts


@CASES
@pytest.mark.parametrize("ending", [".pftrace", ".json"])
def test_convert_mends_it(tmp_path: Path, rule: str, data: bytes, ending: str) -> None:
    path, mended = tmp_path / "x", tmp_path / f"y{ending}"
    path.write_bytes(data)
    write(read(path), mended)
    left = check(mended).counts.keys() - NOT_MENDED
    assert not left
