"""A recording is killed at random moments; each time the trace has all that had happened.

`CRASHES=500` in the environment makes it 500 moments, `CRASHES_SEED` makes it others.
"""

from __future__ import annotations

import concurrent.futures
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.crash_log import REGION, THREADS, check, read_log, rows_of
from tests.integration.crashes import ROOT
from tilelang_trace.recording.finish import ProcessEnd, read_journals
from tilelang_trace.trace.model import Trace

pytestmark = pytest.mark.crashes

COUNT = int(os.environ.get("CRASHES", "200"))
SEED = os.environ.get("CRASHES_SEED", "4")

SIGNALS = ("SIGKILL", "SIGTERM", "SIGABRT", "SIGINT")
"""They come from outside, at any moment. (With SIGSEGV, TVM's handler may wait for ever for a lock
of the memory allocator that the interrupted thread holds.)
"""

DEATHS = ("SIGKILL", "SIGTERM", "SIGABRT", "SIGSEGV", "os._exit")
EXCEPTIONS = ("MemoryError", "KeyError", "SystemExit")
WAYS = (*DEATHS, *EXCEPTIONS, "SIGINT", "a full disk")

Job = dict[str, Any]


def a_job(folder: Path, way: str, number: int) -> Job:
    """Something to compile until it dies in this way: at a time, mostly after something was
    compiled, or in a pass.
    """
    chance = random.Random(f"{SEED} {way} {number}")
    folder.mkdir()
    with open(folder / "log", "wb") as stream:
        stream.truncate(THREADS * REGION)
    job = {"seed": f"{SEED} {way} {number}", "folder": str(folder), "log": str(folder / "log")}
    job |= {"how": way, "most": 50_000, "threads": 1, "block": chance.choice([1 << 14, 1 << 20])}
    if way in DEATHS:
        job |= {"threads": chance.choice([1, 1, THREADS])}
    if way in SIGNALS:
        job |= {"signal": signal.Signals[way], "delay": chance.uniform(0, 0.04)}
        job |= {"begun": way == "SIGINT" or chance.random() < 0.9}  # Python's start may swallow it
    elif way == "a full disk":
        job |= {"block": 1 << 14, "bytes": chance.randint(1 << 15, 1 << 16), "most": 1_000}
    else:
        job |= {"pass": int(1.5 ** chance.uniform(0, 14))}
    return job


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[list[Job]], Iterator[Any]]]:
    """Does jobs, and tells how each one's process ended."""
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.integration.crashes", "serve"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:

        def do(jobs: list[Job]) -> Iterator[Any]:
            assert server.stdin is not None
            assert server.stdout is not None
            print(*map(json.dumps, jobs), sep="\n", file=server.stdin, flush=True)
            for job in jobs:
                # Those of a test that failed in the middle are passed by.
                while (ended := json.loads(server.stdout.readline()))["folder"] != job["folder"]:
                    pass
                yield ended

        yield do


