"""What an instrument adds to a pass: recording, against instruments that do less or as much.

A TVM `Sequential` of no-op passes runs in a PassContext with each of them in turn. The figures are
the CPU time that it takes longer than without any, for each pass: the calls before and after it,
and for the recording the journal on the disk. Against

- a minimal instrument in Python, which appends the name and the time to a list in both callbacks;
- TileLang's StackedPassInstrument with an observer that does nothing, where TileLang is installed;
- TVM's PassTimingInstrument, which is C++;
- an instrument that logs each pass with viztracer, where that is installed.

Asked for: recording at most 2 x the minimal one, and less than TileLang's; our own
StackedPassInstrument at most 0.65 of TileLang's. A pipeline that runs for the first time costs
more, as a recording keeps the names of the passes that it has seen. Needs TVM or TileLang.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import Figure, interleaved

SIZE, REPEATS = 2_000, 60
NEEDS_TVM = True

_MINIMAL, _OURS, _NEW = "a minimal instrument", "recording", "recording, each pass a new object"
_STACKED, _THEIRS = "StackedPassInstrument, ours", "StackedPassInstrument, TileLang's"
_VIZTRACER = "an instrument with viztracer's log"


def run(size: int, repeats: int) -> Iterator[Figure]:
    from tilelang_trace.recording.hooks import tvm as hooks
    from tilelang_trace.recording.recorder import Recording
    from tilelang_trace.tvm_binding import loaded_tvm

    if importlib.util.find_spec("tilelang"):
        importlib.import_module("tilelang")
    tvm = loaded_tvm()
    module, no_op = tvm.IRModule(), tvm.tirx.transform.RemoveNoOp
    empty = tvm.transform.Sequential([])
    same = tvm.transform.Sequential([no_op()] * size)

    def inside(*instruments: Any, pipeline: Any = same) -> None:
        with tvm.transform.PassContext(instruments=list(instruments)):
            pipeline(module)

    instruments = _instruments(tvm)
    ways: dict[str, Callable[[], object]] = {"": inside}
    for name, instrument in instruments.items():
        ways[name] = lambda instrument=instrument: inside(instrument)  # type: ignore[misc]

    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(Path(folder))

        def recorded(pipeline: Any) -> None:
            hooks.start(recording)
            try:
                inside(pipeline=pipeline)
            finally:
                hooks.stop(recording)

        new = [tvm.transform.Sequential([no_op() for _ in range(size)]) for _ in range(repeats + 1)]
        ways["no passes"] = lambda: inside(pipeline=empty)
        ways["no passes, recorded"] = lambda: recorded(empty)
        ways[_OURS] = lambda: recorded(same)
        ways[_NEW] = lambda: recorded(new.pop())
        for way in ways.values():
            way()
        times = interleaved(ways, repeats)
        recording.close()

    least = {name: taken.least for name, taken in times.items()}
    to_start = least.pop("no passes, recorded") - least.pop("no passes")
    """What it takes to begin and to end a recording, once."""
    base = least.pop("")
    for name in (_OURS, _NEW):
        least[name] -= to_start
    added = {name: (seconds - base) / size for name, seconds in least.items()}
    for name, seconds in added.items():
        yield Figure(f"{name}: added to a pass", seconds * 1e6, "us")
    ours = added[_OURS]
    yield Figure(f"{_OURS} / {_MINIMAL}", ours / added[_MINIMAL], "x", "<= 2")
    yield Figure(f"{_NEW} / {_MINIMAL}", added[_NEW] / added[_MINIMAL], "x")
    if _THEIRS in added:
        yield Figure(f"{_OURS} / {_THEIRS}", ours / added[_THEIRS], "x", "< 1")
        yield Figure(f"{_STACKED} / {_THEIRS}", added[_STACKED] / added[_THEIRS], "x", "<= 0.65")
    if _VIZTRACER in added:
        yield Figure(f"{_OURS} / {_VIZTRACER}", ours / added[_VIZTRACER], "x")


def _instruments(tvm: Any) -> dict[str, Any]:
    from tilelang_trace import events

    found = {
        _MINIMAL: _minimal(tvm),
        _STACKED: events.StackedPassInstrument(events.PassEventObserver()),
        "PassTimingInstrument": tvm.ir.instrument.PassTimingInstrument(),
    }
    if importlib.util.find_spec("tilelang"):
        theirs = importlib.import_module("tilelang.instrumentation.events")
        found[_THEIRS] = theirs.StackedPassInstrument(theirs.PassEventObserver())
    if importlib.util.find_spec("viztracer"):
        found[_VIZTRACER] = _viztracer(tvm)
    return found


def _minimal(tvm: Any) -> Any:
    seen: list[object] = []

    class Minimal:
        def enter_pass_ctx(self) -> None:
            seen.clear()

        def run_before_pass(self, mod: Any, info: Any) -> None:
            seen.append(info.name)
            seen.append(time.perf_counter_ns())

        def run_after_pass(self, mod: Any, info: Any) -> None:
            seen.append(info.name)
            seen.append(time.perf_counter_ns())

    return tvm.ir.instrument.pass_instrument(Minimal)()


def _viztracer(tvm: Any) -> Any:
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, max_stack_depth=0)
    open_: list[Any] = []

    class Logged:
        def enter_pass_ctx(self) -> None:
            tracer.start()

        def exit_pass_ctx(self) -> None:
            tracer.stop()
            tracer.clear()

        def run_before_pass(self, mod: Any, info: Any) -> None:
            event = tracer.log_event(info.name)
            event.__enter__()
            open_.append(event)

        def run_after_pass(self, mod: Any, info: Any) -> None:
            open_.pop().__exit__(None, None, None)

    return tvm.ir.instrument.pass_instrument(Logged)()
