"""Every way in which a file can be something else to Perfetto than is meant has its finding.

Each file here is made by hand, and breaks one rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import foreign_packets as packets
from tests.foreign_packets import BREAKING, file_of, thread
from tilelang_trace import check, read, write

NOT_MENDED = {"too-deep"}  # a file that keeps the nesting has it still
IDS = {"pid": 1, "tid": 1}


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


SLICE = (thread(), packets.event("B", 10, "s"), packets.event("E", 20))
DEEP = (packets.event(kind, 600 * (kind == "E") + k) for kind in "BE" for k in range(600))

PROTOBUF: list[tuple[str, bytes]] = [
    *((rule, file_of(*those)) for rule, those in BREAKING.items()),
    ("cut-off", file_of(*SLICE)[:-3]),
    ("too-deep", file_of(thread(), *DEEP)),
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
