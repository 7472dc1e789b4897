"""Every way in which a file can be something else to Perfetto than is meant has its finding.

Each file here is made by hand, and breaks one rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from tilelang_trace import check
from tilelang_trace.trace.findings import RULES

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

JSON: list[tuple[str, str, bytes]] = [
    # Times: doubles of microseconds.
    ("coarse-time", "1, 25", text(ts="1760000000123456.789")),
    ("negative-time", "19", text(ts="-5")),
    ("no-time", "26", text(ts="null")),
    ("no-duration", "26", text(dur="null")),
    ("negative-duration", "26", text(dur="-3")),
    ("empty-slice", "26", text(dur="0")),
    ("shifted", "4", events(*(event(ph, ts=5) for ph in "BEBE"))),
    # How the file begins and ends.
    ("unclosed", "2", b'{"traceEvents":[\n' + text()[1:-1] + b",\n"),
    ("cut-off", "2", CUT_JSON),
    ("file-start", "11", b"\xef\xbb\xbf" + text()),
    ("file-start", "11", "\ufeff".encode("utf-16-le") + text().decode().encode("utf-16-le")),
    # Numbers of processes and threads: 32 bits.
    ("wide-id", "3", events(event(tid=140635004562304), event(tid=140635004562305))),
    ("wide-id", "3", events(event(pid=-1))),
    ("text-id", "3", events(event(tid="stream 7"))),
    ("zero-id", "3", events(event(pid=7, tid=0), event(pid=7, tid=7))),
    # Slices that nest, or don't.
    ("overlap", "4, 35", events(event(), event(ts=12))),
    ("rounding", "4, 25", events(event(dur=50), event(ts=20, dur=41))),
    ("never-ended", "5", events(event("B"), event(ts=20))),
    ("end-without-begin", "6", events(event(), event("E", ts=20))),
    ("too-deep", "19", deep(600)),
    # What is passed by.
    (
        "sort-index",
        "7, 29",
        events(event(), event("M", name="thread_sort_index", args={"sort_index": "1"})),
    ),
    ("colour", "8", events(event(cname="terrible"))),
    ("unknown-phase", "", events(event(), event("?"))),
    # JSON as text.
    ("surrogates", "9", text(name=r'"\"\ud83d\ude00"')),
    ("surrogates", "9", text(name=r'"\"\ud83d"')),
    ("not-a-number", "9, 28", text(args='{"a": NaN, "b": 1}')),
    ("not-a-number", "9, 28", text(args='{"a": -Infinity}')),
    ("control-character", "9", text(name='"a\tb"')),
    ("not-utf-8", "9", text(name='"gr\udcff"').replace(b"\xed\xb3\xbf", b"\xff")),
    ("escapes", "27", text(name=r'"gr\u00fcn"')),
    ("bad-counter", "28", b'[{"ph":"C","name":"c","ts":1,"pid":1,"args":{"v":NaN}}]'),
    # Arrows.
    ("bad-flow", "10", events(*flows("10", 10))),
    ("loose-flow", "10", events(*flows(1, 2))),
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


PROTOBUF: list[tuple[str, str, bytes]] = [
    ("missing-time", "12", trace(*SLICE, without("timestamp", track_event()))),
    ("missing-sequence", "12", trace(*SLICE, without("trusted_packet_sequence_id", track_event()))),
    ("no-state", "12", trace(*SLICE, track_event(sequence_flags=2, timestamp=30))),
    (
        "incomplete-ids",
        "12",
        trace(packet(track_descriptor={"uuid": 7, "thread": {"pid": 1}}), *SLICE[1:]),
    ),
    ("cut-off", "13, 30", trace(*SLICE)[:-3]),
    (
        "shared-name",
        "14",
        trace(
            *(row(uuid) for uuid in (7, 8)),
            *(
                track_event(kind, track_uuid=uuid, timestamp=time)
                for uuid in (7, 8)
                for kind, time in ((BEGIN, 1), (END, 9))
            ),
        ),
    ),
    ("end-without-begin", "16", trace(*SLICE, track_event(END, timestamp=30))),
    ("never-ended", "5", trace(*SLICE, track_event(timestamp=30))),
    (
        "unknown-clock",
        "18",
        trace(
            *SLICE,
            packet(timestamp_clock_id=77, track_event=TrackEvent(type=INSTANT, track_uuid=7)),
        ),
    ),
    (
        "too-deep",
        "19",
        trace(
            thread(),
            *(track_event(timestamp=time) for time in range(600)),
            *(track_event(END, timestamp=1000 + time) for time in range(600)),
        ),
    ),
    ("time-out-of-range", "19", trace(*SLICE, track_event(INSTANT, timestamp=2**63 + 1))),
    ("changed-name", "20", argument("a.b")),
    ("lost-parent", "12", trace(row(8, parent_uuid=99), track_event(INSTANT, track_uuid=8))),
    (
        "untold-name",
        "12",
        trace(
            packet(sequence_flags=1),
            thread(),
            track_event(INSTANT, sequence_flags=2, name_iid=5, name=None),
        ),
    ),
]


def is_built(rule: str, data: bytes) -> bool:
    """Whether a reader knows the rule by now."""
    return rule in RULES and ("unclosed" in RULES or data != CUT_JSON)


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        pytest.param(
            rule,
            data,
            id=f"{rule} {number}",
            marks=pytest.mark.xfail(not is_built(rule, data), reason="not built yet", strict=True),
        )
        for number, (rule, _, data) in enumerate([*JSON, *PROTOBUF])
    ],
)
def test_it_is_found(tmp_path: Path, rule: str, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert rule in check(path).counts
