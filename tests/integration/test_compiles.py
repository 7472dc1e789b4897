"""The compiles of `fixtures/` under `tilelang-trace run`: what is seen, and what is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilelang_trace
from fixtures.record import FIXTURES, ROOT, Fixture
from tilelang_trace import Trace

COUNT_PASSES = Path(__file__).with_name("count_passes.py")
# Where TileLang is installed, the module `tvm` is its own and lacks what the other scripts need.
INSTALLED = "tilelang" if find_spec("tilelang") else "tvm" if find_spec("tvm") else "no compiler"


def fixture_parameter(fixture: Fixture) -> object:
    reason = f"{fixture.name}.py needs {fixture.compiler}; {INSTALLED} is installed"
    marks = [pytest.mark.skipif(fixture.compiler != INSTALLED, reason=reason)]
    if fixture.compiler == "tilelang":
        marks.append(pytest.mark.tilelang)
    return pytest.param(fixture, marks=marks, id=fixture.name)


class Compile:
    """A script run plainly, run under `tilelang-trace run`, and run with a count of its passes."""

    def __init__(self, fixture: Fixture, folder: Path) -> None:
        self.fixture = fixture
        self.folder = folder
        script = str(ROOT / fixture.script)
        self.plain = self.python(script)
        self.recorded = self.python("-m", "tilelang_trace", "run", "-o", "out.pftrace", script)
        counted = self.python(str(COUNT_PASSES), "passes.json", script)
        assert counted.returncode == fixture.exit_code, counted.stderr
        self.trace = tilelang_trace.read(folder / "out.pftrace")
        self.truth = json.loads((folder / "passes.json").read_text(encoding="utf-8"))

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TILELANG_")}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**environment, "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module", params=[fixture_parameter(fixture) for fixture in FIXTURES])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    return Compile(request.param, tmp_path_factory.mktemp(request.param.name))


def passes_in_order(trace: Trace) -> list[int]:
    """Rows of the passes, in the order in which they began."""
    rows = trace.is_kind("pass").nonzero()[0].tolist()
    return sorted(rows, key=lambda row: (int(trace.slices.begin[row]), row))


def enclosing_passes(trace: Trace, row: int) -> list[int]:
    """Rows of the passes around this one in the same PassContext, innermost first."""
    is_pass, is_context = trace.is_kind("pass"), trace.is_kind("context")
    found = []
    row = int(trace.slices.parent[row])
    while row >= 0 and not is_context[row]:
        if is_pass[row]:
            found.append(row)
        row = int(trace.slices.parent[row])
    return found


def test_exit_code_is_the_scripts_own(compiled: Compile) -> None:
    assert compiled.plain.returncode == compiled.fixture.exit_code, compiled.plain.stderr
    assert compiled.recorded.returncode == compiled.fixture.exit_code, compiled.recorded.stderr


def test_output_is_the_scripts_own_and_two_lines(compiled: Compile) -> None:
    assert compiled.recorded.stdout == compiled.plain.stdout
    lines = compiled.recorded.stderr.splitlines()
    assert lines[-2].startswith("tilelang-trace: wrote out.pftrace: ")
    assert lines[-1] == (
        "tilelang-trace: to see it: tilelang-trace open out.pftrace "
        "(or drag the file into https://ui.perfetto.dev)"
    )
    expected = compiled.plain.stderr.splitlines()
    if sys.version_info < (3, 11):
        # There the traceback has frames of the recorder; the error is the same.
        assert lines[-5:-2] == expected[-3:]
    else:
        assert lines[:-2] == expected


def test_every_pass_is_there_in_order_at_its_depth(compiled: Compile) -> None:
    trace = compiled.trace
    arguments = {row: trace.arguments.of(row) for row in passes_in_order(trace)}
    seen = [[trace.name(row), a["depth"], a["status"] == "ok"] for row, a in arguments.items()]
    assert seen == compiled.truth


def test_passes_nest_as_their_arguments_say(compiled: Compile) -> None:
    trace = compiled.trace
    for row in passes_in_order(trace):
        arguments, around = trace.arguments.of(row), enclosing_passes(trace, row)
        assert arguments["depth"] == len(around)
        parent = trace.arguments.of(around[0])["sequence"] if around else None
        assert arguments.get("parent_sequence") == parent


def test_sequences_count_up_from_0_in_each_context(compiled: Compile) -> None:
    trace = compiled.trace
    is_context = trace.is_kind("context")
    sequences: dict[int, list[int]] = {}
    for row in passes_in_order(trace):
        context = row
        while context >= 0 and not is_context[context]:
            context = int(trace.slices.parent[context])
        sequences.setdefault(context, []).append(trace.arguments.of(row)["sequence"])
    assert sequences
    for numbers in sequences.values():
        assert numbers == list(range(len(numbers)))


def test_an_observer_of_ones_own_sees_the_same_passes(compiled: Compile) -> None:
    log = compiled.folder / f"{compiled.fixture.name}.events.jsonl"
    if not compiled.fixture.writes_log:
        pytest.skip(f"{compiled.fixture.name}.py has no observer")
    # It was written last by the run that counts; what it says of passes is the same each time.
    own = tilelang_trace.read(log)

    def passes(trace: Trace) -> list[tuple[object, ...]]:
        named = ("sequence", "depth", "parent_sequence", "phase", "status")
        return [
            (trace.name(row), *map(trace.arguments.of(row).get, named))
            for row in passes_in_order(trace)
        ]

    assert passes(own) == passes(compiled.trace)
