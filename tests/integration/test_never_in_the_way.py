"""Where the system lacks something, before or while something is recorded, the compile is as it
would be by itself, and at most one line on stderr says what is missing.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.recording.finish import read_journals

pytestmark = pytest.mark.crashes

Make = Callable[..., Any]
Python = Callable[..., subprocess.CompletedProcess[str]]
OUT = "out.pftrace"


@dataclass(frozen=True)
class Outcome:
    """What there is to see of a process that compiled."""

    code: int
    result: str
    """What came out of the compile: the passes that ran, or the exception."""
    stderr: str

    def lines(self) -> list[str]:
        """What we said."""
        return [line for line in self.stderr.splitlines() if line.startswith("tilelang-trace:")]


Compile = Callable[..., Outcome]


@pytest.fixture
def compile_(tvm: Any, make_pass: Make, module: Any, tmp_path: Path) -> Compile:
    """`compile_(way, before, during)`: compiles in a forked process, recorded in this way (None:
    not at all), where `before` happens first and `during` in a pass.
    """

    def compile_it(instruments: list[Any], during: Callable[[], object]) -> str:
        ran: list[str] = []

        def body(name: str, does: Callable[[], object] = lambda: None) -> Any:
            def run(mod: Any) -> None:
                ran.append(name)
                does()

            return make_pass(name, run)

        passes = [body("first"), body("second", during), body("third")]
        try:
            with tvm.transform.PassContext(instruments=instruments):
                tvm.transform.Sequential(passes, name="all")(module)
                on_a_thread(lambda: body("fourth")(module))
        except BaseException as error:
            ran.append(f"{type(error).__name__}: {error}")
        return " ".join(ran)

    # So that a process that can't open any file has them.
    _ = tilelang_trace.record, tilelang_trace.enable, tilelang_trace.TraceInstrument

    def recorded(way: str | None, path: str, during: Callable[[], object]) -> str:
        if way == "record":
            with tilelang_trace.record(path):
                return compile_it([], during)
        if way == "enable":
            tilelang_trace.enable(path)
            result = compile_it([], during)
            tilelang_trace.disable()
            return result
        if way == "instrument":
            return compile_it([tilelang_trace.TraceInstrument(path)], during)
        return compile_it([], during)

    def run(
        way: str | None,
        before: Callable[[], object] = lambda: None,
        during: Callable[[], object] = lambda: None,
    ) -> Outcome:
        folder = tmp_path / str(way)
        folder.mkdir()
        (result_end, result), (errors_end, errors) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                os.chdir(folder)
                os.dup2(errors, 2)
                sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
                before()
                os.write(result, recorded(way, OUT, during).encode())
                code = 0
            except BaseException:
                os.write(errors, traceback.format_exc().encode())
            finally:
                os._exit(code)
        os.close(result)
        os.close(errors)
        with open(result_end) as result_stream, open(errors_end) as errors_stream:
            said, ran = errors_stream.read(), result_stream.read()
        return Outcome(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ran, said)

    return run


def on_a_thread(body: Callable[[], object]) -> None:
    """Do this on a thread that is new."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def no_file_may_grow() -> None:
    """As on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def few_descriptors(count: int) -> Callable[[], None]:
    """So many files can be opened, and no more."""

    def take() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        taken: list[int] = []
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for descriptor in taken[:count]:
            os.close(descriptor)

    return take


def delete_the_folder() -> None:
    """That which the process is in."""
    shutil.rmtree(os.getcwd())


def delete_the_journals() -> None:
    """Somebody tidies up."""
    for folder in Path.cwd().glob("*.journal"):
        shutil.rmtree(folder)


def close_stderr() -> None:
    """As a daemon does."""
    os.close(2)


def no_stderr() -> None:
    """As in a program with windows."""
    sys.stderr = None  # type: ignore[assignment]


def closed_stderr() -> None:
    """Python's own."""
    sys.stderr.close()


def strange_arguments() -> None:
    """A command line whose bytes are no UTF-8, and such a thread."""
    sys.argv = ["\udcff.py"]
    sys.orig_argv = ["python", "\udcff.py", "\udc80"]
    threading.current_thread().name = "worker \udcff"


def passes_in(folder: Path) -> list[str]:
    """The passes that ended well, in the output or else in the journals."""
    output, journals = folder / OUT, folder / f"{OUT}.journal"
    if output.is_file():
        trace = tilelang_trace.read(output)
    elif journals.exists():
        trace = read_journals(journals)
    else:
        return []
    rows = range(len(trace.slices))
    statuses = trace.arguments.values("status")
    return [trace.name(r) for r in rows if trace.category(r) == "pass" and statuses[r] == "ok"]


PASSES = ["all", "first", "second", "third", "fourth"]
FEW = {f"{count} files can be opened": few_descriptors(count) for count in range(3)}

BEFORE: dict[str, Callable[[], object]] = {
    "a full disk": no_file_may_grow,
    "no such folder": delete_the_folder,
    "strange arguments": strange_arguments,
    **FEW,
}

DURING: dict[str, Callable[[], object]] = {
    "a full disk": no_file_may_grow,
    "no such folder": delete_the_folder,
    "no journals": delete_the_journals,
    "a folder in its place": lambda: os.mkdir(OUT),
    **FEW,
}

WAYS = ("record", "enable", "instrument")


