"""Hand-made Traces for tests: small ones, each about one thing, all of them in `TRACES`.

`said` turns a Trace into plain values that tests compare; it is written apart from `Trace.__eq__`,
which tests hold against it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane, Trace
from tilelang_trace.trace.phases import with_phases

LONG_NAME = "tirx.Simplify<" + "tile_m=128," * 26 + ">"
assert len(LONG_NAME) > 300

# Each of these stands alone on a slice of `foreign`, under its own name. All of them come back
# from JSON and protobuf as they are.
ODD_ARGUMENTS: dict[str, Any] = {
    "nothing": None,
    "yes": True,
    "no": False,
    "zero": 0,
    "one": 1,
    "minus one": -1,
    "largest int64": 2**63 - 1,
    "smallest int64": -(2**63),
    "above int64": 2**63,
    "largest uint64": 2**64 - 1,
    "fraction": 0.1,
    "whole float": 2.0,
    "smallest float": 5e-324,
    "largest float": 1.7976931348623157e308,
    "empty text": "",
    "unicode": "größer ≥ 漢字 😀",
    "lines": "first\nsecond\r\n\tthird",
    "quotes": 'say "hi", don\'t \\ `shout`',
    "nul": "before\0after",
    "control": "\x01\x1f\x7f\u2028",
    "long": "x" * 100_000,
    "looks like JSON": '{"a": [1, null]}',
    "empty object": {},
    "empty array": [],
    "array": [1, 2, 3],
    "mixed array": [None, True, 1, 1.5, "text", [], {}, [1, [2, [3]]], {"k": None}],
    "object": {"type": "ValueError", "count": 3},
    "nested": {"a": {"b": {"c": [{"d": 2**64 - 1}, {"d": -(2**63)}]}, "e": {}, "f": []}, "g": None},
    "keys": {"": 1, "with space": 2, "with.dot": 3, 'with"quote': 4, "ключ": 5, "line\nbreak": 6},
    "with.dot": 1,
    "with space": 2,
    "ключ": 3,
    'with"quote': 4,
    "": "an empty name",
}

TOO_WIDE = (2**64, 2**100, -(2**63) - 1)
"""Integers that neither JSON readers nor protobuf have room for."""


def main_thread(builder: TraceBuilder, process: str = "mlp.py", pid: int | None = 71) -> int:
    """The lane of the main thread of a new process."""
    return builder.lane(Lane(builder.thread(builder.process(process, pid), "MainThread", pid)))


def one_lane(*slices: tuple[Any, ...]) -> Trace:
    """A Trace with one lane and these slices on it: (begin, end, name, category, arguments), the
    last two may be missing.
    """
    builder = TraceBuilder()
    lane = main_thread(builder)
    for begin, end, name, *more in slices:
        builder.slice(lane, begin, end, name, *(more or [""]))
    return builder.build()


class Passes:
    """Adds passes to a lane, numbered in the order in which they are added."""

    def __init__(self, builder: TraceBuilder, lane: int) -> None:
        self._builder, self._lane = builder, lane
        self._open: list[tuple[int, int]] = []
        self._next = 0

    def __call__(self, begin: int, end: int, name: str, **arguments: Any) -> int:
        while self._open and self._open[-1][0] <= begin:
            self._open.pop()
        numbered: dict[str, Any] = {"sequence": self._next, "depth": len(self._open)}
        if self._open:
            numbered["parent_sequence"] = self._open[-1][1]
        self._open.append((end, self._next))
        self._next += 1
        values = {**numbered, "status": "ok", **arguments}
        return self._builder.slice(self._lane, begin, end, name, "pass", values)


def nested_compile() -> Trace:
    """A compile with two contexts, one inside a pass, phases, code generation and a tool."""
    builder = TraceBuilder()
    builder.metadata = {
        "tool": "tilelang-trace",
        "versions": {"tvm": "0.27.0", "python": "3.12.3", "tilelang": None},
        "command": ["python", "mlp.py", "--größe", "8"],
        "whole": True,
    }
    lane = main_thread(builder)
    builder.slice(lane, 1_000, 98_765, "mlp", "compile", {"status": "ok", "kernel": "main +2 more"})
    context = {"status": "ok", "context": 0, "opt_level": 3, "disabled_pass": ["FuseOps", "FoldA"]}
    context["config"] = {"tir.noalias": "True"}
    builder.slice(lane, 2_001, 80_003, "PassContext", "context", context)
    outer = Passes(builder, lane)
    outer(2_001, 9_000, "LegalizeOps", phase="lower")
    outer(9_000, 30_007, "sequential", phase="lower")
    outer(9_001, 12_000, "FuseTIR", phase="lower")
    outer(12_000, 29_999, "MetaScheduleTune", phase="lower")
    inner = {"status": "ok", "context": 1, "opt_level": 0}
    builder.slice(lane, 13_000, 28_000, "PassContext", "context", inner)
    tuning = Passes(builder, lane)
    tuning(13_000, 13_001, "Simplify", phase="tune")
    tuning(13_001, 27_000, "Simplify", phase="tune")
    outer(31_000, 40_000, "Simplify", ir={"changed": True, "hash": "9f" * 8, "size_after": 120})
    outer(40_000, 79_000, "VMCodeGen", phase="build", hidden={"count": 12, "ns": 90_210})
    builder.slice(lane, 81_000, 90_000, "codegen llvm", "codegen", {"status": "ok"})
    builder.slice(lane, 90_000, 98_765, "cc", "tool", {"status": "ok"})
    return with_phases(builder.build())


ERROR = {
    "type": "ValueError",
    "cause": "exception",
    "message": 'tile "24" is not a multiple of 16',
}
DETAIL = 'tile "24" is not a multiple of 16\n  in main(A: handle)\n    größe = 24'


def failed_compile() -> Trace:
    """A failure in a nested pass, and before it one that the pass around it swallowed."""
    builder = TraceBuilder()
    lane = main_thread(builder, "failing.py")
    incomplete = {"status": "incomplete", "error": ERROR}
    failed = {"status": "failed", "error": {**ERROR, "detail": DETAIL}}
    swallowed = {"type": "KeyError", "cause": "exception", "message": "no schedule"}
    builder.slice(lane, 0, 50_000, "PassContext", "context", {**incomplete, "context": 0})
    a_pass = Passes(builder, lane)
    a_pass(10, 20_000, "Tune", phase="prepare")
    a_pass(1_000, 9_000, "ApplySchedule", status="failed", error=swallowed)
    a_pass(20_000, 50_000, "LowerTIR", phase="lower", **incomplete)
    a_pass(20_500, 30_000, "FlattenBuffer", phase="lower")
    a_pass(30_001, 50_000, "InjectPipeline", phase="lower", **failed)
    return with_phases(builder.build())


def still_running() -> Trace:
    """A snapshot of a compile that goes on."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    a_pass = Passes(builder, lane)
    a_pass(5, 100, "Tune", status="open")
    a_pass(6, 90, "Measure")
    a_pass(91, 100, "Measure", status="open")
    return builder.build()


