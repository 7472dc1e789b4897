"""Two short compiles and their comparison, made by hand, for tests of the timeline of both.

    base  PassContext 0-100   Lower 1-41 (Simplify 2-12, FuseOps 13-23)   Simplify 49-59   VMCodeGen
    new   PassContext 0-119 Lower 0.5-60.5 (Simplify 2-32, Inline 32.5-37.5) Simplify 69.5-77.5 ..

in ms after the begin of the context, which is not at zero in the traces.
"""

from __future__ import annotations

from tests.comparisons import MS, compared, comparison
from tests.traces import Passes, main_thread
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

BASE_START, NEW_START = 1 * MS, 7_000 * MS
PASSES = 5
"""Passes of each side; each has one more slice, the context."""


def base() -> Trace:
    """The first compile."""
    builder, a_pass = _compile(BASE_START, 100.0)
    a_pass(1.0, 41.0, "Lower", phase="größe")
    a_pass(2.0, 12.0, "Simplify")
    a_pass(13.0, 23.0, "FuseOps")
    a_pass(49.0, 59.0, "Simplify")
    a_pass(59.0, 99.0, "VMCodeGen")
    return builder.build()


def new() -> Trace:
    """The second compile."""
    builder, a_pass = _compile(NEW_START, 119.0)
    a_pass(0.5, 60.5, "Lower", phase="größe")
    a_pass(2.0, 32.0, "Simplify")
    a_pass(32.5, 37.5, "Inline")
    a_pass(69.5, 77.5, "Simplify")
    a_pass(77.5, 117.5, "VMCodeGen")
    return builder.build()


class _Passes:
    """Passes of a compile, in ms after its start."""

    def __init__(self, builder: TraceBuilder, lane: int, start: int) -> None:
        self._passes, self._start = Passes(builder, lane), start

    def __call__(self, begin: float, end: float, name: str, **arguments: object) -> None:
        times = (self._start + round(time * MS) for time in (begin, end))
        self._passes(*times, name, **arguments)


def _compile(start: int, ms: float) -> tuple[TraceBuilder, _Passes]:
    builder = TraceBuilder()
    lane = main_thread(builder)  # of one pid and tid on both sides
    arguments = {"status": "ok", "context": 0}
    builder.slice(lane, start, start + round(ms * MS), "PassContext", "context", arguments)
    return builder, _Passes(builder, lane, start)


def compared_sides() -> Comparison:
    """What changed between the two; the rows are those of `base` and `new`."""
    whole, of_new = 40 * MS, 60 * MS
    return comparison(
        compared("Lower", base=20 * MS, new=25 * MS, inclusive=(whole, of_new), rows=(1, 1)),
        compared("Lower", "Simplify", base=10 * MS, new=30 * MS, rows=(2, 2)),
        compared("Lower", "FuseOps", base=10 * MS, rows=(3, 0)),
        compared("Lower", "Inline", new=5 * MS, rows=(0, 3)),
        compared("Simplify", base=10 * MS, new=8 * MS, rows=(4, 4)),
        compared("VMCodeGen", base=40 * MS, new=40 * MS, rows=(5, 5)),
        between=(10 * MS, 11 * MS),
    )
