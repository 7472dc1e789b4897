"""Bundles of compiles that really fail: packed, read back, and run again from the archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilelang_trace
from fixtures.record import ROOT
from tests.integration.test_reproducer import PYTHON_PASS, VERIFY_MEMORY

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def trace(python: Python, tmp_path: Path) -> Callable[[str], str]:
    """`trace(script)`: the path of the trace of a script that fails."""

    def record(script: str) -> str:
        (tmp_path / "script.py").write_text(script)
        done = python("-m", "tilelang_trace", "run", "-o", "x.pftrace", "script.py")
        assert done.returncode == 1, done.stderr
        return "x.pftrace"

    return record


def members(archive: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if not name.endswith(("png", "pftrace"))]
        return {name: opened.read(name).decode() for name in names}


def test_a_failure_in_cpp_is_had_again_from_the_archive(
    python: Python, trace: Callable[[str], str], tmp_path: Path
) -> None:
    done = python("-m", "tilelang_trace", "bundle", trace(VERIFY_MEMORY), "-o", "r.zip", "--verify")
    assert done.returncode == 0, done.stderr
    assert "it ended in the same error, RuntimeError: Memory verification failed" in done.stderr
    found = members(tmp_path / "r.zip")
    assert "it ended in the same error" in found[".report/README.md"]
    assert "tilelang-trace reproduce r.zip" in found[".report/README.md"]
    assert "T.prim_func" in found[".report/ir/before.py"]
    assert str(tmp_path) not in "".join(found.values())
    # The script stands alone.
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    alone = python(str(tmp_path / "unpacked/.report/reproducer.py"))
    assert alone.returncode == 1
    assert "Memory verification failed with the following errors" in alone.stderr
    again = python("-m", "tilelang_trace", "reproduce", "r.zip", "--yes")
    assert again.returncode == 0, again.stderr


def test_with_other_names_it_still_fails(
    python: Python, trace: Callable[[str], str], tmp_path: Path
) -> None:
    path = trace(
        VERIFY_MEMORY.replace("def main(", "def secret_kernel(").replace("main}", "secret_kernel}")
    )
    command = ["bundle", path, "-o", "r.zip", "--verify", "--redact", "names"]
    done = python("-m", "tilelang_trace", *command)
    assert done.returncode == 0, done.stderr
    found = members(tmp_path / "r.zip")
    assert "secret_kernel" not in "".join([*found, *found.values()])
    assert "kernel_" in found[".report/ir/before.py"]


def test_a_pass_of_the_users_own_is_packed_without_a_script(
    python: Python, trace: Callable[[str], str], tmp_path: Path
) -> None:
    done = python("-m", "tilelang_trace", "bundle", trace(PYTHON_PASS), "-o", "r.zip", "--verify")
    assert done.returncode == 0, done.stderr
    found = members(tmp_path / "r.zip")
    assert ".report/reproducer.py" not in found and ".report/ir/before.py" in found
    (why,) = (line for line in found[".report/README.md"].splitlines() if "no reproducer" in line)
    assert why.startswith("There is no reproducer: ") and "it is defined in Python" in why


def test_what_comes_back_is_read_by_every_command(
    python: Python, trace: Callable[[str], str], tmp_path: Path
) -> None:
    path = trace(VERIFY_MEMORY)
    command = ["bundle", path, "-o", "r.zip", "--redact", "none"]
    assert python("-m", "tilelang_trace", *command).returncode == 0
    assert tilelang_trace.read(tmp_path / "r.zip") == tilelang_trace.read(tmp_path / path)
    done = python("-m", "tilelang_trace", "report", "r.zip", "--format", "json")
    assert json.loads(done.stdout)["failures"][0]["name"] == "tirx.VerifyMemory"
    done = python("-m", "tilelang_trace", "compare", path, "r.zip", "--format", "json")
    assert json.loads(done.stdout)["total"]["delta_ns"] == 0
    assert python("-m", "tilelang_trace", "convert", "r.zip", "-o", "r.json").returncode == 0


@pytest.mark.tilelang
@pytest.mark.skipif(not find_spec("tilelang"), reason="TileLang is not installed")
def test_a_tilelang_failure(tmp_path: Path) -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tilelang_trace", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    script = str(ROOT / "fixtures/compiles/tilelang_fails.py")
    assert command("run", "-o", "x.pftrace", script).returncode == 1
    done = command("bundle", "x.pftrace", "-o", "r.zip", "--verify")
    assert done.returncode == 0, done.stderr
    assert "it ended in the same error" in done.stderr
    assert "import tilelang" in members(tmp_path / "r.zip")[".report/reproducer.py"]
