"""A trace that is not there, while its journals are; folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilelang_trace.commands import main
from tilelang_trace.opening import open_trace
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.journal import Journal

COMMANDS = [["report"], ["convert", "-o", "y.json"]]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_of_a_recording_that_did_not_end_it_says_how_to_finish_it(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    journals = JournalFolder(Path("my x.pftrace"))
    Journal(journals.path).close()
    journals.release()
    assert main([*command, "my x.pftrace"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "tilelang-trace: my x.pftrace: no such file: its recording did not end, but left "
        "my x.pftrace.journal; to finish it: "
        "tilelang-trace convert 'my x.pftrace.journal' -o 'my x.pftrace'\n"
    )
    assert main(["convert", "my x.pftrace.journal", "-o", "my x.pftrace"]) == 0
    assert main([*command, "my x.pftrace"]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_of_one_that_goes_on_it_says_how_to_look(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    journals = JournalFolder(Path("x.pftrace"))
    assert main([*command, "x.pftrace"]) == 2
    assert capsys.readouterr().err == (
        "tilelang-trace: x.pftrace: no such file: it is being recorded; what there is so far: "
        "tilelang-trace snapshot x.pftrace\n"
    )
    journals.remove()


def test_a_trace_that_is_there_is_read_whatever_is_beside_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    journals = JournalFolder(Path("x.pftrace"))
    Path("x.pftrace").write_bytes(b"")
    assert main(["report", "x.pftrace"]) == 2
    assert "the file is empty" in capsys.readouterr().err
    journals.remove()


@pytest.mark.parametrize("command", ["report", "check"])
def test_a_folder_of_anything_else_is_no_trace(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("traces").mkdir()
    Path("traces/a.json").write_text('{"traceEvents":[]}')
    assert main([command, "traces"]) == 2
    told = "tilelang-trace: traces: a folder without a recording: name a trace\n"
    assert capsys.readouterr().err == told
    assert main([command, ""]) == 2


def test_a_recording_that_saw_nothing_yet_is_empty() -> None:
    journals = JournalFolder(Path("x.pftrace"))
    assert len(open_trace("x.pftrace.journal").slices) == 0
    journals.remove()
