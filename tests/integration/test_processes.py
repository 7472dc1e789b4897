"""Processes that a recorded one starts: all of them come out in the one output, however they are
started and however they end.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.trace.model import Trace

Python = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """
import concurrent.futures, multiprocessing, os, signal, subprocess, sys
import tilelang_trace
from compiles import compile_it

def kill(name):
    compile_it(name, lambda: os.kill(os.getpid(), signal.SIGKILL))

def leave(name):
    compile_it(name)
    os._exit(3)

if __name__ == "__main__":
    with tilelang_trace.record("x.pftrace"):
        print(compile_it("parent"), flush=True)
        %s
    assert not [name for name in os.environ if name.startswith("TILELANG_TRACE")]
"""

ONE_BY_ONE = """
        context = multiprocessing.get_context({how!r})
        for n in range(3):
            child = context.Process(target=compile_it, args=(f"child {{n}}",))
            child.start(); child.join(); print(child.pid, flush=True)
"""

POOL = """
        context = multiprocessing.get_context({how!r})
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            print(*set(pool.map(compile_it, [f"task {{n}}" for n in range(6)], chunksize=1)))
"""


def by_process(trace: Trace) -> dict[int, list[tuple[str, str]]]:
    """(name, status) of the passes of each process, by its pid, in the Trace's order."""
    found: dict[int, list[tuple[str, str]]] = {p.pid: [] for p in trace.processes}
    for row in range(len(trace.slices)):
        if trace.category(row) == "pass":
            thread = trace.lanes[trace.slices.lane[row]].thread
            pid = trace.processes[trace.threads[thread].process].pid
            found[pid].append((trace.name(row), trace.arguments.of(row)["status"]))
    return found


@pytest.fixture
def record(tmp_path: Path, python: Python) -> Callable[[str], tuple[Trace, list[int]]]:
    """Runs a script that does this in a `record` block; returns the trace and the printed pids."""

    def run(inside: str) -> tuple[Trace, list[int]]:
        (tmp_path / "script.py").write_text(SCRIPT % inside)
        done = python("script.py")
        assert (done.returncode, done.stderr) == (0, "")
        assert not (tmp_path / "x.pftrace.journal").exists()
        return tilelang_trace.read(tmp_path / "x.pftrace"), [int(p) for p in done.stdout.split()]

    return run


Record = Callable[[str], tuple[Trace, list[int]]]


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_children_come_out_with_their_pid_in_start_order(record: Record, how: str) -> None:
    trace, pids = record(ONE_BY_ONE.format(how=how))
    assert len(pids) == 4
    expected = {pids[0]: [("parent", "ok")]}
    expected |= {pid: [(f"child {n}", "ok")] for n, pid in enumerate(pids[1:])}
    assert by_process(trace) == expected
    assert list(by_process(trace)) == pids
    assert trace.metadata["recording"] == {"complete": True, "reason": ""}


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_pool_of_processes(record: Record, how: str) -> None:
    trace, (parent, *workers) = record(POOL.format(how=how))
    found = by_process(trace)
    assert list(found) == [parent, *sorted(workers)]
    tasks = sorted(name for pid in workers for name, _ in found[pid])
    assert tasks == [f"task {n}" for n in range(6)]


def test_children_that_are_other_programs(record: Record) -> None:
    trace, pids = record("""
        code = "from compiles import compile_it; print(compile_it('other program'))"
        subprocess.run([sys.executable, "-c", code], check=True)
        subprocess.run("exec " + sys.executable + ' -c "import tvm"', shell=True, check=True)
    """)
    assert by_process(trace) == {
        pids[0]: [("parent", "ok")],
        pids[1]: [("other program", "ok")],
    }, "the one that compiled nothing is left out"


def test_tvms_own_pool(record: Record) -> None:
    pytest.importorskip("cloudpickle", reason="TVM's pool needs cloudpickle")
    trace, pids = record("""
        try:
            from tvm.support.popen_pool import PopenPoolExecutor
        except ImportError:  # before apache-tvm 0.27
            from tvm.contrib.popen_pool import PopenPoolExecutor
        pool = PopenPoolExecutor(max_workers=1)
        print(*[future.result() for future in [pool.submit(compile_it, "in a worker")]])
    """)
    assert by_process(trace) == {pids[0]: [("parent", "ok")], pids[1]: [("in a worker", "ok")]}


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_worker_that_dies_takes_nothing_else_with_it(record: Record, how: str) -> None:
    trace, pids = record(f"""
        for body, name in ((kill, "killed"), (leave, "left"), (compile_it, "well")):
            child = multiprocessing.get_context({how!r}).Process(target=body, args=(name,))
            child.start(); child.join(); print(child.pid, flush=True)
    """)
    assert by_process(trace) == {
        pids[0]: [("parent", "ok")],
        pids[1]: [("killed", "failed")],
        pids[2]: [("left", "ok")],
        pids[3]: [("well", "ok")],
    }
    assert trace.metadata["recording"] == {
        "complete": False,
        "reason": f"process {pids[1]} ended in the middle of a pass or PassContext",
    }


def test_a_forked_child_that_ends_the_block_too_does_not_write_the_output(record: Record) -> None:
    trace, pids = record("""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            print(child)
            assert not os.path.exists("x.pftrace")
        else:
            compile_it("in the child")
    if not child:
        os._exit(0)
    """)
    assert by_process(trace) == {pids[0]: [("parent", "ok")], pids[1]: [("in the child", "ok")]}


def test_a_child_that_leaves_the_pass_it_was_forked_in_does_not_disturb(record: Record) -> None:
    trace, pids = record("""
        def fork():
            global child
            child = os.fork()
            if not child:
                raise ValueError("through the passes that the parent began")
        try:
            compile_it("forks", fork)
        except Exception:
            compile_it("in the child")
            os._exit(0)
        os.waitpid(child, 0)
        print(child)
    """)
    assert by_process(trace) == {
        pids[0]: [("parent", "ok"), ("forks", "ok")],
        pids[1]: [("in the child", "ok")],
    }


def test_a_child_outlives_the_recording(tmp_path: Path, python: Python) -> None:
    """It compiles once the block has ended: nothing is said, and it is not in the trace."""
    (tmp_path / "script.py").write_text(
        SCRIPT
        % """
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.read(read, 1)
            compile_it("too late")
            os._exit(0)
    os.write(write, b"x")
    assert os.waitpid(child, 0)[1] == 0
    """
    )
    done = python("script.py")
    assert (done.returncode, done.stderr) == (0, "")
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert list(by_process(trace).values()) == [[("parent", "ok")]]


def test_an_instrument_in_a_forked_child_leaves_the_file_to_the_parent(
    tvm: Any, tmp_path: Path, python: Python
) -> None:
    program = """
import os, tvm, tilelang_trace, tilelang_trace.recording.instrument

@tvm.transform.module_pass(opt_level=0, name="p")
def run(mod, context):
    return mod

tilelang_trace.recording.instrument._SLOW_NS = 10**12  # written after each context
instrument = tilelang_trace.TraceInstrument("x.pftrace")
with tvm.transform.PassContext(instruments=[instrument]):
    run(tvm.IRModule({}))
os.remove("x.pftrace")
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert not os.path.exists("x.pftrace")
    print(os.getpid(), child)
with tvm.transform.PassContext(instruments=[instrument]):
    run(tvm.IRModule({}))
"""
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    parent, child = map(int, done.stdout.split())
    found = by_process(tilelang_trace.read(tmp_path / "x.pftrace"))
    assert found == {parent: [("p", "ok")] * 2, child: [("p", "ok")]}
