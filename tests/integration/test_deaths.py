"""Processes that die in the middle of a compile: what the trace knows of it afterwards, with a
launcher and without one.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.timeline import tree
from tilelang_trace.recording.death import crash_stack
from tilelang_trace.trace.model import Trace

pytestmark = pytest.mark.crashes

Python = Callable[..., subprocess.CompletedProcess[str]]
Die = Callable[[str, str], tuple[Trace, subprocess.CompletedProcess[str]]]

PRELUDE = """
import contextlib, ctypes, faulthandler, os, resource, signal, sys, threading, time
import tilelang_trace
from compiles import compile_it
"""
BLOCK = (
    "with tilelang_trace.record('x.pftrace') if 'record' in sys.argv else contextlib.nullcontext():"
)
CRASH = "ctypes.string_at(0)"


def lines_of(script: str) -> str:
    """A whole script; `BLOCK` in it is what `record` of the fixture `die` records."""
    return PRELUDE + script.replace("BLOCK", BLOCK)


@pytest.fixture
def die(tmp_path: Path, python: Python) -> Die:
    """Runs a script that dies, recorded by `run`, by the `environment` or by `record`; returns the
    trace, finished from its journals where nobody else could.
    """

    def how_it_died(how: str, script: str) -> tuple[Trace, subprocess.CompletedProcess[str]]:
        (tmp_path / "script.py").write_text(lines_of(script))
        environment = {}
        arguments = ["script.py", how]
        if how == "run":
            arguments = ["-m", "tilelang_trace", "run", "-o", "x.pftrace", *arguments]
        elif how == "environment":
            environment["TILELANG_TRACE"] = "x.pftrace"
        done = python(*arguments, **environment)
        if how != "run":
            assert not (tmp_path / "x.pftrace").exists()
            convert = ("convert", "x.pftrace.journal", "-o", "x.pftrace")
            assert python("-m", "tilelang_trace", *convert).stderr == ""
        return tilelang_trace.read(tmp_path / "x.pftrace"), done

    return how_it_died


def errors(trace: Trace) -> dict[str, dict[str, Any]]:
    """The `error` of each slice that has one, by the slice's name."""
    return {trace.name(row): error for row, error in trace.arguments.values("error").items()}


DIES = """
def dies():
    {how}

BLOCK
    compile_it("before")
    compile_it("dies", dies)
"""

WAYS = ["run", "environment", "record"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("SIGSEGV", CRASH),
        ("SIGABRT", "os.abort()"),
        ("SIGBUS", "os.kill(os.getpid(), signal.SIGBUS)"),
    ],
)
def test_a_crash_names_the_signal_and_the_python_stack(
    die: Die, way: str, name: str, how: str
) -> None:
    number = signal.Signals[name]
    trace, done = die(way, DIES.format(how=how))
    assert done.returncode == (128 + number if way == "run" else -number)
    assert tree(trace) == [
        "context 0",
        "  before",
        "context 1 incomplete",
        "  dies failed",
    ]
    told = errors(trace)
    message = f"the process was killed by {name}"
    assert told["PassContext"] == {"type": name, "cause": "signal", "message": message}
    detail = told["dies"].pop("detail")
    assert told["dies"] == told["PassContext"]
    first, _, fatal, _, current, *frames = detail.splitlines()
    assert (first, fatal.split(":")[0]) == (message, "Fatal Python error")
    assert current.startswith("Current thread 0x")
    in_dies = next(frame for frame in frames if "script.py" in frame)
    assert re.search(r'script\.py", line \d+ in dies$', in_dies)
    assert trace.metadata["exit"]["signal"] == name
    assert message.removeprefix("the process") in trace.metadata["recording"]["reason"]


@pytest.mark.parametrize("way", WAYS)
def test_of_sigkill_only_the_launcher_knows(die: Die, way: str) -> None:
    trace, _ = die(way, DIES.format(how="os.kill(os.getpid(), 9)"))
    assert tree(trace)[-1] == "  dies failed"
    error = errors(trace)["dies"]
    assert error["message"] == error["detail"], "no stack"
    if way == "run":
        assert (error["type"], error["cause"]) == ("SIGKILL", "signal")
        assert re.fullmatch(
            r"the process was killed by SIGKILL; it had used \d+ MB", error["message"]
        )
        assert 50e6 < trace.metadata["exit"].pop("peak_memory") < 5e9, "with TVM loaded"
        assert trace.metadata["exit"] == {"code": -9, "signal": "SIGKILL"}
    else:
        assert (error["type"], error["cause"]) == ("", "unknown")
        assert "exit" not in trace.metadata


