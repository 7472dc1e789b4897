"""`tilelang-trace run` leaves a script as it is: arguments, streams, exit code, death. No TVM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tilelang_trace
from tilelang_trace.recording import processes


def start(
    folder: Path,
    script: str,
    *arguments: str,
    output: str = "out.pftrace",
    alone: bool = False,
) -> subprocess.Popen[str]:
    """Start a script under `tilelang-trace run`, with pipes; `alone` in its own group."""
    (folder / "script.py").write_text(script)
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tilelang_trace",
            "run",
            "-o",
            output,
            "script.py",
            *arguments,
        ],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=alone,
    )


def run(folder: Path, script: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a script under `tilelang-trace run`."""
    process = start(folder, script, *arguments)
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err


def plain(folder: Path, script: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """The same without `tilelang-trace`."""
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


WORLD = """
import os, pickle, sys
class Here: pass
print(sys.argv, sys.path[0] == os.path.dirname(os.path.abspath(__file__)), __name__, __file__)
print(sys.modules["__main__"].__file__, pickle.dumps(Here()) != b"", sys.stdin.read())
print(sorted(k for k in globals() if not k.startswith("_")))
print("to stderr", file=sys.stderr)
"""


def test_the_script_sees_its_own_world(tmp_path: Path) -> None:
    arguments = ("-o", "x", "--", "-m", "a b")
    code, out, err = run(tmp_path, WORLD, *arguments, stdin="typed")
    assert (code, out) == plain(tmp_path, WORLD, *arguments, stdin="typed")[:2]
    first, *ours = err.splitlines()
    assert first == "to stderr"
    assert len(ours) == 2
    assert "out.pftrace" in ours[0]
    assert "ui.perfetto.dev" in ours[1]


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(7)",
        "sys.exit('said at the end')",
        "raise ValueError('expected')",
        "os._exit(5)",
        "1/0",
    ],
)
def test_exit_code_and_traceback_are_the_scripts(tmp_path: Path, ending: str) -> None:
    script = f"import os, sys\nprint('x', flush=True)\n{ending}\n"
    code, out, err = run(tmp_path, script)
    plain_code, plain_out, plain_err = plain(tmp_path, script)
    assert (code, out) == (plain_code, plain_out)
    assert "".join(line for line in err.splitlines(True)[:-2]) == plain_err
    metadata = tilelang_trace.read(tmp_path / "out.pftrace").metadata
    assert metadata["exit"] == {"code": plain_code}
    assert metadata["process_name"] == "script.py"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_script_that_dies_of_a_signal(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    code, _, _ = run(tmp_path, f"import os\nos.kill(os.getpid(), {int(number)})\n")
    assert code == 128 + number
    metadata = tilelang_trace.read(tmp_path / "out.pftrace").metadata
    reason = f"the process was killed by {name}"
    if name == "SIGKILL":
        reason += r"; it had used \d+ MB"
        assert 1e6 < metadata["exit"].pop("peak_memory") < 1e9
    assert metadata["exit"] == {"code": -number, "signal": name}
    assert not metadata["recording"]["complete"]
    assert re.fullmatch(reason, metadata["recording"]["reason"])


def test_sigterm_is_sent_on_to_the_script(tmp_path: Path) -> None:
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = start(tmp_path, script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 9
    assert (tmp_path / "out.pftrace").exists()


def test_ctrl_c_is_the_scripts_to_handle(tmp_path: Path) -> None:
    script = (
        "import time\n"
        "try:\n    print('ready', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('handled')\n"
    )
    process = start(tmp_path, script, output="out.json", alone=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole process group
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "handled\n")
    assert (tmp_path / "out.json").exists()


def test_ctrl_backslash_does_not_end_the_launcher_first(tmp_path: Path) -> None:
    script = "import time; print('ready', flush=True); time.sleep(60)"
    process = start(tmp_path, script, alone=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGQUIT)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGQUIT
    metadata = tilelang_trace.read(tmp_path / "out.pftrace").metadata
    assert metadata["exit"] == {"code": -signal.SIGQUIT, "signal": "SIGQUIT"}


def test_ctrl_c_while_the_trace_is_written(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    program = """
import os, signal, sys
from tilelang_trace.commands import main
from tilelang_trace.formats import files
files.write = lambda *_: os.kill(os.getpid(), signal.SIGINT)
sys.exit(main(["run", "-o", "out.pftrace", "script.py"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    journals = tmp_path / "out.pftrace.journal"
    assert done.stderr == (
        "tilelang-trace: stopped before the trace was written; what was recorded is in "
        f"{journals}\n"
    )
    assert journals.is_dir()


@pytest.mark.parametrize("code", [0, 7])
def test_a_trace_that_cannot_be_written_leaves_the_exit_code_alone(
    tmp_path: Path, code: int
) -> None:
    script = f"import os, sys; os.mkdir('out.pftrace'); sys.exit({code})"
    found, _, err = run(tmp_path, script)
    assert found == code
    journals = tmp_path / "out.pftrace.journal"
    assert err == (
        f"tilelang-trace: {tmp_path / 'out.pftrace'}: can't be written: Is a directory; "
        f"what was recorded is in {journals}\n"
    )
    assert journals.is_dir()


def test_a_module_runs_as_with_python_m(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys; print(sys.argv[1:], __name__, __package__)")
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", "-m", "package", "-x", "--y"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "['-x', '--y'] __main__ package\n"
    assert tilelang_trace.read(tmp_path / "package.pftrace").metadata["process_name"] == "package"


def test_a_script_without_tvm_is_told(tmp_path: Path) -> None:
    _, _, err = run(tmp_path, "pass")
    assert "no pass ran (the script did not import TVM)" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.py"], "missing.py: no such file"),
        ([], "name the script to run"),
        (["-o", "out.txt", "script.py"], "out.txt: no format has this ending"),
        (["-o", "no/such/folder/out.json", "script.py"], "can't be written"),
        (["-o", "{user}.json", "script.py"], "unknown field {user}"),
        (["-o", "{pid}/x.json", "script.py"], "not in its folder"),
        (["--only", "", "script.py"], "an empty pattern"),
        (["--min-ms", "-1", "script.py"], "no time in milliseconds"),
        (["--min-ms", "nan", "script.py"], "no time in milliseconds"),
        (["--split", "pass", "script.py"], "invalid choice: 'pass'"),
        (["--ir", "all", "script.py"], "invalid choice: 'all'"),
        (["--timeout", "0", "script.py"], "'0' is no time in seconds"),
        (["--timeout", "-1", "script.py"], "no time in seconds"),
        (["--timeout", "nan", "script.py"], "no time in seconds"),
        (["--timeout", "inf", "script.py"], "no time in seconds"),
        (["--timeout", "5s", "script.py"], "no time in seconds"),
        (["--oops", "script.py"], "--oops"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2_and_nothing_runs(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "script.py").write_text("open('ran', 'w')")
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["script.py"]


def test_fields_of_the_name_are_filled_in(tmp_path: Path) -> None:
    process = start(
        tmp_path, "import os; print(os.getpid())", output="{script}-{pid}-{time}-{kernel}.json"
    )
    pid, err = process.communicate(timeout=60)
    (output,) = tmp_path.glob("*.json")
    assert re.fullmatch(rf"script-{pid.strip()}-\d{{8}}-\d{{6}}-no-kernel\.json", output.name)
    assert f"wrote {output.name}: no pass ran" in err
    assert not list(tmp_path.glob("*.journal*"))


@pytest.mark.parametrize(
    ("ending", "is_kept"),
    [("pass", False), ("sys.exit(0)", False), ("sys.exit(3)", True), ("os.abort()", True)],
)
def test_on_request_only_a_failure_is_kept(tmp_path: Path, ending: str, is_kept: bool) -> None:
    (tmp_path / "script.py").write_text(f"import os, sys\n{ending}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", "--keep-on-failure", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "script.pftrace").exists() == is_kept
    assert ("nothing written, for nothing failed" in done.stderr) != is_kept
    assert not list(tmp_path.glob("*.journal*"))


@pytest.mark.parametrize(("given", "seen"), [([], None), (["--ir", "hash"], "hash")])
def test_what_to_record_of_the_ir_reaches_the_script(
    tmp_path: Path, given: list[str], seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILELANG_TRACE_IR", raising=False)
    (tmp_path / "script.py").write_text("import os; print(os.environ.get('TILELANG_TRACE_IR'))")
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", *given, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{seen}\n"


def ended_by_timeout(
    folder: Path, script: str, seconds: str
) -> tuple[subprocess.CompletedProcess[str], float]:
    """What a script that takes too long comes to, and after how many seconds."""
    (folder / "script.py").write_text(script)
    begun = time.monotonic()
    options = ["--timeout", seconds, "-o", "out.pftrace"]
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", *options, "script.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done, time.monotonic() - begun


class TestTimeout:
    def test_a_script_that_never_compiles_is_ended_too(self, tmp_path: Path) -> None:
        done, took = ended_by_timeout(tmp_path, "import time; time.sleep(60)", "0.25")
        assert done.returncode == 124
        first, wrote, _ = done.stderr.splitlines()
        assert first == (
            "tilelang-trace: --timeout: ended the script after 0.25 s; no pass was running"
        )
        assert "wrote out.pftrace: no pass ran" in wrote
        assert took < 5
        metadata = tilelang_trace.read(tmp_path / "out.pftrace").metadata
        assert metadata["exit"] == {"code": -15, "signal": "SIGTERM", "timeout": 0.25}
        assert metadata["recording"] == {
            "complete": False,
            "reason": "--timeout: ended after 0.25 s",
        }

    def test_a_script_that_ends_in_time_does_not_notice(self, tmp_path: Path) -> None:
        done, _ = ended_by_timeout(tmp_path, "import sys; sys.exit(7)", "50")
        assert done.returncode == 7
        assert "timeout" not in done.stderr

    def test_one_that_handles_sigterm_may_clean_up(self, tmp_path: Path) -> None:
        script = (
            "import signal, sys, time\n"
            "def end(*_): time.sleep(0.5); print('clean'); sys.exit(3)\n"
            "signal.signal(signal.SIGTERM, end)\n"
            "time.sleep(60)\n"
        )
        done, took = ended_by_timeout(tmp_path, script, "1")
        assert (done.returncode, done.stdout) == (124, "clean\n")
        assert took < 5
        metadata = tilelang_trace.read(tmp_path / "out.pftrace").metadata
        assert metadata["exit"] == {"code": 3, "timeout": 1.0}

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere children can't be found")
    def test_what_it_has_started_ends_with_it(self, tmp_path: Path) -> None:
        """A deaf grandchild is killed when its time is over, while its parent has ended at once."""
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
        script = (
            "import os, subprocess, sys, time\n"
            f"child = subprocess.Popen([sys.executable, '-c', {deaf!r}])\n"
            "sleep = subprocess.Popen(['sh', '-c', 'sleep 60; true'])\n"
            "time.sleep(0.5); print(child.pid, sleep.pid, flush=True)\n"
            "time.sleep(60)\n"
        )
        done, took = ended_by_timeout(tmp_path, script, "2")
        assert done.returncode == 124
        assert 5 < took < 12
        for process in map(processes.identified, map(int, done.stdout.split())):
            assert process is None or not processes.runs(process)


def test_progress_without_a_terminal_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('done')")
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", "--progress", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.splitlines()[0] == (
        "tilelang-trace: --progress: there is no terminal to show it in"
    )