def two_threads() -> Trace:
    """Two threads of one process that work at the same time; a third never did anything."""
    builder = TraceBuilder()
    process = builder.process("build.py", 300)
    for tid, name in ((300, "MainThread"), (205, "worker-0")):
        lane = builder.lane(Lane(builder.thread(process, name, tid)))
        a_pass = Passes(builder, lane)
        a_pass(100, 1_100, f"Outer{tid}")
        a_pass(150 + tid, 1_000, "Inner")
    builder.thread(process, "idle", 999)
    return builder.build()


def same_pid() -> Trace:
    """Two compiles of one pid and tid in one Trace, at the same times."""
    builder = TraceBuilder()
    for name in ("baseline", "candidate"):
        a_pass = Passes(builder, main_thread(builder, name, 71))
        a_pass(1_000, 2_000, "Lower")
        a_pass(1_100, 1_900 if name == "baseline" else 1_500, "Simplify")
    return builder.build()


def tid_of_another_process() -> Trace:
    """Two processes from two machines: a thread of the one has the pid of the other as its tid."""
    builder = TraceBuilder()
    first, second = builder.process("first", 100), builder.process("second", 101)
    threads = [(first, "worker", 101), (second, "MainThread", 102)]
    for number, (process, name, tid) in enumerate(threads):
        lane = builder.lane(Lane(builder.thread(process, name, tid)))
        builder.slice(lane, number * 10, number * 10 + 100, f"on {name}", "pass", {"status": "ok"})
    return builder.build()


def without_ids() -> Trace:
    """Processes and threads that don't know their pid and tid, or only one of them."""
    builder = TraceBuilder()
    for name, tid in (("a", 2), ("b", 1)):
        thread = builder.thread(builder.process(name), f"thread of {name}", tid)
        lane = builder.lane(Lane(thread))
        builder.slice(lane, 0, 10, f"in {name}", "pass", {"status": "ok"})
    return builder.build()


def overlapping() -> Trace:
    """One thread whose slices overlap: three lanes, two of them side by side under one name."""
    builder = TraceBuilder()
    thread = builder.thread(builder.process("cluster", 9), "stream 7", 10)
    for name in ("", "lane 2", "lane 2"):
        builder.lane(Lane(thread, name=name))
    for lane, begin, end, name in (
        (0, 0, 100_000, "KernelA"),
        (0, 10_000, 20_000, "inside A"),
        (1, 80_000, 140_000, "KernelB"),
        (1, 90_000, 130_000, "inside B"),
        (2, 85_000, 150_000, "KernelC"),
        (2, 85_000, 86_000, "inside C"),
    ):
        builder.slice(lane, begin, end, name, "kernel")
    return builder.build()


