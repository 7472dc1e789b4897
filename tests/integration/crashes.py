"""A program that compiles at random, under recording, and dies; and a server that lets it do so
again and again, with TVM imported once.

What it really did stands in a log of its own (`crash_log`), which an instrument behind the
recorder's and the bodies of the passes write into memory that outlives the process.

    python -m tests.integration.crashes serve     a job a line on stdin, its end a line on stdout
    python crashes.py JOB                         one job, recorded by somebody else
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.crash_log import (
    BEGIN,
    CATCH,
    END,
    ENTER,
    FIELDS,
    LEAVE,
    NAMES,
    RAISE,
    REGION,
    THREADS,
)

ROOT = Path(__file__).parents[2]
"""What has to be on the path, so that this runs as a script."""

LONGEST_S = 20
"""What nobody kills ends by itself."""

EXCEPTIONS = {"MemoryError": MemoryError, "KeyError": KeyError, "SystemExit": SystemExit}


class Log:
    """What one thread did, one entry after the other, each whole or not there."""

    def __init__(self, memory: mmap.mmap, thread: int) -> None:
        self._memory = memory
        self._offset = thread * REGION
        self.height = 0
        """Contexts and passes that are open."""
        self.passes = 0
        """Passes that have begun."""

    def __call__(self, kind: int, value: int = 0) -> None:
        FIELDS.pack_into(self._memory, self._offset, 0, value, time.monotonic_ns())
        self._memory[self._offset] = kind
        self._offset += FIELDS.size


class Compile:
    """Random trees of passes, on one thread."""

    def __init__(self, log: Log, seed: str, die: Callable[[Log], None]) -> None:
        import tvm

        self.tvm = tvm
        self.log = log
        self.random = random.Random(seed)
        self.die = die
        self.module = tvm.IRModule({})

        @tvm.ir.instrument.pass_instrument
        class Truth:
            def run_before_pass(self, mod: Any, info: Any) -> None:
                log(BEGIN, NAMES.index(info.name))
                log.height += 1
                log.passes += 1

            def run_after_pass(self, mod: Any, info: Any) -> None:
                log(END)
                log.height -= 1

        self.truth = Truth()

    def run(self, most: int) -> None:
        """Compile until this many passes have begun."""
        until = time.monotonic() + LONGEST_S
        while self.log.passes < most and time.monotonic() < until:
            self.caught(self.context, self.tree(0))

    def caught(self, call: Callable[[Any], None], called: Any) -> None:
        """Call this pass, in this way; a ValueError ends here."""
        height = self.log.height
        try:
            call(called)
        except ValueError:
            self.log(CATCH, height)
            self.log.height = height

    def context(self, called: Any) -> None:
        """Call a pass in a PassContext."""
        with self.tvm.transform.PassContext(instruments=[self.truth]):
            self.log(ENTER)
            self.log.height += 1
            called(self.module)
        self.log(LEAVE)
        self.log.height -= 1

    def tree(self, level: int) -> Any:
        """A pass of a random kind, with random ones in it."""
        kind, name = self.random.random(), self.random.choice(NAMES)
        if level < 4 and self.random.random() < 0.3:
            inside = [self.tree(level + 1) for _ in range(self.random.randint(1, 3))]
            return self.tvm.transform.Sequential(inside, name=name)
        inner = self.tree(level + 1) if level < 5 and kind < 0.55 else None

        def body(mod: Any, context: Any) -> Any:
            self.die(self.log)
            if inner is None:
                if kind > 0.93:
                    self.log(RAISE)
                    raise ValueError(f"expected, {kind}")
            elif kind < 0.15:
                self.context(inner)
            elif kind < 0.3:
                self.caught(lambda inner: inner(mod), inner)
            elif kind < 0.4:
                self.caught(self.context, inner)
            else:
                inner(mod)
            return mod

        return self.tvm.transform.module_pass(body, opt_level=0, name=name)


def death(job: dict[str, Any]) -> Callable[[Log], None]:
    """What each pass calls: kills the process if it is this one's turn."""

    def die(log: Log) -> None:
        if log.passes < job.get("pass", 1 << 60):
            return
        if job["how"] == "SIGSEGV":
            ctypes.string_at(0)
        elif job["how"] == "os._exit":
            os._exit(7)
        else:
            log(RAISE)
            raise EXCEPTIONS[job["how"]]

    return die


def compile_and_die(job: dict[str, Any]) -> None:
    """Compile on some threads until that is over, one way or another."""
    with open(job["log"], "r+b") as stream:
        memory = mmap.mmap(stream.fileno(), THREADS * REGION)
    compiles = [
        Compile(Log(memory, number), f"{job['seed']} {number}", death(job))
        for number in range(job["threads"])
    ]
    threads = [
        threading.Thread(target=other.run, args=(job["most"],), name=f"worker {n}", daemon=True)
        for n, other in enumerate(compiles[1:], 1)
    ]
    for thread in threads:
        thread.start()
    compiles[0].run(job["most"])
    for thread in threads:
        thread.join()


def in_a_child(job: dict[str, Any]) -> None:
    """One job, recorded by `record`. With `bytes`, no file may be longer: the disk is full then."""
    import tilelang_trace
    from tilelang_trace.recording import journal

    journal.BLOCK_BYTES = job["block"]
    signal.alarm(2 * LONGEST_S)  # a handler of TVM's may hang, for one
    os.chdir(job["folder"])
    os.dup2(os.open("stderr", os.O_WRONLY | os.O_CREAT, 0o666), 2)
    if "bytes" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["bytes"], job["bytes"]))
    with tilelang_trace.record("out.pftrace"):
        compile_and_die(job)


def wait_for_an_entry(log: str) -> None:
    """Wait until something has been compiled."""
    with open(log, "rb") as stream:
        for _ in range(10_000):
            if os.pread(stream.fileno(), 1, 0) != b"\0":
                break
            time.sleep(0.001)


def serve() -> None:
    """Do what stdin says, each job in a child."""
    import tvm  # noqa: F401

    import tilelang_trace

    tilelang_trace.record("x.pftrace")  # imports what there is to import
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            try:
                in_a_child(job)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if "signal" in job:
            if job["begun"]:
                wait_for_an_entry(job["log"])
            time.sleep(job["delay"])
            os.kill(pid, job["signal"])
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        ended = {"pid": pid, "code": code, "died": time.monotonic_ns()}
        print(json.dumps({**job, **ended}), flush=True)


def one(job: dict[str, Any]) -> None:
    """One job in this process. A signal comes from a child, as from outside."""
    parent = os.getpid()
    ready, told = os.pipe()
    if "signal" in job and not os.fork():
        os.read(ready, 1)
        time.sleep(job["delay"])
        os.kill(parent, job["signal"])
        os._exit(0)
    import tvm  # noqa: F401

    os.write(told, b"x")
    compile_and_die(job)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also as a job of a shell
    serve() if sys.argv[1] == "serve" else one(json.loads(sys.argv[1]))