def test_sigint_that_kills_is_an_interrupt(die: Die) -> None:
    how = "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)"
    trace, done = die("run", DIES.format(how=how))
    assert done.returncode == 130
    assert errors(trace)["dies"]["type"] == "SIGINT"
    assert errors(trace)["dies"]["cause"] == "interrupt"


@pytest.mark.parametrize("way", ["run", "record"])
def test_a_crash_outside_of_any_slice_has_its_stack_in_the_metadata(die: Die, way: str) -> None:
    trace, _ = die(way, f"def dies():\n    {CRASH}\nBLOCK\n    compile_it('before')\n    dies()\n")
    assert tree(trace) == ["context 0", "  before"]
    assert trace.metadata["exit"]["signal"] == "SIGSEGV"
    assert "in dies\n" in trace.metadata["exit"]["stack"]
    assert not trace.metadata["recording"]["complete"]


OVERFLOW = """
import tvm
from tvm import tirx

def stack(mb):
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (mb << 20, hard))

@tvm.transform.module_pass(opt_level=0, name="Shrink")
def shrink(mod, context):
    stack(8)
    return mod

stack(512)  # for all that is recursive in making the sum
x = tirx.Var("x", "int32")
total = x
for number in range(9000):
    total = tirx.Add(total, tirx.FloorMod(x, tirx.IntImm("int32", number + 2)))
main = tirx.PrimFunc([x], tirx.Evaluate(total)).with_attr("global_symbol", "main")
passes = tvm.transform.Sequential([shrink, tirx.transform.StmtSimplify()], name="lower")

def lower():
    with tvm.transform.PassContext():
        passes(tvm.IRModule({"main": main}))

BLOCK
    compile_it("before")
    {call}
"""
CALLS = {
    "main thread": "lower()",
    "thread": "threading.stack_size(8 << 20); thread = threading.Thread(target=lower); "
    "thread.start(); thread.join()",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("way", WAYS)
def test_a_real_stack_overflow_in_a_pass(die: Die, way: str, call: str) -> None:
    pytest.importorskip("tvm.tirx", reason="a TVM without tirx")
    trace, done = die(way, OVERFLOW.replace("{call}", call))
    assert done.returncode == (139 if way == "run" else -signal.SIGSEGV)
    ours = [line for line in done.stderr.splitlines() if not line.startswith("tilelang-trace: ")]
    assert ours == [], "without a recording it dies without a word"
    assert tree(trace) == [
        "context 0",
        "  before",
        "context 1 incomplete",
        "  lower incomplete",
        "    Shrink",
        "    tirx.StmtSimplify failed",
    ]
    detail = errors(trace)["tirx.StmtSimplify"]["detail"]
    assert re.search(r'script\.py", line \d+ in lower', detail)


@pytest.mark.parametrize("how", [CRASH, "os.abort()"])
def test_what_the_crash_says_on_stderr_is_the_same_as_without_a_recording(
    die: Die, tmp_path: Path, python: Python, how: str
) -> None:
    _, recorded = die("run", DIES.format(how=how))
    plain = python("script.py")

    def said(done: subprocess.CompletedProcess[str]) -> list[str]:
        # Behind the crash come the frames of Python's evaluation, which the recording's are among.
        text = "".join(
            re.sub("0x[0-9a-f]+", "0x", line)
            for line in done.stderr.splitlines(True)
            if not line.startswith("tilelang-trace: ")
        )
        return text.partition("in _PyEval")[0].splitlines()

    assert said(recorded) == said(plain)
    assert bool(said(plain)) == (how == CRASH), "TVM tells of SIGSEGV only"


TWO = """
ready = threading.Event()

def waits():
    ready.set()
    time.sleep(60)

def crashes():
    ready.wait()
    ctypes.string_at(0)

BLOCK
    other = threading.Thread(target=compile_it, args=({other!r}, {other}), daemon=True)
    other.start()
    compile_it({main!r}, {main})
"""


@pytest.mark.parametrize("way", ["run", "record"])
@pytest.mark.parametrize(("main", "other"), [("waits", "crashes"), ("crashes", "waits")])
def test_of_two_threads_the_one_that_crashed_has_failed(
    die: Die, way: str, main: str, other: str
) -> None:
    trace, _ = die(way, TWO.format(main=main, other=other))
    status = {trace.name(row): trace.arguments.of(row)["status"] for row in range(4)}
    assert status == {"PassContext": "incomplete", "waits": "incomplete", "crashes": "failed"}
    told = errors(trace)
    assert "detail" not in told["waits"]
    assert told["waits"]["cause"] == "signal"
    _, _, stack = told["crashes"]["detail"].partition("Current thread")
    assert stack.index("in crashes") < stack.index("in waits"), "the one that crashed comes first"


def test_without_a_stack_each_thread_has_failed(die: Die) -> None:
    trace, _ = die(
        "run", TWO.format(main="waits", other="crashes").replace(CRASH, "os.kill(os.getpid(), 9)")
    )
    assert {name for name, error in errors(trace).items() if "detail" in error} == {
        "waits",
        "crashes",
    }


def test_of_two_recordings_both_have_the_stack(tmp_path: Path, python: Python) -> None:
    (tmp_path / "script.py").write_text(lines_of(DIES.format(how=CRASH)))
    python("script.py", "record", TILELANG_TRACE="y.pftrace")
    for name in ("x.pftrace", "y.pftrace"):
        assert (
            python("-m", "tilelang_trace", "convert", f"{name}.journal", "-o", name).returncode == 0
        )
        error = errors(tilelang_trace.read(tmp_path / name))["dies"]
        assert error["type"] == "SIGSEGV"
        assert "in dies\n" in error["detail"]


FORK = """
def in_child():
    if not os.fork():
        {child}
    os.wait()

BLOCK
    compile_it("parent", in_child)
    {then}
"""


def test_a_forked_child_has_a_stack_of_its_own(die: Die) -> None:
    trace, done = die("run", FORK.format(child=f"compile_it('child', lambda: {CRASH})", then=""))
    assert done.returncode == 0
    assert tree(trace) == [
        "context 0",
        "  parent",
        "context 1 incomplete",
        "  child failed",
    ]
    assert errors(trace)["child"]["type"] == "SIGSEGV"
    assert re.fullmatch(
        r"process \d+ was killed by SIGSEGV in the middle of a pass or PassContext",
        trace.metadata["recording"]["reason"],
    )


def test_a_child_that_records_nothing_does_not_speak_for_its_parent(die: Die) -> None:
    then = "compile_it('killed', lambda: os.kill(os.getpid(), 9))"
    trace, _ = die("record", FORK.format(child=CRASH, then=then))
    assert errors(trace)["killed"]["cause"] == "unknown"
    assert "exit" not in trace.metadata


@pytest.mark.parametrize("when", ["before", "while"])
def test_the_users_faulthandler_is_the_users(die: Die, when: str) -> None:
    script = DIES.format(how=CRASH)
    if when == "before":
        script = f"import tvm; faulthandler.enable()\n{script}"
    else:
        script = script.replace('compile_it("dies"', 'faulthandler.enable(); compile_it("dies"')
    trace, done = die("run", script)
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1
    assert errors(trace)["dies"]["detail"] == "the process was killed by SIGSEGV"


RESTORES = """
import tvm
from tilelang_trace.recording.death.signal_actions import _Action
libc = ctypes.CDLL(None)

def handlers():
    found = {}
    for number in range(1, 65):
        action = _Action()
        libc.sigaction(number, None, ctypes.byref(action))
        found[number] = action.handler
    return found

before = handlers()
with tilelang_trace.record("x.pftrace"):
    compile_it("p")
    during = handlers()
    assert faulthandler.is_enabled()
    INSIDE
print(*[number for number in during if during[number] != before[number]])
print(*[number for number, handler in handlers().items() if handler != before[number]])
print(faulthandler.is_enabled())
"""


def restored(python: Python, tmp_path: Path, inside: str) -> list[str]:
    """What a script says whose `record` block has this inside: the signals whose handlers differ in
    the block and after it, and whether faulthandler is enabled after it.
    """
    (tmp_path / "script.py").write_text(lines_of(RESTORES.replace("INSIDE", inside)))
    done = python("script.py")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's sigaction")
def test_after_the_last_recording_all_handlers_are_as_before(
    tmp_path: Path, python: Python
) -> None:
    ours = [signal.SIGQUIT, signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE]
    ours += [signal.SIGSEGV, signal.SIGRTMIN + 7]
    expected = [" ".join(str(int(number)) for number in ours), "", "False"]
    nested = "with tilelang_trace.record('y.pftrace'): compile_it('q')"
    assert restored(python, tmp_path, "pass") == expected
    assert restored(python, tmp_path, f"{nested}\n    assert faulthandler.is_enabled()") == expected


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's sigaction")
def test_what_the_user_sets_up_meanwhile_stays(tmp_path: Path, python: Python) -> None:
    inside = "faulthandler.enable(); signal.signal(signal.SIGQUIT, lambda *_: None)"
    _, changed, enabled = restored(python, tmp_path, inside)
    assert int(signal.SIGQUIT) in map(int, changed.split())
    assert enabled == "True"


HANGS = """
def hangs():
    print(os.getpid(), flush=True)
    while True:
        ctypes.PyDLL(None).sleep(60)  # as C++ does: Python can do nothing meanwhile

BLOCK
    compile_it("hangs", hangs)
"""


@contextlib.contextmanager
def hanging(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A script under `run` that hangs in a pass: the process of `run`, and the script's pid."""
    (folder / "script.py").write_text(lines_of(HANGS))
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(
        [sys.executable, "-m", "tilelang_trace", "run", "-o", "x.pftrace", "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        yield process, pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)


def test_ctrl_backslash_ends_a_hang_and_tells_where_it_was(
    tvm: Any, tmp_path: Path, python: Python
) -> None:
    with hanging(tmp_path) as (process, _):
        os.killpg(process.pid, signal.SIGQUIT)  # as a terminal does
        assert process.wait(timeout=60) == 128 + signal.SIGQUIT
    error = errors(tilelang_trace.read(tmp_path / "x.pftrace"))["hangs"]
    assert (error["type"], error["cause"]) == ("SIGQUIT", "signal")
    assert "in hangs\n" in error["detail"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs real-time signals")
def test_where_a_process_is_can_be_asked_from_outside(
    tvm: Any, tmp_path: Path, python: Python
) -> None:
    with hanging(tmp_path) as (process, pid):
        (journal,) = (tmp_path / "x.pftrace.journal").glob("*.pftrace")
        assert crash_stack.read(journal) == ""
        assert not crash_stack.request(journal, process.pid), "no handler: it would die of it"
        assert crash_stack.request(journal, pid)
        deadline = time.monotonic() + 10
        while "<module>" not in crash_stack.read(journal):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert "in hangs\n" in crash_stack.read(journal)
        assert process.poll() is None
        os.kill(pid, signal.SIGKILL)
        process.wait(timeout=60)
    detail = errors(tilelang_trace.read(tmp_path / "x.pftrace"))["hangs"]["detail"]
    assert "SIGKILL" in detail.splitlines()[0]
    assert "in hangs\n" in detail


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A control group of processes that may use 600 MB together; skips where none can be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        mount, limit = "/sys/fs/cgroup", "memory.max"
        if controllers == "memory":
            mount, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        elif controllers:
            continue
        made = Path(mount + group) / f"tilelang-trace-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            made.mkdir()
            try:
                if (made / limit).exists():
                    (made / limit).write_text("600M")
                    yield made
                    return
            finally:
                made.rmdir()
    pytest.skip("no control group with a limit of memory can be made")


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_a_process_that_the_system_kills_for_lack_of_memory(
    small_memory: Path, tmp_path: Path, python: Python
) -> None:
    grows = "kept = []\n    while True: kept.append(b'x' * (16 << 20))"
    (tmp_path / "script.py").write_text(lines_of(DIES.format(how=grows)))
    join = f"open({str(small_memory / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
    program = f"import os, sys; {join}; from tilelang_trace.commands import main; sys.exit(main())"
    done = python("-c", program, "run", "-o", "x.pftrace", "script.py")
    assert done.returncode == 137
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert tree(trace)[-1] == "  dies failed"
    message = r"the process was killed by SIGKILL, for lack of memory; it had used \d{3} MB"
    assert re.fullmatch(message, errors(trace)["dies"]["message"])
    assert trace.metadata["exit"].pop("peak_memory") < 1.2e9, (
        "more than the limit: libraries are shared"
    )
    assert trace.metadata["exit"] == {"code": -9, "signal": "SIGKILL", "out_of_memory": True}