def compare(recorded: Outcome, plain: Outcome) -> list[str]:
    """They are the same but for one line of ours, which is returned."""
    assert (recorded.code, recorded.result) == (plain.code, plain.result)
    assert (plain.code, plain.result, plain.stderr) == (0, " ".join(PASSES[1:]), "")
    lines = recorded.stderr.splitlines()
    assert len(lines) <= 1
    assert all(line.startswith("tilelang-trace: ") for line in lines)
    return lines


def all_of(way: str) -> list[str]:
    """The passes that are there if nothing is missing: an instrument sees its own thread only."""
    return PASSES[:-1] if way == "instrument" else PASSES


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", BEFORE)
def test_what_is_missing_when_it_begins(
    compile_: Compile, tmp_path: Path, way: str, what: str
) -> None:
    lines = compare(compile_(way, BEFORE[what]), compile_(None, BEFORE[what]))
    if what == "strange arguments":
        assert (lines, passes_in(tmp_path / way)) == ([], all_of(way))
    else:
        assert re.search("nothing is recorded|recording stopped", lines[0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", DURING)
def test_what_is_missing_later(compile_: Compile, tmp_path: Path, way: str, what: str) -> None:
    during = DURING[what]
    lines = compare(compile_(way, during=during), compile_(None, during=during))
    if what in ("no such folder", "no journals"):
        assert len(lines) == 1
    else:
        assert passes_in(tmp_path / way) == all_of(way)
        written = (tmp_path / way / OUT).is_file()
        assert written or "what was recorded is in" in lines[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", [close_stderr, no_stderr, closed_stderr])
def test_nobody_to_tell(compile_: Compile, way: str, how: Callable[[], object]) -> None:
    def before() -> None:
        how()
        no_file_may_grow()

    recorded, plain = compile_(way, before), compile_(None, before)
    assert recorded == plain
    assert plain == Outcome(0, " ".join(PASSES[1:]), "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(
    make_pass: Make, module: Any, small_disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran: list[Any] = []
    with tilelang_trace.record(small_disk / OUT):
        for number in range(60):
            make_pass(f"{number} {'x' * 50_000}", ran.append)(module)
    assert len(ran) == 60
    (line,) = capfd.readouterr().err.splitlines()
    assert "No space left on device" in line
    assert not (small_disk / OUT).exists(), "there is no room for it"
    numbers = [int(name.split()[0]) for name in passes_in(small_disk)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 20


def test_near_the_limit_of_recursion(make_pass: Make, module: Any, tmp_path: Path) -> None:
    """TVM needs 7 frames for a pass in Python, and the recorder twice as many."""

    def frames() -> int:
        frame, count = sys._getframe(1), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1  # type: ignore[assignment]
        return count

    def down(levels: int) -> None:
        if levels > 0:
            down(levels - 1)
        else:
            make_pass("deep")(module)

    with tilelang_trace.record(tmp_path / OUT):
        make_pass("shallow")(module)
        down(sys.getrecursionlimit() - frames() - 25)
    assert passes_in(tmp_path) == ["shallow", "deep"]


SCRIPTS = {
    "a daemon thread in a pass": """
import threading, time
inside = threading.Event()
pass_ = lambda: compile_it("of the thread", lambda: (inside.set(), time.sleep(100)))
threading.Thread(target=pass_, daemon=True).start()
inside.wait()
compile_it("last")
print("end")
""",
    "a fork in a pass": """
def fork():
    global child
    child = os.fork()
compile_it("forks", fork)
compile_it("last")
if child:
    print("child:", os.waitpid(child, 0)[1], flush=True)
print("end")
""",
    "the folder is gone": """
import shutil
def delete():
    shutil.rmtree(os.getcwd())
compile_it("last", delete)
print("end")
""",
    "nobody listens": """
os.close(2)
compile_it("last")
print("end")
sys.exit(3)
""",
    "os._exit": """
compile_it("last", lambda: (print("end", flush=True), os._exit(3)))
""",
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_script(tmp_path: Path, python: Python, what: str) -> None:
    """By itself, with the variable, and under the launcher, where all is to be had."""
    (tmp_path / "script.py").write_text(
        "import os, sys\nfrom compiles import compile_it\nos.chdir(sys.argv[1])\n" + SCRIPTS[what]
    )

    def run(way: str, *before: str, **environment: str) -> tuple[Any, ...]:
        (tmp_path / way).mkdir()
        out = str(tmp_path / way / OUT)
        before = tuple(word.replace("OUT", out) for word in before)
        environment = {name: value.replace("OUT", out) for name, value in environment.items()}
        script = str(tmp_path / "script.py")
        done = python(*before, script, str(tmp_path / way), TMPDIR="/missing", **environment)
        lines = done.stderr.splitlines()
        assert all(line.startswith("tilelang-trace: ") for line in lines)
        if way != "run":  # which says what it has written
            assert len(lines) <= (way == "variable")
        return done.returncode, done.stdout

    plain = run("plain")
    assert "end" in plain[1]
    assert run("variable", TILELANG_TRACE="OUT") == plain
    assert run("run", "-m", "tilelang_trace", "run", "-o", "OUT") == plain
    if what != "the folder is gone":
        assert plain[0] == 3 or "last" in passes_in(tmp_path / "run")
