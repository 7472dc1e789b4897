"""Progress on a terminal: what is said while work goes on, what is shown of it, and where not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import synthetic
from tilelang_trace import long_work
from tilelang_trace.commands import main
from tilelang_trace.formats import files
from tilelang_trace.long_work import Work, watched

SLICES = 30_000


class Recorded(Work):
    """Keeps all that the work says: of each stage its name, total and unit, and how far it came."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[tuple[str, int, str, list[int]]] = []

    def stage(self, what: str, total: int, unit: str) -> None:
        super().stage(what, total, unit)
        self.stages.append((what, total, unit, []))

    def reached(self, done: int) -> None:
        super().reached(done)
        self.stages[-1][3].append(self.now.done)


@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.json.gz", "x.events.jsonl"])
def test_writing_tells_of_all_slices(name: str, tmp_path: Path) -> None:
    with watched(Recorded()) as work:
        files.write(synthetic.trace(SLICES), tmp_path / name)
    ((what, total, unit, done),) = work.stages
    assert (what, total, unit) == (f"writing {name}", SLICES, "slices")
    assert done == sorted(done) and len(done) > 1
    # A log has passes only.
    assert done[-1] == SLICES or name.endswith("jsonl")


@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.json.gz", "x.pftrace.gz"])
def test_reading_tells_of_all_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    files.write(synthetic.trace(SLICES), path)
    with watched(Recorded()) as work:
        files.read(path)
    content = files.content(path)
    assert [stage[0] for stage in work.stages] == [
        f"opening {name}",
        f"reading {name}",
        f"putting the slices of {name} in order",
    ]
    _, total, unit, done = work.stages[1]
    assert (total, unit) == (len(content), "bytes")
    assert done == sorted(done) and len(done) > 1
    assert 0.95 * total < done[-1] <= total  # the envelope of a JSON file is read first


def test_a_stage_never_says_more_than_all() -> None:
    work = Work()
    work.stage("reading", 10, "bytes")
    work.reached(12)
    assert work.now.done == 10


def test_nobody_looks_when_the_block_is_over() -> None:
    with watched(Recorded()) as work:
        long_work.stage("in it")
    long_work.stage("behind it")
    long_work.reached(1)
    assert [stage[0] for stage in work.stages] == ["in it"]


COMMAND = """
import sys
if sys.stdin.isatty():  # what is typed must not show
    import termios
    mode = termios.tcgetattr(0)
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, mode)
from tilelang_trace import long_work
from tilelang_trace.commands import progress
progress.AFTER_S = float(sys.argv[1])
try:
    with progress.shown():
        long_work.stage("reading größe[1].json", 40_000_000, long_work.BYTES)
        long_work.reached(10_000_000)
        sys.stdin.readline()
        long_work.stage("writing out.json", 5_000_000, long_work.SLICES)
        long_work.reached(1_250_000)
        sys.stdin.readline()
        long_work.stage("comparing")
        sys.stdin.readline()
        if "fail" in sys.argv:
            raise ValueError
except ValueError:
    pass
print("rich" in sys.modules, "the end")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("ending", ["ends", "fail"])
def test_on_a_terminal_it_shows_what_is_done_and_how_far_it_is(ending: str) -> None:
    from tests.terminal import Terminal

    terminal = Terminal([sys.executable, "-c", COMMAND, "0", ending], columns=100)

    def is_shown(*texts: str) -> bool:
        return any(all(text in row for text in texts) for row in terminal.rows())

    terminal.read_until(lambda: is_shown("reading größe[1].json", "10 of 40 MB", "0:00:0"))
    terminal.type(b"\n")
    terminal.read_until(lambda: is_shown("writing out.json", "1,250,000 of 5,000,000 slices"))
    assert not is_shown("reading")
    terminal.type(b"\n")
    terminal.read_until(lambda: is_shown("comparing") and not is_shown("slices"))
    terminal.type(b"\n")
    assert terminal.wait() == 0
    assert not is_shown("comparing") and is_shown("True the end")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("after", "term"), [("100", "xterm-256color"), ("0", "dumb")])
def test_work_that_is_short_and_terminals_that_can_not_show_nothing(after: str, term: str) -> None:
    from tests.terminal import Terminal

    command = [sys.executable, "-c", COMMAND, after, "ends"]
    terminal = Terminal(command, columns=100, env={"TERM": term})
    terminal.type(b"\n\n\n")
    assert terminal.wait() == 0
    assert terminal.output.replace(b"\r\n", b"") == b"False the end"


def test_elsewhere_it_shows_nothing_and_imports_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "0", "ends"], capture_output=True, input=b"\n\n\n"
    )
    assert (done.stdout.split(), done.stderr) == ([b"False", b"the", b"end"], b"")


def test_commands_tell_what_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from contextlib import contextmanager

    from tilelang_trace.commands import progress

    old, new = tmp_path / "old.json", tmp_path / "new.pftrace"
    files.write(synthetic.trace(200), old)
    work = Recorded()

    @contextmanager
    def shown():
        capsys.readouterr()
        with watched(work):
            yield
        assert not any(capsys.readouterr()), "printed while it was shown"

    monkeypatch.setattr(progress, "shown", shown)

    def told(*arguments: object) -> list[str]:
        work.stages.clear()
        assert main([str(argument) for argument in arguments]) == 0
        capsys.readouterr()
        return [what for what, *_ in work.stages]

    assert told("convert", old, "-o", new)[-1] == "writing new.pftrace"
    assert told("report", new) == [
        "opening new.pftrace",
        "reading new.pftrace",
        "putting the slices of new.pftrace in order",
        "adding up",
    ]
    stages = told("compare", old, new, "-o", tmp_path / "both.pftrace")
    assert [stage for stage in stages if not stage.startswith(("opening", "putting the"))] == [
        "reading old.json",
        "reading new.pftrace",
        "comparing",
        "adding up",
        "putting both on one timeline",
        "writing both.pftrace",
    ]
