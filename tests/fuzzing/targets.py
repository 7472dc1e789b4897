"""What is fuzzed: for each target how bytes become a file, and the inputs that it starts from."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.random_events import json_trace
from tests.random_packets import packets
from tests.traces import TRACES
from tilelang_trace.formats import files

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
_SEED_BYTES = 8192


class Choices(random.Random):
    """Choices that are made by bytes and not by chance: what the fuzzer changes in them, it changes
    in what is built of them.
    """

    def __new__(cls, data: bytes) -> Choices:
        return super().__new__(cls)

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)
        super().__init__()

    def getrandbits(self, k: int) -> int:
        count = (k + 7) // 8
        number = int.from_bytes(bytes(next(self._bytes, 0) for _ in range(count)), "little")
        return number & ((1 << k) - 1)

    def random(self) -> float:
        return self.getrandbits(16) / 65536


@dataclass(frozen=True)
class Target:
    """One thing to fuzz."""

    file: Callable[[bytes], bytes]
    """The file that the fuzzer's bytes stand for."""
    seeds: Callable[[], Iterator[bytes]]
    """Inputs to start from."""
    words: tuple[bytes, ...] = ()
    """Pieces that inputs of this kind are made of."""


def _written(format_: files.Format) -> Iterator[bytes]:
    """The hand-made Traces, and the begins of recordings, in a format."""
    for make in TRACES.values():
        data = b"".join(format_.write(make()))
        if len(data) <= _SEED_BYTES:
            yield data
    for path in sorted(RECORDINGS.glob(f"*{format_.ending}")):
        yield path.read_bytes()[:_SEED_BYTES]


def _json() -> Iterator[bytes]:
    yield from _written(files.JSON)
    yield from (json_trace(random.Random(seed)) for seed in range(100))


def _protobuf() -> Iterator[bytes]:
    yield from _written(files.PFTRACE)
    yield from (_packets(random.Random(seed)) for seed in range(50))


def _packets(chance: random.Random) -> bytes:
    """A file of random packets."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    data: bytes = pb.Trace(packet=packets(chance)).SerializeToString()
    return data


def _packed() -> Iterator[bytes]:
    """Small traces, compressed and in archives."""
    trace = TRACES["two_threads"]()
    plain = {
        "a.json": b"".join(files.JSON.write(trace)),
        "b.pftrace": b"".join(files.PFTRACE.write(trace)),
        "c.events.jsonl": b"".join(files.LOG.write(trace)),
    }
    for data in plain.values():
        compressed = gzip.compress(data, mtime=0)
        yield from (compressed, compressed[: len(compressed) // 2], compressed * 2)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", method) as opened:
            for name, data in plain.items():
                opened.writestr(zipfile.ZipInfo(name), data, method)
        yield archive.getvalue()


def _chances() -> Iterator[bytes]:
    yield from (random.Random(seed).randbytes(400) for seed in range(50))


_KEYS = (
    *("traceEvents", "ph", "ts", "dur", "pid", "tid", "id", "id2", "cat", "name", "args", "bp"),
    *("process_name", "thread_name", "displayTimeUnit", "otherData", "metadata", "stackFrames"),
    *("tilelang_trace", "format_version", "origin_ns", "lanes", "threads", "processes", "flows"),
)
_LOG_KEYS = (
    *("pass_events", "metadata", "name", "sequence", "depth", "start_ns", "end_ns", "failed_ns"),
    *("parent_sequence", "phase", "error", "pid", "tid", "thread_name", "context", "args"),
)
_JSON_WORDS = (
    *(b'"%s":' % key.encode() for key in _KEYS),
    *(b'"%s"' % phase.encode() for phase in "XBEiICbnestfM"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"NaN", b"Infinity", b"-Infinity"),
    *(b"1e400", b"1e15", b"1760000000123456.001", b"18446744073709551616", b"-0.0", b"\\ud800"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b'\\"', b"\\\\", b"\\u0000", b"},\n{", b"]}"),
)

TARGETS = {
    "json": Target(bytes, _json, _JSON_WORDS),
    "events": Target(lambda data: json_trace(Choices(data)), _chances),
    "protobuf": Target(bytes, _protobuf, (b"\x0a", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
    "packets": Target(lambda data: _packets(Choices(data)), _chances),
    "log": Target(
        bytes, lambda: _written(files.LOG), tuple(b'"%s":' % key.encode() for key in _LOG_KEYS)
    ),
    "packed": Target(bytes, _packed, (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")),
}
