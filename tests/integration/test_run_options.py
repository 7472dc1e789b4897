"""What `run` and `record` write of a real compile: some kernels, long passes, one file a kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.analysis.selection.split import split_kernels
from tilelang_trace.errors import UserError
from tilelang_trace.trace.model import Trace

Make = Callable[..., Any]
COMPILES = Path(__file__).parents[2] / "fixtures" / "compiles"
KERNELS = ["query", "key", "value"]


def run(folder: Path, script: str, *options: str) -> tuple[int, list[str]]:
    """Exit code, and the lines that `tilelang-trace run` said itself."""
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", *options, str(COMPILES / script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines()
    return done.returncode, [line for line in lines if line.startswith("tilelang-trace: ")]


def passes(trace: Trace) -> int:
    return int(trace.is_kind("pass").sum())


def kernels(trace: Trace) -> list[str]:
    return [name for name, _ in split_kernels(trace)]


def hidden(trace: Trace) -> int:
    return sum(value["count"] for value in trace.arguments.values("hidden").values())


@pytest.fixture(scope="module")
def whole(tvm: Any, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Three kernels, nothing left out."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(folder, "many_passes.py")[0] == 0
    return tilelang_trace.read(folder / "many_passes.pftrace")


def test_only_one_kernel_is_written(whole: Trace, tmp_path: Path) -> None:
    code, said = run(tmp_path, "many_passes.py", "--only", "qu*", "-o", "q.pftrace")
    trace = tilelang_trace.read(tmp_path / "q.pftrace")

    assert code == 0
    assert kernels(trace) == ["query"]
    left_out = trace.metadata["hidden"]["count"]
    assert passes(trace) + left_out == passes(whole)
    assert said[0] == (
        f"tilelang-trace: wrote q.pftrace: {passes(trace)} passes ({left_out} left out)"
    )


def test_short_passes_are_counted_where_they_were(whole: Trace, tmp_path: Path) -> None:
    run(tmp_path, "many_passes.py", "--min-ms", "1", "-o", "long.json")
    trace = tilelang_trace.read(tmp_path / "long.json")

    assert kernels(trace) == KERNELS
    assert 3 <= passes(trace) < passes(whole)
    assert passes(trace) + hidden(trace) == passes(whole)
    assert trace.slices.duration[trace.is_kind("pass")].min() >= 1_000_000


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--split", "kernel"], [f"many_passes.{kernel}.pftrace" for kernel in KERNELS]),
        (["-o", "{kernel}.json"], [f"{kernel}.json" for kernel in KERNELS]),
    ],
)
def test_each_kernel_gets_a_file(
    whole: Trace, tmp_path: Path, options: list[str], names: list[str]
) -> None:
    _, said = run(tmp_path, "many_passes.py", *options)

    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)
    traces = [tilelang_trace.read(tmp_path / name) for name in names]
    assert [trace.metadata["kernel"] for trace in traces] == KERNELS
    assert sum(map(passes, traces)) == passes(whole)
    assert [line.split(": ")[1] for line in said[:-1]] == [f"wrote {name}" for name in names]


def test_a_pattern_that_matches_nothing_costs_no_trace(whole: Trace, tmp_path: Path) -> None:
    _, said = run(tmp_path, "many_passes.py", "--only", "querry", "-o", "all.pftrace")

    assert passes(tilelang_trace.read(tmp_path / "all.pftrace")) == passes(whole)
    assert "no kernel matches 'querry'; there is 'query', 'key', 'value'" in said[0]


def test_a_compile_that_failed_is_kept_and_another_one_is_not(tvm: Any, tmp_path: Path) -> None:
    code, said = run(tmp_path, "many_passes.py", "--keep-on-failure")
    assert code == 0
    assert "nothing written, for nothing failed" in said[0]
    assert list(tmp_path.iterdir()) == []

    code, said = run(tmp_path, "fails_in_nested_pass.py", "--keep-on-failure")
    assert code == 1
    assert "1 failed" in said[0]
    assert [p.name for p in tmp_path.iterdir()] == ["fails_in_nested_pass.pftrace"]


def test_the_failed_pass_stays_however_short(tvm: Any, tmp_path: Path) -> None:
    run(tmp_path, "fails_in_nested_pass.py", "--min-ms", "100000", "-o", "x.pftrace")
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    left = [trace.name(row) for row in range(len(trace.slices)) if trace.is_kind("pass")[row]]
    assert left == ["user.Prepare", "user.tiling", "user.CheckTiles"]


def test_the_report_by_kernel_of_a_real_compile(whole: Trace, tmp_path: Path) -> None:
    tilelang_trace.write(whole, tmp_path / "x.pftrace")
    options = ["--by", "kernel", "--sort", "start", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "report", *options, str(tmp_path / "x.pftrace")],
        capture_output=True,
        check=True,
    )
    printed = json.loads(done.stdout)
    assert [c["kernel"] for c in printed["compiles"]] == KERNELS
    assert sum(c["passes"] for c in printed["compiles"]) == passes(whole)
    assert sum(c["inclusive_ns"] for c in printed["compiles"]) == printed["compiles_ns"]


# ------------------------------------------------------------------------------------------ record


@pytest.fixture
def two_kernels(tvm: Any, make_pass: Make) -> Callable[[], None]:
    """Compiles the kernels `first` and `second`, one after the other."""

    def compile_() -> None:
        for name in ("first", "second"):
            function = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(0)).with_attr("global_symbol", name)
            with tvm.transform.PassContext():
                make_pass("a")(tvm.IRModule({"main": function}))

    return compile_


def test_record_writes_what_was_asked_for(two_kernels: Callable[[], None], tmp_path: Path) -> None:
    with tilelang_trace.record(tmp_path / "{kernel}-{pid}.pftrace", only="f*") as recording:
        two_kernels()
    assert recording.paths == (tmp_path / f"first-{os.getpid()}.pftrace",)
    assert passes(tilelang_trace.read(recording.paths[0])) == 1
    assert list(tmp_path.iterdir()) == [*recording.paths]


def test_record_keeps_only_a_failure_on_request(
    two_kernels: Callable[[], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with tilelang_trace.record(tmp_path / "x.pftrace", keep_on_failure=True) as recording:
        two_kernels()
    assert recording.paths == ()
    assert list(tmp_path.iterdir()) == []

    with (
        pytest.raises(KeyError),
        tilelang_trace.record(tmp_path / "x.pftrace", keep_on_failure=True) as recording,
    ):
        two_kernels()
        raise KeyError
    assert recording.paths == (tmp_path / "x.pftrace",)
    assert recording.paths[0].exists()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "options", [{"only": ""}, {"min_ms": -1}, {"split": "pass"}, {"ir": "all"}]
)
def test_options_that_make_no_sense_are_the_users_mistake(options: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        tilelang_trace.record(tmp_path / "x.pftrace", **options)
