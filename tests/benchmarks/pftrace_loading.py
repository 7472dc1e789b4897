"""Loading a .pftrace in Perfetto's own engine, against the same slices by TraceProtoBuilder.

The engine is that of the tests (WebAssembly, run by Node); the CPU time counts what it takes and
what it takes to hand it the file. Asked for: at least as fast as the peer's file. Linux only.

Perfetto v52 takes some 30 ns for each interned name that it looks up (100 for a slice's), nine a
slice, of some 5 us altogether. So a file of half the size is a few percent slower there: with every
name written out it is as fast as the peer's, and takes 130 bytes a slice as that does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure, interleaved
from tests.benchmarks.pftrace_writing import begins_and_ends, built, written
from tests.perfetto.engine import Engine

SIZE, REPEATS = 200_000, 5


def run(size: int, repeats: int) -> Iterator[Figure]:
    trace = synthetic.trace(size)
    ours, peer = "written by tilelang_trace", "written by TraceProtoBuilder"
    with tempfile.TemporaryDirectory() as folder, Engine(300) as engine:
        files = {name: Path(folder, f"{name}.pftrace") for name in (ours, peer)}
        files[ours].write_bytes(written(trace))
        files[peer].write_bytes(built(list(begins_and_ends(trace))))
        engine.load(files[ours])  # from here on the engine's own code is compiled
        times = interleaved(
            {name: lambda path=path: engine.load(path) for name, path in files.items()},  # type: ignore[misc]
            repeats,
            lambda: time.process_time() + engine.cpu_seconds(),
        )
    for name in (ours, peer):
        yield Figure(f"{name}: time a slice", times[name].least / size * 1e6, "us")
    yield Figure("speed, ours / the peer's", times[peer].least / times[ours].least, "x", ">= 1")
