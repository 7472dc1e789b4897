"""`pytest --tilelang-trace DIR`: a trace of each test that compiles something."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.conftest import COMPILES

PLUGIN = "tilelang_trace.integrations.pytest_plugin"
LOAD = [] if any(e.value == PLUGIN for e in entry_points(group="pytest11")) else ["-p", PLUGIN]

TESTS = """
import multiprocessing, pytest
from compiles import compile_it

@pytest.fixture
def compiled():
    compile_it("in the fixture")

class TestIt:
    def test_passes(self, compiled):
        compile_it("in the test")

def test_compiles_nothing():
    pass

@pytest.mark.parametrize("how", ["a/b", "a b"])
def test_fails(how):
    compile_it("breaks", lambda: 1 / 0)

def test_fails_elsewhere():
    compile_it("fine")
    assert not "fine"

def test_in_a_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    child = multiprocessing.get_context("spawn").Process(target=compile_it, args=("child",))
    child.start(); child.join()
"""


@pytest.fixture
def folder(tvm: Any, pytester: pytest.Pytester) -> Path:
    """A folder with tests."""
    pytester.makepyfile(test_it=TESTS, compiles=COMPILES)
    pytester.syspathinsert()
    return pytester.path


def statuses(path: Path) -> dict[str, str]:
    """The status of each pass of a file."""
    trace = tilelang_trace.read(path)
    return {
        trace.name(row): trace.arguments.of(row)["status"]
        for row in range(len(trace.slices))
        if trace.category(row) == "pass"
    }


def test_each_test_that_compiles_has_its_file(folder: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*LOAD, "--tilelang-trace", "traces", timeout=100)
    result.assert_outcomes(passed=3, failed=3)
    result.stderr.no_fnmatch_line("*tilelang-trace:*")
    files = {path.name: path for path in (folder / "traces").iterdir()}
    slash, space = sorted(name for name in files if name.startswith("test_it.test_fails["))
    assert set(files) == {
        "test_it.TestIt.test_passes.pftrace",
        "test_it.test_fails_elsewhere.pftrace",
        "test_it.test_in_a_process.pftrace",
        slash,
        space,
    }
    assert statuses(files["test_it.TestIt.test_passes.pftrace"]) == {
        "in the fixture": "ok",
        "in the test": "ok",
    }
    assert statuses(files["test_it.test_in_a_process.pftrace"]) == {"child": "ok"}
    assert statuses(files[slash]) == statuses(files[space]) == {"breaks": "failed"}
    about = {name: tilelang_trace.read(path).metadata["test"] for name, path in files.items()}
    assert {about[slash]["id"], about[space]["id"]} == {
        "test_it.py::test_fails[a/b]",
        "test_it.py::test_fails[a b]",
    }
    assert about["test_it.test_fails_elsewhere.pftrace"] == {
        "id": "test_it.py::test_fails_elsewhere",
        "outcome": "failed",
    }
    assert about["test_it.TestIt.test_passes.pftrace"]["outcome"] == "passed"


def test_processes_that_share_the_folder(folder: Path) -> None:
    """As pytest-xdist has them: each runs some of the tests."""
    halves = ["TestIt or elsewhere", "nothing or process"]
    command = [sys.executable, "-m", "pytest", "-q", *LOAD, "--tilelang-trace", "traces", "-k"]
    running = [
        subprocess.Popen([*command, half], cwd=folder, stdout=subprocess.DEVNULL) for half in halves
    ]
    assert [process.wait(timeout=100) for process in running] == [1, 0]
    assert sorted(path.name for path in (folder / "traces").iterdir()) == [
        "test_it.TestIt.test_passes.pftrace",
        "test_it.test_fails_elsewhere.pftrace",
        "test_it.test_in_a_process.pftrace",
    ]


def test_without_the_option_nothing_of_ours_is_imported(
    folder: Path, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        test_it=f"""
        import sys
        def test_it():
            heavy = ("tvm", "numpy", "tilelang_trace.recording")
            assert not [name for name in heavy if name in sys.modules]
            assert {PLUGIN!r} in sys.modules
        """
    )
    result = pytester.runpytest_subprocess(*LOAD, timeout=60)
    result.assert_outcomes(passed=1)
    assert not (folder / "traces").exists()


def test_a_folder_that_cannot_be_is_told_before_any_test_runs(
    folder: Path, pytester: pytest.Pytester
) -> None:
    (folder / "file").write_text("")
    result = pytester.runpytest_subprocess(*LOAD, "--tilelang-trace", "file/traces", timeout=60)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --tilelang-trace: *file/traces: Not a directory"])
