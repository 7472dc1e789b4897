"""Reading a .pftrace of ours into a Trace, against `orjson.loads` of the same Trace's .json file.

The peer makes Python's lists and dictionaries of the text and no Trace. CPU time; and the peak of
memory beside the file itself. Asked for: at most 3 x the time of reading JSON, which may take 2 x
`orjson.loads`; what is reached here is held against 3 x `orjson.loads` itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure, interleaved, peak_bytes
from tilelang_trace.formats.chrome_json import writer as chrome_json_writer
from tilelang_trace.formats.pftrace import reader as pftrace_reader
from tilelang_trace.formats.pftrace import writer as pftrace_writer

SIZE, REPEATS = 1_000_000, 3

_SETUP = """
from tilelang_trace.formats.pftrace import reader as pftrace_reader
data = open(sys.argv[1], "rb").read()
import numpy, orjson, google.protobuf, perfetto.protos.perfetto.trace.perfetto_trace_pb2
"""


def run(size: int, repeats: int) -> Iterator[Figure]:
    trace = synthetic.trace(size)
    data = b"".join(pftrace_writer.write(trace))
    text = b"".join(chrome_json_writer.write(trace))
    del trace
    ours, peer = "tilelang_trace", "orjson.loads of the .json"
    times = interleaved(
        {ours: lambda: pftrace_reader.read(data).build(), peer: lambda: orjson.loads(text)},
        repeats,
    )
    for name in (ours, peer):
        yield Figure(f"{name}: time a slice", times[name].least / size * 1e6, "us")
    yield Figure(f"time, {ours} / {peer}", times[ours].least / times[peer].least, "x", "<= 3")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.pftrace")
        file.write_bytes(data)
        peak = peak_bytes(_SETUP, "trace = pftrace_reader.read(data).build()", str(file))
    yield Figure("peak memory / size of the file", peak / len(data), "x")
    yield Figure("peak memory a slice", peak / size, "bytes")
