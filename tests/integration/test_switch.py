"""`enable` and `disable`: recording without a `with` block."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def nothing_stays_enabled() -> Iterator[None]:
    yield
    tilelang_trace.disable()


def pass_names(path: Path) -> list[str]:
    trace = tilelang_trace.read(path)
    return [trace.name(row) for row in range(len(trace.slices)) if trace.category(row) == "pass"]


def test_what_runs_between_them_is_recorded(make_pass: Make, module: Any, tmp_path: Path) -> None:
    make_pass("before")(module)
    assert tilelang_trace.enable(tmp_path / "x.pftrace") == tmp_path / "x.pftrace"
    make_pass("between")(module)
    assert tilelang_trace.disable() == tmp_path / "x.pftrace"
    make_pass("after")(module)
    assert pass_names(tmp_path / "x.pftrace") == ["between"]


def test_enabled_again_with_the_same_path_it_goes_on(
    make_pass: Make, module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tilelang_trace.enable("x.pftrace")
    make_pass("first")(module)
    tilelang_trace.enable(tmp_path / "x.pftrace")
    make_pass("second")(module)
    tilelang_trace.disable()
    assert pass_names(tmp_path / "x.pftrace") == ["first", "second"]
    assert os.listdir(tmp_path) == ["x.pftrace"]


def test_enabled_with_another_path_the_first_is_written(
    make_pass: Make, module: Any, tmp_path: Path
) -> None:
    tilelang_trace.enable(tmp_path / "x.pftrace")
    make_pass("first")(module)
    tilelang_trace.enable(tmp_path / "y.pftrace")
    assert pass_names(tmp_path / "x.pftrace") == ["first"]
    make_pass("second")(module)
    tilelang_trace.disable()
    assert pass_names(tmp_path / "y.pftrace") == ["second"]


def test_a_bad_path_leaves_what_is_enabled(make_pass: Make, module: Any, tmp_path: Path) -> None:
    tilelang_trace.enable(tmp_path / "x.pftrace")
    with pytest.raises(tilelang_trace.UserError, match="no format has this ending"):
        tilelang_trace.enable(tmp_path / "x.txt")
    make_pass("p")(module)
    assert tilelang_trace.disable() == tmp_path / "x.pftrace"


def test_disable_without_enable_is_no_mistake() -> None:
    assert tilelang_trace.disable() is None


def test_at_the_end_of_the_process_it_is_written(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    program = (
        "import tilelang_trace; from compiles import compile_it\n"
        "tilelang_trace.enable('x.pftrace'); compile_it('p')\n"
    )
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert pass_names(tmp_path / "x.pftrace") == ["p"]
