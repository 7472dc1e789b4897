"""Writing a Trace as .json, against event dictionaries from the same columns and orjson.dumps.

The peer is what one writes who has the columns and orjson: a dictionary for each event, times as
floats, and one dump of the list. CPU time. Asked for: at least as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure, interleaved
from tilelang_trace.formats.chrome_json import writer as chrome_json_writer
from tilelang_trace.trace.model import Trace

SIZE, REPEATS = 1_000_000, 3


def run(size: int, repeats: int) -> Iterator[Figure]:
    trace = synthetic.trace(size)
    ours, peer = "tilelang_trace", "dictionaries and orjson.dumps"
    times = interleaved({ours: lambda: written(trace), peer: lambda: dumped(trace)}, repeats)
    for name in (ours, peer):
        yield Figure(f"{name}: time a slice", times[name].least / size * 1e6, "us")
    yield Figure(f"time, {ours} / {peer}", times[ours].least / times[peer].least, "x", "<= 1")
    yield Figure(f"{ours}: size of a slice", len(written(trace)) / size, "bytes")


def written(trace: Trace) -> bytes:
    """The file that we write."""
    return b"".join(chrome_json_writer.write(trace))


def dumped(trace: Trace) -> bytes:
    """The slices of a Trace of one thread, as plainly as it goes."""
    slices, strings = trace.slices, trace.strings
    arguments: list[dict[str, Any]] = [{} for _ in range(len(slices))]
    for column in trace.arguments.columns:
        values = column.values.tolist()
        if column.type == "string":
            values = [strings[number] for number in values]
        for row, value in zip(column.rows.tolist(), values):
            arguments[row][column.name] = value
    events = [
        {
            "ph": "X",
            "ts": begin / 1000,
            "dur": duration / 1000,
            "pid": 1,
            "tid": 1,
            "name": strings[name],
            "cat": strings[category],
            "args": of_slice,
        }
        for begin, duration, name, category, of_slice in zip(
            slices.begin.tolist(),
            slices.duration.tolist(),
            slices.name.tolist(),
            slices.category.tolist(),
            arguments,
        )
    ]
    return orjson.dumps({"traceEvents": events})
