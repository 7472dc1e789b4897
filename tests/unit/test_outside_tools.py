"""Programs that a compile runs are `tool` slices, and run as they would without."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilelang_trace.recording.finish import read_journals
from tilelang_trace.recording.hooks import outside_tools
from tilelang_trace.recording.hooks.spans import Span
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.wrapping import Patches
from tilelang_trace.trace.model import Trace

PYTHON = Path(sys.executable).name
METHODS = ("__init__", "communicate", "wait", "poll")


class Recorder:
    """One recording, with a compile open on this thread, whose programs are recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "x.pftrace.journal"
        self.folder.mkdir()
        self.recording = Recording(self.folder)
        self.compile = Span([self.recording], "compile", "gemm")

    def open_tool(self, name: str, arguments: dict[str, Any]) -> Span:
        return Span([self.recording], "tool", name, arguments)

    def tools(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and arguments of each tool slice."""
        self.compile.close()
        self.recording.close()
        trace: Trace = read_journals(self.folder)
        assert trace.arguments.of(0)["status"] == "ok"
        return [
            (trace.name(row), trace.arguments.of(row))
            for row in range(len(trace.slices))
            if trace.category(row) == "tool"
        ]


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:

    before = {name: vars(subprocess.Popen)[name] for name in METHODS}
    patches = Patches()
    recorder = Recorder(tmp_path)
    outside_tools.wrap(patches, recorder.open_tool)
    yield recorder
    patches.undo()
    assert {name: vars(subprocess.Popen)[name] for name in METHODS} == before


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_a_program_that_ends_well(recorder: Recorder) -> None:
    done = subprocess.run(python("print('hello')"), capture_output=True, text=True, check=True)
    assert done.stdout == "hello\n"
    ((name, arguments),) = recorder.tools()
    assert name == PYTHON
    assert arguments["command"] == python("print('hello')")
    assert (arguments["exit_code"], arguments["status"]) == (0, "ok")


def test_a_failure_has_the_exit_code_and_what_was_said(recorder: Recorder) -> None:
    code = "print('reading x.cu'); print('x.cu(3): error: no such tile'); raise SystemExit(2)"
    subprocess.run(python(code), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    ((_, arguments),) = recorder.tools()
    assert (arguments["exit_code"], arguments["status"]) == (2, "failed")
    assert arguments["error"]["message"] == f"{PYTHON}: exit code 2: x.cu(3): error: no such tile"
    assert "reading x.cu" in arguments["error"]["detail"]


def test_a_program_that_cannot_be_started(recorder: Recorder) -> None:
    with pytest.raises(FileNotFoundError):
        subprocess.run(["no-such-compiler", "-c"], check=False)
    ((name, arguments),) = recorder.tools()
    assert name == "no-such-compiler"
    assert arguments["status"] == "failed"
    assert arguments["error"]["type"] == "FileNotFoundError"
    assert "exit_code" not in arguments


def test_a_program_that_is_killed_after_a_timeout(recorder: Recorder) -> None:
    with subprocess.Popen(python("import time; time.sleep(60)")) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.05)
        process.kill()
    ((_, arguments),) = recorder.tools()
    assert (arguments["exit_code"], arguments["status"]) == (-9, "failed")
    assert arguments["error"]["message"] == f"{PYTHON}: killed by signal 9"


def test_a_program_that_nobody_waits_for_ends_with_the_compile(recorder: Recorder) -> None:
    process = subprocess.Popen(python("input()"), stdin=subprocess.PIPE)
    ((_, arguments),) = recorder.tools()
    assert arguments["status"] == "ok"
    assert "exit_code" not in arguments
    process.communicate(b"\n")


def test_secrets_stay_out(recorder: Recorder) -> None:
    code = "print('error: bad hf_abcdefghijklmnopqrst'); raise SystemExit(1)"
    subprocess.run(python(code, "--token=abc"), stdout=subprocess.PIPE, check=False)
    ((_, arguments),) = recorder.tools()
    assert arguments["command"][-1] == "--token=***"
    assert "abc" not in str(arguments)
