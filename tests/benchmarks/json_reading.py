"""Reading our own .json into a Trace, against orjson.loads of the same file; and the peak memory.

CPU time, from the bytes of the file on; peak memory of a fresh process from the path on, above
what it has after its imports. The file of another tool has the same events without our envelope.
Asked for: at most 2 x the peer's time; at most 3 x the file's size for our own file, 12 x for one
of another tool.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.benchmarks import synthetic
from tests.benchmarks.json_writing import dumped, written
from tests.benchmarks.measure import Figure, interleaved, peak_bytes
from tilelang_trace.formats import files

SIZE, REPEATS = 1_000_000, 3


def run(size: int, repeats: int) -> Iterator[Figure]:
    trace = synthetic.trace(size)
    data, foreign = written(trace), dumped(trace)
    del trace
    ours, peer = "tilelang_trace", "orjson.loads"
    times = interleaved(
        {ours: lambda: files.JSON.read(data).build(), peer: lambda: orjson.loads(data)}, repeats
    )
    for name in (ours, peer):
        yield Figure(f"{name}: time a slice", times[name].least / size * 1e6, "us")
    yield Figure(f"time, {ours} / {peer}", times[ours].least / times[peer].least, "x", "<= 2")
    with tempfile.TemporaryDirectory() as folder:
        for what, content, asked in (("own", data, "<= 3"), ("another tool's", foreign, "<= 12")):
            path = Path(folder, "trace.json")
            path.write_bytes(content)
            yield Figure(f"{what} file: peak memory / size", _peak(path), "x", asked)
        path.write_bytes(data)
        yield Figure("own file: orjson.loads, peak memory / size", _peak_of_orjson(path), "x")


def _peak(path: Path) -> float:
    setup = """
from tilelang_trace.formats import files
from tilelang_trace.formats.chrome_json import reader as chrome_json_reader
"""
    return peak_bytes(setup, "files.read(sys.argv[1])", str(path)) / path.stat().st_size


def _peak_of_orjson(path: Path) -> float:
    work = "orjson.loads(open(sys.argv[1], 'rb').read())"
    return peak_bytes("import orjson", work, str(path)) / path.stat().st_size