def rows_of_their_own() -> Trace:
    """Lanes that belong to a process only, and to nothing at all."""
    builder = TraceBuilder()
    main = main_thread(builder)
    of_process = builder.lane(Lane(process=0, name="downloads"))
    of_nothing = builder.lane(Lane(name="the whole machine"))
    for number, lane in enumerate((main, of_process, of_nothing)):
        builder.slice(lane, number, number + 50, f"row {number}", "tool", {"status": "ok"})
    return builder.build()


def foreign() -> Trace:
    """Slices of another tool, with odd arguments, names and categories."""
    builder = TraceBuilder()
    lane = main_thread(builder, 'python "größe 漢字".py', 4_194_304)
    begin = 1_000
    for name, value in ODD_ARGUMENTS.items():
        builder.slice(lane, begin, begin + 10, f"has {name}", "python,user code", {name: value})
        begin += 10
    arguments = {name: value for name, value in ODD_ARGUMENTS.items() if name != "long"}
    builder.slice(lane, begin, begin + 10, "has all", "", arguments)
    for number, name in enumerate(
        (
            LONG_NAME + "1",
            LONG_NAME + "2",
            "größer ≥ 漢字 😀",
            'quote " backslash \\',
            "a\nb",
            "a\0b",
        )
    ):
        builder.slice(lane, begin + 20 + number, begin + 21 + number, name, "names")
    return builder.build()


def several_types() -> Trace:
    """One argument name with another type on each slice, also where the contract wants one type."""
    values: list[Any] = [1, True, 1.0, "1", None, [1], {"1": 1}, 0, False, 0.0, "", [], {}]
    return one_lane(
        *(
            (10 * number, 10 * number + 5, "slice", "", {"value": value, "phase": value})
            for number, value in enumerate(values)
        )
    )


def instants() -> Trace:
    """Events without a duration, inside slices, outside, and two at one time."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    builder.slice(lane, 100, 200, "Lower", "pass", {"status": "ok"})
    builder.instant(lane, 150, "cache miss", "cache", {"key": "größe", "size": 12})
    builder.instant(lane, 50, "before", "")
    builder.instant(lane, 150, "second at 150", "cache", {"nested": {"a": [1]}})
    builder.instant(lane, 300, "after", "cache")
    return builder.build()


def counters() -> Trace:
    """Values over time: of a process, and of two processes under one name."""
    builder = TraceBuilder()
    for process, name in enumerate(("first", "second")):
        lane = main_thread(builder, name, 71 + process)
        builder.slice(lane, 0, 1_000, "Lower", "pass", {"status": "ok"})
        builder.counter_tracks.append(CounterTrack("memory", "bytes", process=process))
    builder.counter_tracks.append(CounterTrack("load", process=0))
    for track, time, value in ((0, 10, 1.5), (1, 10, 2e9), (2, 10, -1.0), (0, 20, 0.0), (1, 30, 7)):
        builder.counter(track, time, value)
    return builder.build()


def counters_of_threads() -> Trace:
    """One counter on each of two threads, under one name."""
    builder = TraceBuilder()
    process = builder.process("python", 71)
    for number, name in enumerate(("MainThread", "worker")):
        thread = builder.thread(process, name, 71 + number)
        builder.slice(builder.lane(Lane(thread)), 0, 100, "Lower", "pass", {"status": "ok"})
        builder.counter_tracks.append(CounterTrack("IR lines", thread=thread))
    for track, time, value in ((0, 10, 1.0), (1, 11, 20.0), (0, 12, 3.0), (1, 13, 40.0)):
        builder.counter(track, time, value)
    return builder.build()


def counters_alone() -> Trace:
    """A counter, and no slice anywhere."""
    builder = TraceBuilder()
    builder.counter_tracks.append(CounterTrack("memory", "bytes", process=builder.process("a", 5)))
    builder.counter(0, 10, 1.5)
    builder.counter(0, 20, 2.5)
    return builder.build()


def flows() -> Trace:
    """Arrows between slices: across threads and within one, several from one slice, a chain."""
    builder = TraceBuilder()
    process = builder.process("build.py", 300)
    rows = []
    for tid in (300, 301):
        lane = builder.lane(Lane(builder.thread(process, f"thread {tid}", tid)))
        for number in range(3):
            begin = tid + 1_000 * number
            name = f"{tid}.{number}"
            rows.append(builder.slice(lane, begin, begin + 500, name, "pass", {"status": "ok"}))
    builder.flows = [(rows[0], rows[3]), (rows[0], rows[5]), (rows[3], rows[4]), (rows[1], rows[2])]
    return builder.build()


def flow_from_a_parent() -> Trace:
    """An arrow from a slice to another, each with a child that begins when it begins."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    source = builder.slice(lane, 100, 200, "source", "")
    builder.slice(lane, 100, 150, "child of source", "")
    target = builder.slice(lane, 300, 400, "target", "")
    builder.slice(lane, 300, 350, "child of target", "")
    builder.flows = [(source, target)]
    return builder.build()


