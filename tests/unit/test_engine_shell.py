"""How `trace_processor_shell` is asked, and what is made of its answers.

No package has that program, so that one stands in for it here that takes the arguments and prints
what the real one does: the text is by `PrintQueryResultAsCsv` in Perfetto's shell/query.cc, and by
`TraceProcessorShellMain` in trace_processor_shell.cc where a trace can't be loaded.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from tests.own_files import written
from tests.traces import nested_compile
from tilelang_trace.commands import main
from tilelang_trace.engine.choice import VARIABLE, find_engine
from tilelang_trace.engine.errors import (
    EngineCrashed,
    EngineError,
    EngineUnavailable,
    TimeLimitExceeded,
    TraceRefused,
)
from tilelang_trace.engine.shell import Shell
from tilelang_trace.engine.wasm import Engine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")

PROGRAM = """#!{python}
import os, pathlib, sys, time
if sys.argv[1:] == ["--version"]:
    print("Perfetto v58.2-ec5d16b (ec5d16b14b743ba6063d720956d6d6af6610fd72)")
    print("Trace Processor RPC API version: 14")
    sys.exit()
flag, sql, trace = sys.argv[1:]
assert flag == "-q" and pathlib.Path(sql).read_text().startswith("select ")
pathlib.Path({asked!r}).write_bytes(pathlib.Path(trace).read_bytes())
{body}
"""

HEAD = '"name","idx","severity","value","description"\n'


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The program, which finds nothing until `answers` says what it does."""
    answers(tmp_path, f"print({HEAD!r}, end='')")
    return Shell(str(tmp_path / "trace_processor_shell"))


def answers(folder: Path, body: str) -> None:
    program = folder / "trace_processor_shell"
    text = PROGRAM.format(python=sys.executable, asked=str(folder / "asked"), body=body)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def prints(folder: Path, text: str) -> None:
    answers(folder, f"print({HEAD + text!r}, end='')")


def test_no_row_is_no_problem(tmp_path: Path, shell: Shell) -> None:
    assert shell.problems_of(b"\n\0") == []
    assert (tmp_path / "asked").read_bytes() == b"\n\0"
    file = tmp_path / "-q.json"
    file.write_bytes(b"[]")
    assert shell.problems_of(file) == []
    assert (tmp_path / "asked").read_bytes() == b"[]"


def test_rows_are_problems(tmp_path: Path, shell: Shell) -> None:
    prints(
        tmp_path,
        '"slice_drop_overlapping_complete_event","[NULL]","error",3,"A "complete" slice, dropped"\n'
        '"traced_buf_chunks_lost",-1,"data_loss",12,"[NULL]"\n',
    )
    assert shell.problems_of(b"") == [
        {
            "name": "slice_drop_overlapping_complete_event",
            "idx": None,
            "severity": "error",
            "value": 3,
            "description": 'A "complete" slice, dropped',
        },
        {
            "name": "traced_buf_chunks_lost",
            "idx": -1,
            "severity": "data_loss",
            "value": 12,
            "description": None,
        },
    ]


def test_an_answer_of_another_form_is_an_error(tmp_path: Path, shell: Shell) -> None:
    prints(tmp_path, "what, is, this\n")
    with pytest.raises(EngineError, match="what, is, this"):
        shell.problems_of(b"")


def test_a_refusal_says_why(tmp_path: Path, shell: Shell) -> None:
    answers(
        tmp_path,
        "print('[027.1]        x.cc:12 note\\n\\rLoading trace: 0.00 MB\\rCould not read trace '\n"
        "      'file (path: x): Unknown trace type (ERR:fmt)', file=sys.stderr); sys.exit(1)",
    )
    with pytest.raises(TraceRefused) as refused:
        shell.problems_of(b"")
    assert str(refused.value) == "Could not read trace file (path: x): Unknown trace type (ERR:fmt)"


def test_a_crash_and_an_endless_loop(tmp_path: Path, shell: Shell) -> None:
    answers(tmp_path, "os.abort()")
    with pytest.raises(EngineCrashed, match="signal 6"):
        shell.problems_of(b"")
    answers(tmp_path, "time.sleep(60)")
    shell.time_limit = 0.3
    with pytest.raises(TimeLimitExceeded):
        shell.problems_of(b"")


def test_a_program_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no program")
    with pytest.raises(EngineUnavailable, match="can't be run"), Shell(str(tmp_path / "x")):
        pass


def test_which_engine_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(tmp_path, "")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    assert isinstance(find_engine(), Engine)
    monkeypatch.setenv("PATH", str(tmp_path))
    with find_engine() as engine:
        assert engine.version == "Perfetto v58.2-ec5d16b (ec5d16b14b743ba6063d720956d6d6af6610fd72)"
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "trace_processor_shell"))
    assert isinstance(find_engine(), Shell)
    monkeypatch.setenv(VARIABLE, "nowhere")
    with pytest.raises(EngineUnavailable, match="nowhere"):
        find_engine()


def test_check_tells_what_it_says(
    tmp_path: Path,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "trace_processor_shell"))
    trace = written(tmp_path / "x.pftrace", nested_compile())
    assert main(["check", "--engine", str(trace)]) == 0
    assert capsys.readouterr().out == f"{trace}: OK (Perfetto v58.2-ec5d16b says so too)\n"
    prints(tmp_path, '"json_parser_failure",7,"error",2,"Lost\x1b[31m."\n')
    assert main(["check", "--engine", str(trace)]) == 1
    out = capsys.readouterr().out
    assert "1 place that Perfetto won't show as meant, Perfetto v58.2-ec5d16b asked" in out
    assert "  engine: 1 place\n" in out
    assert "the whole file: counts 2 x json_parser_failure[7] (error): Lost\\x1b[31m.\n" in out


def test_the_query_is_sql_that_keeps_losses_and_their_texts_on_one_line() -> None:
    from tilelang_trace.engine.problems import problems_sql
    from tilelang_trace.engine.shell import _ONE_LINE

    database = sqlite3.connect(":memory:")
    database.execute("create table stats (name, idx, severity, value, description)")
    rows = [
        ("b", None, "error", 1, "two\nlines"),
        ("a", 2, "data_loss", 1, None),
        ("nothing", None, "error", 0, ""),
        ("size", None, "info", 9, ""),
        ("tokenizer_skipped_packets", None, "info", 3, ""),
    ]
    database.executemany("insert into stats values (?, ?, ?, ?, ?)", rows)
    assert database.execute(problems_sql(_ONE_LINE)).fetchall() == [
        ("a", 2, "data_loss", 1, None),
        ("b", None, "error", 1, "two lines"),
        ("tokenizer_skipped_packets", None, "info", 3, ""),
    ]
