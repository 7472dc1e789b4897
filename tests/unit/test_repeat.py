"""`run --repeat`: several runs, each with a file of its own; stops at one that fails. No TVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tilelang_trace
from tilelang_trace.formats import naming

COUNT = """
import os, sys
from pathlib import Path
runs = Path("runs")
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
print(len(runs.read_text()), os.environ["TILELANG_DISABLE_CACHE"], *sys.argv[1:])
"""
"""A script that knows how often it has run."""


def repeat(folder: Path, *options: str, script: str = COUNT) -> tuple[int, str, list[str]]:
    """Exit code, stdout and the lines of stderr."""
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", *options, "script.py", "--own", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def traces(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name not in ("script.py", "runs"))


def test_each_run_has_a_file_that_says_how_it_was_recorded(tmp_path: Path) -> None:
    code, out, err = repeat(tmp_path, "--repeat", "3", "-o", "mlp.json.gz")
    assert (code, out) == (0, "1 1 --own 1\n2 1 --own 1\n3 1 --own 1\n")
    assert traces(tmp_path) == ["mlp.1.json.gz", "mlp.2.json.gz", "mlp.3.json.gz"]
    assert err == [
        "tilelang-trace: wrote 3 files, mlp.1.json.gz to mlp.3.json.gz: each no pass ran "
        "(the script did not import TVM)",
        "tilelang-trace: to compare them with others: tilelang-trace compare "
        "--base mlp.[0-9]*.json.gz --new ...",
    ]
    recording = tilelang_trace.read(tmp_path / "mlp.2.json.gz").metadata["recording"]
    assert recording == {
        "complete": True,
        "reason": "",
        "run": 2,
        "runs": 3,
        "tilelang_cache": "off",
    }


def test_it_stops_at_a_run_that_fails(tmp_path: Path) -> None:
    script = f"{COUNT}\nsys.exit(7 * (len(runs.read_text()) == 2))"
    code, _, err = repeat(tmp_path, "--repeat", "5", script=script)
    assert code == 7
    assert traces(tmp_path) == ["script.1.pftrace", "script.2.pftrace"]
    assert err[0].startswith("tilelang-trace: wrote 2 files, script.1.pftrace to script.2.pftrace")
    assert err[1:] == ["tilelang-trace: stopped: run 2 of 5 failed (exit code 7)"]


def test_a_flaky_failure_is_waited_for(tmp_path: Path) -> None:
    script = f"{COUNT}\nsys.exit(len(runs.read_text()) == 3)"
    code, _, err = repeat(tmp_path, "--repeat", "9", "--keep-on-failure", script=script)
    assert code == 1
    assert traces(tmp_path) == ["script.3.pftrace"]
    assert err[-1] == "tilelang-trace: stopped: run 3 of 9 failed (exit code 1)"


def test_what_an_earlier_recording_left_is_told(tmp_path: Path) -> None:
    (tmp_path / "script.3.pftrace").write_text("")
    _, _, err = repeat(tmp_path, "--repeat", "2")
    assert err[1] == (
        "tilelang-trace: script.3.pftrace is there too, from an earlier recording: it does not "
        "belong to these"
    )


def test_a_run_that_can_t_be_written_is_the_last(tmp_path: Path) -> None:
    script = f"{COUNT}\nos.mkdir('script.1.pftrace')"
    code, out, err = repeat(tmp_path, "--repeat", "3", script=script)
    assert (code, out) == (0, "1 1 --own 1\n")
    (line,) = err
    assert "can't be written" in line


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_a_number_that_makes_no_sense_runs_nothing(tmp_path: Path, number: str) -> None:
    code, out, err = repeat(tmp_path, "--repeat", number)
    assert (code, out, len(err)) == (2, "", 1)
    assert traces(tmp_path) == []


def test_a_number_stands_before_the_ending() -> None:
    assert naming.numbered(Path("d/a.b.pftrace.gz"), 12) == Path("d/a.b.12.pftrace.gz")
    assert naming.numbered(Path("{kernel}.json"), 1) == Path("{kernel}.1.json")