def flow_at_one_time() -> Trace:
    """An arrow from the second thread to the first, between slices that begin at one time."""
    builder = TraceBuilder()
    process = builder.process("build.py", 300)
    rows = []
    for tid in (300, 301):
        lane = builder.lane(Lane(builder.thread(process, f"thread {tid}", tid)))
        rows.append(builder.slice(lane, 100, 200, f"on {tid}", ""))
    builder.flows = [(rows[1], rows[0])]
    return builder.build()


def negative() -> Trace:
    """Times below zero, as a clock that was set to zero at some event in the middle has them."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    a_pass = Passes(builder, lane)
    a_pass(-1_000_001, 500, "Lower")
    a_pass(-1_000_000, -999_999, "Simplify")
    a_pass(-1, 1, "Simplify")
    builder.instant(lane, -2_000_000, "first of all", "")
    return builder.build()


def far() -> Trace:
    """Times around 2^62, where no double can tell nanoseconds apart."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    a_pass = Passes(builder, lane)
    a_pass(2**62 - 5_001, 2**62 + 7_003, "Lower")
    a_pass(2**62 - 5_000, 2**62 - 4_999, "Simplify")
    a_pass(2**62 - 4_999, 2**62 + 1, "Simplify")
    return builder.build()


START = {"realtime_ns": 1_760_000_000_123_456_789, "monotonic_ns": 10**15 + 7}
START["boottime_ns"] = START["monotonic_ns"] + 5_000_000_000


def with_start() -> Trace:
    """A recording that knows what the clocks showed when it started."""
    builder = TraceBuilder()
    builder.metadata = {"start": dict(START)}
    lane = main_thread(builder)
    a_pass = Passes(builder, lane)
    a_pass(START["monotonic_ns"] + 1_001, START["monotonic_ns"] + 9_999, "Lower")
    a_pass(START["monotonic_ns"] + 1_002, START["monotonic_ns"] + 1_003, "Simplify")
    builder.instant(lane, START["monotonic_ns"] + 2_000, "note", "")
    return builder.build()


def empty() -> Trace:
    """Nothing at all."""
    return TraceBuilder().build()


def only_names() -> Trace:
    """A process and threads in which nothing happened."""
    builder = TraceBuilder()
    builder.metadata = {"note": "nothing happened", "nested": {"a": [None, {}]}}
    main_thread(builder)
    builder.thread(0, "no lane", 72)
    return builder.build()


TRACES: dict[str, Callable[[], Trace]] = {
    make.__name__: make
    for make in (
        nested_compile,
        failed_compile,
        still_running,
        two_threads,
        same_pid,
        tid_of_another_process,
        without_ids,
        overlapping,
        rows_of_their_own,
        foreign,
        several_types,
        instants,
        counters,
        counters_of_threads,
        counters_alone,
        flows,
        flow_from_a_parent,
        flow_at_one_time,
        negative,
        far,
        with_start,
        empty,
        only_names,
    )
}


def _plain(value: Any) -> str:
    """A JSON value as text: other than in Python, 1 is neither True nor 1.0 in it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def said(trace: Trace) -> dict[str, Any]:
    """All that a Trace says, findings left out."""
    slices, points, values = trace.slices, trace.instants, trace.counters
    return {
        "processes": trace.processes,
        "threads": trace.threads,
        "lanes": trace.lanes,
        "slices": [
            (
                trace.name(row),
                trace.category(row),
                int(slices.begin[row]),
                int(slices.end[row]),
                int(slices.lane[row]),
                int(slices.parent[row]),
                _plain(trace.arguments.of(row)),
            )
            for row in range(len(slices))
        ],
        "instants": [
            (
                trace.strings[points.name[row]],
                trace.strings[points.category[row]],
                int(points.time[row]),
                int(points.lane[row]),
                _plain(trace.instant_arguments.of(row)),
            )
            for row in range(len(points))
        ],
        "counter tracks": trace.counter_tracks,
        "counters": list(
            zip(values.track.tolist(), values.time.tolist(), map(repr, values.value.tolist()))
        ),
        "flows": sorted(map(tuple, trace.flows.tolist())),
        "metadata": _plain(dict(trace.metadata)),
    }