@pytest.fixture
def crashes(serve: Any, tmp_path: Path) -> Callable[[str], Iterator[tuple[Path, Any]]]:
    """The folder and the end of each process that dies in this way. What is in a folder stays only
    if the test fails.
    """

    def run(way: str) -> Iterator[tuple[Path, Any]]:
        folders = [tmp_path / str(number) for number in range(max(1, COUNT // len(WAYS)))]
        jobs = [a_job(folder, way, number) for number, folder in enumerate(folders)]
        for folder, ended in zip(folders, serve(jobs)):
            yield folder, ended
            shutil.rmtree(folder)

    return run


Crashes = Callable[[str], Iterator[tuple[Path, Any]]]


def said(folder: Path) -> list[str]:
    """What we said on stderr."""
    stderr = folder / "stderr"
    lines = stderr.read_text().splitlines() if stderr.exists() else []
    return [line for line in lines if line.startswith("tilelang-trace:")]


def recorded(folder: Path, end: ProcessEnd | None = None) -> Trace:
    """What there is: the output, or else the journals."""
    output, journals = folder / "out.pftrace", folder / "out.pftrace.journal"
    if output.exists():
        assert not journals.exists()
        return tilelang_trace.read(output)
    return read_journals(journals, end)


def innermost(job: Job) -> tuple[str, ...]:
    """Statuses of the innermost slice of each thread: of several, only one has crashed, and that
    one may have had none.
    """
    return ("failed", "incomplete") if job["threads"] > 1 else ("failed",)


@pytest.mark.parametrize("way", DEATHS)
def test_a_process_that_dies_has_left_all_it_did(crashes: Crashes, way: str) -> None:
    code = 7 if way == "os._exit" else -signal.Signals[way]
    for number, (folder, ended) in enumerate(crashes(way)):
        end = ProcessEnd(ended["pid"], ended["died"], code, "" if code > 0 else way)
        trace = recorded(folder, end if number % 2 else None)
        # faulthandler may crash itself when it looks at a thread that goes on meanwhile.
        assert ended["code"] in ({code, -signal.SIGSEGV} if way == "SIGABRT" else {code})
        for thread, told in enumerate(read_log(folder / "log")):
            check(told, rows_of(trace, thread), ended["died"], innermost=innermost(ended))
        assert said(folder) == []


@pytest.mark.parametrize("way", EXCEPTIONS)
def test_an_exception_that_ends_it_went_through_all_that_ran(crashes: Crashes, way: str) -> None:
    for folder, ended in crashes(way):
        assert ended["code"] == 1
        found = rows_of(recorded(folder), 0)
        (told, *_) = read_log(folder / "log")
        check(told, found, ended["died"])
        running = [found[told.rows.index(row)] for row in told.open]
        assert {row["error"]["cause"] for row in running} == {"exception"}
        # TVM makes a RuntimeError of what is no Exception.
        assert {row["error"]["type"] for row in running} <= {way, "RuntimeError"}
        assert said(folder) == []


def test_ctrl_c_ends_what_ran(crashes: Crashes) -> None:
    for folder, ended in crashes("SIGINT"):
        # TVM crashes if it strikes while an exception is handed over, with us or without.
        assert ended["code"] in (1, -signal.SIGSEGV)
        (told, *_) = read_log(folder / "log")
        check(told, rows_of(recorded(folder), 0), ended["died"], interrupted=True)
        assert said(folder) == [] or len(told.rows) < 2, "it says if no pass ran"


def test_a_disk_that_is_full_ends_the_recording_and_nothing_else(crashes: Crashes) -> None:
    for folder, ended in crashes("a full disk"):
        assert ended["code"] == 0
        trace = recorded(folder)
        assert os.strerror(errno.EFBIG) in trace.metadata["recording"]["reason"]
        found = rows_of(trace, 0)
        stopped = [row.get("error", {}).get("cause") == "detached" for row in found]
        last = max(row["begin" if cut else "end"] for row, cut in zip(found, stopped))
        (told, *_) = read_log(folder / "log", before=last)
        check(told, found, ended["died"], innermost=("incomplete",))
        (line,) = said(folder)
        assert "recording stopped" in line


def test_under_the_launcher_it_is_in_the_output(tmp_path: Path) -> None:
    """Some at a time: each imports TVM."""
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    ways = DEATHS * max(1, COUNT // 100)
    jobs = [a_job(tmp_path / str(number), way, number) for number, way in enumerate(ways)]
    script = str(ROOT / "tests/integration/crashes.py")

    def run(job: Job) -> int:
        command = ["-m", "tilelang_trace", "run", "-o", "out.pftrace"]
        with open(Path(job["folder"], "stderr"), "wb") as stderr:
            return subprocess.run(
                [sys.executable, *command, script, json.dumps(job)],
                cwd=job["folder"],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stderr=stderr,
                check=False,
                timeout=100,
            ).returncode

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(run, jobs))
    for way, job, code in zip(ways, jobs, codes):
        if way == "SIGABRT" and code == 128 + signal.SIGSEGV:
            way = "SIGSEGV"  # faulthandler crashed when it looked at a thread that went on
        assert code == (7 if way == "os._exit" else 128 + signal.Signals[way])
        folder = Path(job["folder"])
        trace = recorded(folder)
        for thread, told in enumerate(read_log(folder / "log")):
            found = rows_of(trace, thread)
            check(told, found, 1 << 63, innermost=innermost(job))
            died = [row["error"] for row in found if row["status"] != "ok"]
            types = {error["type"] for error in died if error["cause"] != "exception"}
            assert types <= {"" if way == "os._exit" else way}
        assert trace.metadata["exit"]["code"] == (7 if way == "os._exit" else -signal.Signals[way])
