"""`TILELANG_TRACE=OUT` with any way of starting Python. The package must be installed: it is its
`.pth` file that is tried.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tilelang_trace

Python = Callable[..., subprocess.CompletedProcess[str]]

ONE = "from compiles import compile_it; print(compile_it('one'))"

STARTS_THREE = """
import subprocess, sys
for name in ("first", "second", "third"):
    code = f"from compiles import compile_it; print(compile_it('{name}'), flush=True)"
    subprocess.run([sys.executable, "-c", code], check=True)
assert "tvm" not in sys.modules
"""


def pass_names(path: Path) -> list[str]:
    """The passes of a file, in the order of its processes and times."""
    trace = tilelang_trace.read(path)
    return [trace.name(row) for row in range(len(trace.slices)) if trace.category(row) == "pass"]


def files_in(folder: Path) -> list[str]:
    """What is there, but for what the tests put there."""
    ours = {"compiles.py", "script.py", "__pycache__", ".pytest_cache"}
    return sorted(path.name for path in folder.iterdir() if path.name not in ours)


@pytest.mark.parametrize("how", ["-c", "script", "-m", "pytest"])
def test_any_way_of_starting_python_is_recorded(tmp_path: Path, python: Python, how: str) -> None:
    (tmp_path / "script.py").write_text(f"def test_it():\n    {ONE}\n\ntest_it()\n")
    arguments = {
        "-c": ["-c", ONE],
        "script": ["script.py"],
        "-m": ["-m", "script"],
        "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider", "script.py"],
    }[how]
    done = python(*arguments, TILELANG_TRACE="out.pftrace")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(pass_names(tmp_path / "out.pftrace")) == {"one"}
    assert files_in(tmp_path) == ["out.pftrace"]


def test_without_tvm_there_is_no_file_and_nothing_heavy_is_imported(
    tmp_path: Path, python: Python
) -> None:
    code = "import sys; print(*sorted(m for m in sys.modules if '__' not in m))"
    plain = set(python("-c", code).stdout.split())
    done = python("-c", code, TILELANG_TRACE="out.pftrace")
    assert (done.returncode, done.stderr) == (0, "")
    costly = {"collections", "contextlib", "numpy", "pathlib", "re", "threading", "typing"}
    assert not costly & (set(done.stdout.split()) - plain)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("ending", "code"),
    [("sys.exit(7)", 7), ("1 / 0", 1), ("compile_it('fails', lambda: 1 / 0)", 1)],
)
def test_the_end_of_the_program_is_its_own(
    tmp_path: Path, python: Python, ending: str, code: int
) -> None:
    program = f"import sys; from compiles import compile_it; compile_it('one'); {ending}"
    plain = python("-c", program)
    done = python("-c", program, TILELANG_TRACE="out.pftrace")
    assert plain.returncode == done.returncode == code
    if sys.version_info < (3, 11) and "compile_it" in ending:
        # Python 3.10 keeps the recorder's frame in the traceback.
        assert done.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1]
    else:
        assert done.stderr == plain.stderr
    assert pass_names(tmp_path / "out.pftrace")[0] == "one"


def test_what_threads_and_exit_handlers_compile_is_in_it(tmp_path: Path, python: Python) -> None:
    program = (
        "import atexit, threading, time; from compiles import compile_it\n"
        "atexit.register(compile_it, 'at exit')\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), compile_it('thread'))).start()\n"
    )
    python("-c", program, TILELANG_TRACE="out.json")
    assert sorted(pass_names(tmp_path / "out.json")) == ["at exit", "thread"]


def test_children_of_a_process_without_tvm_share_the_output(tmp_path: Path, python: Python) -> None:
    done = python("-c", STARTS_THREE, TILELANG_TRACE="out.pftrace")
    assert (done.returncode, done.stderr) == (0, "")
    trace = tilelang_trace.read(tmp_path / "out.pftrace")
    assert [process.pid for process in trace.processes] == [int(p) for p in done.stdout.split()]
    assert pass_names(tmp_path / "out.pftrace") == ["first", "second", "third"]
    assert trace.metadata["recording"] == {"complete": True, "reason": ""}
    assert files_in(tmp_path) == ["out.pftrace"]


def test_the_output_is_where_it_was_named_wherever_children_go(
    tmp_path: Path, python: Python
) -> None:
    (tmp_path / "elsewhere").mkdir()
    program = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {ONE!r}], cwd='elsewhere', check=True)\n"
    )
    python("-c", program, TILELANG_TRACE="out.pftrace")
    assert pass_names(tmp_path / "out.pftrace") == ["one"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_process_that_replaces_itself_goes_on_in_the_same_output(
    tmp_path: Path, python: Python
) -> None:
    program = (
        "import os, sys; from compiles import compile_it\n"
        "compile_it('before')\n"
        f"os.execv(sys.executable, [sys.executable, '-c', {ONE!r}])\n"
    )
    python("-c", program, TILELANG_TRACE="out.pftrace")
    assert pass_names(tmp_path / "out.pftrace") == ["before", "one"]
    assert files_in(tmp_path) == ["out.pftrace"]


def test_an_unrelated_process_with_the_same_output_writes_beside_it(
    tmp_path: Path, python: Python
) -> None:
    # The second is started by the first, but as a shell would do it: without its environment.
    program = (
        "import os, subprocess, sys; from compiles import compile_it\n"
        "other = {k: v for k, v in os.environ.items() if not k.startswith('TILELANG_TRACE_')}\n"
        "start = lambda: subprocess.run([sys.executable, '-c', "
        f"{ONE!r}], env=other, check=True)\n"
        "compile_it('around', start)\n"
    )
    done = python("-c", program, TILELANG_TRACE="out.pftrace")
    assert pass_names(tmp_path / "out.pftrace") == ["around"]
    assert pass_names(tmp_path / "out.1.pftrace") == ["one"]
    (said,) = done.stderr.splitlines()
    assert "out.pftrace was in use: wrote" in said
    assert said.endswith("out.1.pftrace")


def test_the_first_process_waits_for_nobody_and_the_last_one_completes_the_file(
    tmp_path: Path, python: Python
) -> None:
    child = (
        "import time; from compiles import compile_it\n"
        "def body():\n"
        "    open('compiling', 'w').close()\n"
        "    while not __import__('os').path.exists('first is gone'): time.sleep(0.05)\n"
        "compile_it('of the child', body)\n"
    )
    program = (
        "import os, subprocess, sys, time; from compiles import compile_it\n"
        "compile_it('of the first')\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL)\n"
        "while not os.path.exists('compiling'): time.sleep(0.05)\n"
    )
    python("-c", program, TILELANG_TRACE="out.pftrace")
    trace = tilelang_trace.read(tmp_path / "out.pftrace")
    assert [trace.arguments.of(row)["status"] for row in range(4)] == ["ok", "ok", "open", "open"]
    assert "still ran a pass" in trace.metadata["recording"]["reason"]

    (tmp_path / "first is gone").touch()
    wait_until(lambda: not (tmp_path / "out.pftrace.journal").exists())
    trace = tilelang_trace.read(tmp_path / "out.pftrace")
    assert [trace.arguments.of(row)["status"] for row in range(4)] == ["ok"] * 4
    assert trace.metadata["recording"] == {"complete": True, "reason": ""}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("out.txt", "no format has this ending"),
        ("missing/out.pftrace", "can't be made: No such file or directory"),
    ],
)
def test_a_bad_value_is_one_line_and_nothing_else(
    tmp_path: Path, python: Python, value: str, said: str
) -> None:
    program = (
        "import subprocess, sys; from compiles import compile_it; compile_it('one')\n"
        f"subprocess.run([sys.executable, '-c', {ONE!r}], check=True)\n"
        "sys.exit(7)\n"
    )
    done = python("-c", program, TILELANG_TRACE=value)
    assert done.returncode == 7
    (line,) = done.stderr.splitlines()
    assert line.startswith("tilelang-trace: nothing is recorded: ")
    assert said in line
    assert files_in(tmp_path) == []


def test_a_compile_that_is_killed_leaves_its_journal(tmp_path: Path, python: Python) -> None:
    program = (
        "import os, signal; from compiles import compile_it; compile_it('one')\n"
        "compile_it('killed', lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    done = python("-c", program, TILELANG_TRACE="out.pftrace")
    assert done.returncode == -9
    converted = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "convert", "out.pftrace.journal", "-o", "x.json"],
        cwd=tmp_path,
        check=False,
    )
    assert converted.returncode == 0
    trace = tilelang_trace.read(tmp_path / "x.json")
    statuses = [(trace.name(row), trace.arguments.of(row)["status"]) for row in range(4)]
    assert statuses == [
        ("PassContext", "ok"),
        ("one", "ok"),
        ("PassContext", "incomplete"),
        ("killed", "failed"),
    ]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait, a bounded time, until something is so."""
    import time

    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be in 30 s")
