"""Compiles that hang in a pass: what `snapshot`, `--timeout`, `--progress` and Ctrl-C make of them,
with a real TVM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.conftest import COMPILES
from tests.terminal import Terminal
from tilelang_trace.recording import processes
from tilelang_trace.trace.model import Trace

pytestmark = pytest.mark.crashes

HANGS = {
    # C code that never comes back to the interpreter: no Python handler of a signal runs.
    "in C": "collections.deque(itertools.repeat(0), maxlen=0)",
    "in a child process": "subprocess.run(['sleep', '100'])",
}

SCRIPT = """
import collections, itertools, os, signal, subprocess, sys, time
from compiles import compile_it

def hang():
    compile_it("inner")
    print(os.getpid(), flush=True)
    {hang}

{before}
compile_it("fine")
compile_it("hangs", hang)
"""


@pytest.fixture
def start(tvm: Any, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start(hang, *options, before=...)`: runs a script that hangs in a pass, up to where it does;
    it has the attribute `script`, the pid of the script.
    """
    (tmp_path / "compiles.py").write_text(COMPILES)
    started = []

    def begin(hang: str, *options: str, before: str = "") -> Any:
        (tmp_path / "mlp.py").write_text(SCRIPT.format(hang=hang, before=before))
        process: Any = subprocess.Popen(
            [*RUN, *options, "mlp.py"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        process.script = int(process.stdout.readline())
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


RUN = [sys.executable, "-m", "tilelang_trace", "run", "-o", "mlp.pftrace"]


def snapshot(folder: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "snapshot", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def statuses(trace: Trace) -> list[tuple[str, str]]:
    """Name and status of every slice, in the Trace's order."""
    found = trace.arguments.values("status")
    return [(trace.name(row), found[row]) for row in range(len(trace.slices))]


def expected(around: str, pass_: str) -> list[tuple[str, str]]:
    """The slices of `SCRIPT`, with the status of the last context and of the pass that hangs."""
    return [
        ("PassContext", "ok"),
        ("fine", "ok"),
        ("PassContext", around),
        ("hangs", pass_),
        ("PassContext", "ok"),
        ("inner", "ok"),
    ]


class TestSnapshot:
    @pytest.fixture
    def hanging(self, start: Callable[..., Any]) -> Any:
        return start(HANGS["in C"])

    @pytest.mark.parametrize("target", ["output", "folder", "script", "launcher"])
    def test_it_shows_where_the_compile_is_and_the_compile_goes_on(
        self, hanging: Any, tmp_path: Path, target: str
    ) -> None:
        if target in ("script", "launcher") and sys.platform != "linux":
            pytest.skip("only Linux has /proc")
        name = {
            "output": "mlp.pftrace",
            "folder": "mlp.pftrace.journal",
            "script": hanging.script,
            "launcher": hanging.pid,
        }[target]
        journals = {path: path.read_bytes() for path in tmp_path.glob("*.journal/*.pftrace")}
        before = time.monotonic()
        done = snapshot(tmp_path, name)
        after = time.monotonic()
        assert done.returncode == 0, done.stderr
        where, wrote = done.stderr.splitlines()
        assert where.startswith(
            f"tilelang-trace: process {hanging.script}, MainThread: hangs, for "
        )
        assert where.endswith("s (2 passes done)")
        assert wrote.endswith("mlp.snapshot.pftrace")
        trace = tilelang_trace.read(tmp_path / "mlp.snapshot.pftrace")
        assert statuses(trace) == expected("open", "open")
        end = trace.slices.end[3] / 1e9
        assert before < end < after, "it lasts until now"
        assert trace.metadata["recording"] == {"complete": False, "reason": "a snapshot"}
        assert not trace.arguments.values("error")
        assert hanging.poll() is None
        assert {path: path.read_bytes() for path in journals} == journals

    def test_it_is_written_where_and_as_asked_for(self, hanging: Any, tmp_path: Path) -> None:
        done = snapshot(tmp_path, "mlp.pftrace", "-o", "now.json.gz")
        assert (done.returncode, done.stderr.splitlines()[-1]) == (
            0,
            "tilelang-trace: wrote now.json.gz",
        )
        assert statuses(tilelang_trace.read(tmp_path / "now.json.gz")) == expected("open", "open")
        assert not (tmp_path / "mlp.snapshot.pftrace").exists()

    def test_one_that_has_died_is_finished_by_convert(self, hanging: Any, tmp_path: Path) -> None:
        for pid in (hanging.pid, hanging.script):
            os.kill(pid, signal.SIGKILL)
        hanging.wait()
        time.sleep(0.2)
        done = snapshot(tmp_path, "mlp.pftrace")
        assert (done.returncode, done.stderr) == (
            2,
            "tilelang-trace: mlp.pftrace: its recording did not end; to finish it: "
            "tilelang-trace convert mlp.pftrace.journal -o mlp.pftrace\n",
        )

    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ("none.pftrace", "nothing is recorded there"),
            ("4294967295", "no such process records anything"),
            ("{sleep}", "no such process records anything"),
            ("", "nothing is recorded there"),
        ],
    )
    def test_where_nothing_is_recorded_there_is_one_line(
        self, tmp_path: Path, target: str, said: str
    ) -> None:
        with subprocess.Popen(["sleep", "60"]) as sleep:
            done = snapshot(tmp_path, target.format(sleep=sleep.pid))
            sleep.kill()
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert said in done.stderr

    def test_a_script_that_has_not_compiled_yet(self, tvm: Any, tmp_path: Path) -> None:
        (tmp_path / "mlp.py").write_text("print('up', flush=True); input()")
        process = subprocess.Popen(
            [*RUN, "mlp.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        done = snapshot(tmp_path, "mlp.pftrace")
        assert (done.returncode, done.stderr) == (
            2,
            "tilelang-trace: mlp.pftrace: nothing has been compiled there yet\n",
        )
        process.communicate(b"\n")


class TestTimeout:
    @pytest.mark.parametrize("hang", HANGS)
    def test_the_pass_that_hung_is_named(
        self, start: Callable[..., Any], tmp_path: Path, hang: str
    ) -> None:
        process = start(HANGS[hang], "--timeout", "8")
        _, err = process.communicate(timeout=30)
        assert process.returncode == 124
        first, wrote, _ = err.splitlines()
        assert first.startswith(
            "tilelang-trace: --timeout: ended the script after 8 s; it was in hangs, for "
        )
        assert wrote == (
            "tilelang-trace: wrote mlp.pftrace: 3 passes, 1 failed; incomplete: "
            "--timeout: ended after 8 s"
        )
        trace = tilelang_trace.read(tmp_path / "mlp.pftrace")
        assert statuses(trace) == expected("incomplete", "failed")
        errors = trace.arguments.values("error")
        around = {"type": "SIGTERM", "cause": "timeout", "message": "--timeout: ended after 8 s"}
        assert errors[2] == around
        detail = errors[3].pop("detail")
        assert errors[3] == around
        assert 'mlp.py", line 8 in hang' in detail
        assert 'mlp.py", line 12 in <module>' in detail
        assert not list(tmp_path.glob("*.journal"))

    def test_one_that_handles_sigterm_is_ended_by_the_timeout_too(
        self, start: Callable[..., Any], tmp_path: Path
    ) -> None:
        before = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))"
        process = start("time.sleep(100)", "--timeout", "8", before=before)
        process.communicate(timeout=30)
        assert process.returncode == 124
        trace = tilelang_trace.read(tmp_path / "mlp.pftrace")
        assert statuses(trace) == expected("incomplete", "failed")
        causes = {error["cause"] for error in trace.arguments.values("error").values()}
        assert causes == {"timeout"}
        assert trace.metadata["exit"] == {"code": 1, "timeout": 8.0}

    def test_workers_that_hang_end_and_are_named(self, tvm: Any, tmp_path: Path) -> None:
        (tmp_path / "compiles.py").write_text(COMPILES)
        (tmp_path / "mlp.py").write_text(
            "import multiprocessing, signal, time\n"
            "from compiles import compile_it\n"
            "def work():\n"
            "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "    compile_it('in a worker', lambda: time.sleep(100))\n"
            "if __name__ == '__main__':\n"
            "    compile_it('first')\n"
            "    worker = multiprocessing.get_context('fork').Process(target=work)\n"
            "    worker.start()\n"
            "    print(worker.pid, flush=True)\n"
            "    worker.join()\n"
        )
        done = subprocess.run(
            [*RUN, "--timeout", "8", "mlp.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 124
        assert "it was in in a worker, for" in done.stderr
        worker = processes.identified(int(done.stdout))
        assert worker is None or not processes.runs(worker)
        trace = tilelang_trace.read(tmp_path / "mlp.pftrace")
        failed = [name for name, status in statuses(trace) if status == "failed"]
        assert failed == ["in a worker"]
        (error,) = [e for e in trace.arguments.values("error").values() if "detail" in e]
        assert error["cause"] == "timeout"
        assert 'mlp.py", line 5 in work' in error["detail"]


class TestTerminal:
    @pytest.fixture
    def terminal(self, tvm: Any, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
        (tmp_path / "compiles.py").write_text(COMPILES)
        opened = []

        def open_(script: str, *options: str, **more: Any) -> Terminal:
            (tmp_path / "mlp.py").write_text(script)
            opened.append(Terminal([*RUN, *options, "mlp.py"], cwd=tmp_path, **more))
            return opened[-1]

        yield open_
        for terminal in opened:
            if terminal.process.poll() is None:
                os.killpg(terminal.process.pid, signal.SIGKILL)

    def test_the_last_line_says_how_far_it_is(self, terminal: Callable[..., Terminal]) -> None:
        shown = terminal(SCRIPT.format(hang=HANGS["in C"], before=""), "--progress")
        shown.read_until(lambda: "hangs, for 1." in shown.rows()[-1])
        assert shown.rows()[-1].startswith("tilelang-trace: ")
        assert "s, 2 passes done | hangs, for 1." in shown.rows()[-1]
        shown.type(b"\x1c")
        assert shown.wait() == 128 + signal.SIGQUIT
        assert not [row for row in shown.rows() if "passes done" in row]

    def test_ctrl_c_that_stops_nothing_says_where_the_script_is(
        self, terminal: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        shown = terminal(SCRIPT.format(hang=HANGS["in C"], before=""), columns=200)
        shown.read_until(lambda: shown.rows()[0].isdecimal())
        time.sleep(0.3)  # it has printed, and is about to hang
        shown.type(b"\x03")
        shown.read_until(lambda: "ends it" in "\n".join(shown.rows()))
        (said,) = [row for row in shown.rows() if "ends it" in row]
        assert "the script has been in hangs for " in said
        assert said.endswith("s and has not stopped yet; Ctrl-\\ ends it")
        assert shown.process.poll() is None
        shown.type(b"\x1c")
        assert shown.wait() == 128 + signal.SIGQUIT
        trace = tilelang_trace.read(tmp_path / "mlp.pftrace")
        assert statuses(trace) == expected("incomplete", "failed")

    def test_ctrl_c_stops_the_script_and_the_trace_is_written(
        self, terminal: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        shown = terminal(SCRIPT.format(hang="time.sleep(100)", before=""), "--progress")
        shown.read_until(lambda: "hangs" in shown.rows()[-1])
        begun = time.monotonic()
        shown.type(b"\x03")
        shown.wait()
        assert time.monotonic() - begun < 2
        assert "ends it" not in "\n".join(shown.rows())
        assert "passes done" not in "\n".join(shown.rows())
        trace = tilelang_trace.read(tmp_path / "mlp.pftrace")
        assert statuses(trace) == expected("incomplete", "failed")
