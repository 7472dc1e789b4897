"""The magic `%%tilelang_trace`, in IPython without a notebook around it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.conftest import COMPILES

interactive = pytest.importorskip(
    "IPython.core.interactiveshell", reason="IPython is not installed"
)


@pytest.fixture
def shell(tvm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell whose folder is `tmp_path`, with the extension loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    interactive.InteractiveShell.clear_instance()
    shell = interactive.InteractiveShell.instance(colors="nocolor")
    exec(COMPILES, shell.user_ns)
    assert shell.run_cell("%load_ext tilelang_trace").success
    yield shell
    interactive.InteractiveShell.clear_instance()


def statuses(path: str) -> dict[str, str]:
    """The status of each pass of a file."""
    trace = tilelang_trace.read(path)
    return {
        trace.name(row): trace.arguments.of(row)["status"]
        for row in range(len(trace.slices))
        if trace.category(row) == "pass"
    }


def written() -> list[str]:
    return [name for name in sorted(os.listdir()) if not name.startswith(".")]


def test_a_cell_is_recorded_and_is_a_cell_as_before(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shell.run_cell(
        "%%tilelang_trace x.pftrace\nwords = !echo some words\npid = compile_it('p')\nwords + [1]"
    )
    assert result.success
    assert result.result == ["some words", 1]
    assert shell.user_ns["pid"] == os.getpid()
    assert statuses("x.pftrace") == {"p": "ok"}
    out = capsys.readouterr().out
    path = os.path.abspath("x.pftrace")
    assert f"wrote {path}; to see it: tilelang-trace open {path} (or drag the file into" in out


def test_a_failing_cell_fails_and_still_shows_its_trace(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shell.run_cell("%%tilelang_trace x.json\ncompile_it('p', lambda: 1 / 0)")
    assert not result.success
    assert "division by zero" in str(result.error_in_exec)
    assert statuses("x.json") == {"p": "failed"}
    out = capsys.readouterr().out
    assert "wrote " in out
    assert "----> 1 compile_it('p', lambda: 1 / 0)" in out, "the traceback shows the cell"


def test_without_a_name_the_file_has_the_number_of_the_cell(shell: Any) -> None:
    shell.execution_count = 7
    shell.run_cell("%%tilelang_trace\ncompile_it('p');")
    assert written() == ["cell-7.pftrace"]


@pytest.mark.parametrize(
    ("line", "said"), [("x.txt", "no format has this ending"), ("a b", "takes one file name")]
)
def test_a_mistake_is_one_line_and_the_cell_does_not_run(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    shell.run_cell(f"%%tilelang_trace {line}\nran = True")
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert "ran" not in shell.user_ns
    assert written() == []


def test_a_syntax_error_is_told_and_nothing_is_written(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not shell.run_cell("%%tilelang_trace x.json\n1 +").success
    assert "SyntaxError" in capsys.readouterr().out
    assert written() == []


def test_a_notebook_gets_a_link(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    shell.run_cell("%load_ext tilelang_trace")
    shell.run_cell("%reload_ext tilelang_trace")
    shell.run_cell("%%tilelang_trace 'a&b <c>.pftrace'\ncompile_it('p')")
    (link,) = shown
    assert link._repr_html_().startswith('<a href="a%26b%20%3Cc%3E.pftrace" download>a&amp;b')
