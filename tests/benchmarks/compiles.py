"""What recording adds to the time of real compiles, against viztracer and the standard profiler.

For each fixture of fixtures/compiles that this environment can run, one process compiles it again
and again, each time in another way, in turn: as it is, recorded, under viztracer, under cProfile.
The figures are how much longer a compile takes by the clock, in percent, median over the rounds of
the ratio to the compile as it is of the same round; a second compile as it is shows the noise.
Asked for: less than 1 % for a recording. To begin one and to write its file takes time once, which
is not in there but has figures of its own. Needs TVM or TileLang.
"""

from __future__ import annotations

import cProfile
import importlib.util
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.benchmarks.measure import Figure

SIZE, REPEATS = 1, 25
NEEDS_TVM = True

_FIXTURES = Path(__file__).parents[2] / "fixtures" / "compiles"
_PLAIN, _AGAIN, _OURS = "as it is", "as it is, again", "recorded"


def run(size: int, repeats: int) -> Iterator[Figure]:
    """`size` is how often a round compiles."""
    names = ["tilelang_gemm"] if importlib.util.find_spec("tilelang") else _of_tvm()
    for name in names:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, name, str(size), str(repeats)],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            env={**os.environ, "TILELANG_DISABLE_CACHE": "1"},
        )
        found = json.loads(done.stdout.splitlines()[-1])
        plain = found["rounds"].pop(_PLAIN)
        yield Figure(f"{name}: a compile", median(plain) / size * 1e3, "ms")
        for way, rounds in found["rounds"].items():
            added = [100 * (taken / base - 1) for taken, base in zip(rounds, plain)]
            asked = "< 1" if way == _OURS else ""
            yield Figure(f"{name}, {way}: added", median(added), "%", asked)
            low, _, high = quantiles(added, n=4)
            yield Figure(f"{name}, {way}: half of the rounds within", (high - low) / 2, "+- %")
        for what, seconds in found["once"].items():
            yield Figure(f"{name}: {what}", seconds * 1e3, "ms")


def _of_tvm() -> list[str]:
    return ["relax_mlp", "many_passes"]


def _measure(name: str, size: int, repeats: int) -> None:
    """Compile a fixture in all ways, and print what each took."""
    from tilelang_trace.recording.finish import write_or_say
    from tilelang_trace.recording.folder import JournalFolder
    from tilelang_trace.recording.hooks import tvm as hooks
    from tilelang_trace.recording.recorder import Recording

    sys.path.insert(0, str(_FIXTURES))
    script = str(_FIXTURES / f"{name}.py")

    def plain() -> float:
        start = time.perf_counter()
        for _ in range(size):
            runpy.run_path(script, run_name="__main__")
        return time.perf_counter() - start

    once: dict[str, list[float]] = {"to begin a recording": [], "to write its file": []}

    def recorded() -> float:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            journals = JournalFolder(Path(folder) / "trace.pftrace")
            recording = Recording(journals.path)
            hooks.start(recording)
            recording.sink()  # makes the journal
            once["to begin a recording"].append(time.perf_counter() - begin)
            try:
                taken = plain()
            finally:
                hooks.stop(recording)
                begin = time.perf_counter()
                recording.close()
                write_or_say(journals)
                once["to write its file"].append(time.perf_counter() - begin)
            return taken

    ways: dict[str, Callable[[], float]] = {
        _PLAIN: plain,
        _OURS: recorded,
        _AGAIN: plain,
        "cProfile": lambda: _under(cProfile.Profile(), "enable", "disable", plain),
    }
    if importlib.util.find_spec("viztracer"):
        from viztracer import VizTracer

        tracer = VizTracer(verbose=0)
        ways["viztracer"] = lambda: _under(tracer, "start", "stop", plain, "clear")
    rounds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(repeats + 1):
        for way, take in ways.items():
            taken = take()
            if number:  # the first round warms up
                rounds[way].append(taken)
    print(json.dumps({"rounds": rounds, "once": {k: median(v) for k, v in once.items()}}))


def _under(
    tool: Any, start: str, stop: str, work: Callable[[], float], after: str | None = None
) -> float:
    getattr(tool, start)()
    try:
        return work()
    finally:
        getattr(tool, stop)()
        if after:
            getattr(tool, after)()


if __name__ == "__main__":
    _measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
