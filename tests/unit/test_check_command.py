"""`check`: what it says of sound files, of broken ones and of what is no trace; exit codes."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilelang_trace
from tests.own_files import own_files, written
from tests.traces import nested_compile
from tilelang_trace.commands import main
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.reports.check import as_table
from tilelang_trace.reports.check.report import Checked, Report
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import KEPT, Findings

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def overlapping(name: str, count: int = 1) -> str:
    """A file with so many pairs of slices that overlap, each 20 µs long."""
    spans = [(100 * pair + shift, 20) for pair in range(count) for shift in (0, 10)]
    events = [
        {"ph": "X", "name": "s", "ts": ts, "dur": dur, "pid": 1, "tid": 1} for ts, dur in spans
    ]
    Path(name).write_text(json.dumps(events), encoding="utf-8")
    return name


def test_all_that_we_write_passes(tmp_path: Path, capsys: Capture) -> None:
    for path in own_files(tmp_path):
        assert main(["check", str(path)]) == 0, capsys.readouterr().out
        out, err = capsys.readouterr()
        assert out.startswith(f"{path}: OK\n")
        assert not err


def test_of_a_sound_file_it_says_one_word(capsys: Capture) -> None:
    written(Path("x.json"), nested_compile())
    assert main(["check", "x.json"]) == 0
    assert capsys.readouterr().out == "x.json: OK\n"


def test_a_rule_is_told_once_with_its_first_places_and_the_mend(capsys: Capture) -> None:
    assert main(["check", overlapping("my x.json", 7)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [
        "my x.json: 7 places that Perfetto won't show as meant",
        "",
        "  overlap: 7 places",
    ]
    assert [line.partition(" (byte ")[0] for line in out[3:8]] == [
        f"    event {2 * pair}" for pair in range(1, 6)
    ]
    assert out[8:] == [
        "    and 2 more",
        "    Perfetto drops the later slice (v52) or shows it on a lane of its own (v58)",
        "    mend: convert moves it to a lane of its own",
        "",
        "  to mend it: tilelang-trace convert 'my x.json' -o 'my x.mended.pftrace'",
    ]


def test_what_it_says_to_type_mends_the_file(capsys: Capture) -> None:
    assert main(["check", "--format", "json", overlapping("x.json")]) == 1
    (command,) = json.loads(capsys.readouterr().out)["files"][0]["mend"]
    program, *arguments = command.split()
    assert program == "tilelang-trace"
    assert main(arguments) == 0
    assert main(["check", "x.mended.pftrace"]) == 0


def test_top_chooses_how_many_places(capsys: Capture) -> None:
    assert main(["check", "--top", "1", overlapping("x.json", 3)]) == 1
    out = capsys.readouterr().out
    assert out.count("    event ") == 1
    assert "and 2 more" in out


def test_the_worst_file_decides_and_the_others_are_told_all_the_same(capsys: Capture) -> None:
    sound, broken = written(Path("sound.json"), nested_compile()), overlapping("broken.json")
    Path("none.txt").write_text("hello")
    assert main(["check", "none.txt", broken, str(sound), "missing"]) == 2
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if not line.startswith(" ") and line] == [
        "broken.json: 1 place that Perfetto won't show as meant",
        "sound.json: OK",
    ]
    assert [line.split(": ")[:2] for line in err.splitlines()] == [
        ["tilelang-trace", "none.txt"],
        ["tilelang-trace", "missing"],
    ]
    assert main(["check", str(sound), broken]) == 1


def test_json_has_all_of_it(capsys: Capture) -> None:
    sound, broken = written(Path("sound.json"), nested_compile()), overlapping("broken.json", 2)
    Path("none.txt").write_text("hello")
    assert main(["check", "--format", "json", broken, str(sound), "none.txt"]) == 2
    files: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["files"]
    assert [(file["file"], file["ok"], file["findings"]) for file in files] == [
        ("broken.json", False, 2),
        ("sound.json", True, 0),
        ("none.txt", False, 0),
    ]
    assert [bool(file["error"]) for file in files] == [False, False, True]
    (rule,) = files[0]["rules"]
    assert (rule["rule"], rule["count"], rule["loss"], rule["more"]) == ("overlap", 2, False, 0)
    assert rule["mend"] == "convert moves it to a lane of its own"
    assert [place["place"].split()[:2] for place in rule["places"]] == [
        ["event", "2"],
        ["event", "4"],
    ]
    assert files[1]["rules"] == files[1]["mend"] == []


def test_a_million_findings_are_bounded(capsys: Capture) -> None:
    overlapping("x.json", KEPT + 1)
    assert main(["check", "--format", "json", "x.json"]) == 1
    (rule,) = json.loads(capsys.readouterr().out)["files"][0]["rules"]
    assert (rule["count"], len(rule["places"]), rule["more"]) == (KEPT + 1, KEPT, 1)


def test_texts_of_the_file_do_not_act_on_the_terminal(capsys: Capture) -> None:
    event = {"ph": "\x1b[31m", "name": "s", "ts": 0, "pid": 1, "tid": 1}
    Path("x.json").write_text(json.dumps([event]), encoding="utf-8")
    assert main(["check", "x.json"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_pass_event_log_is_fine_but_not_for_perfetto(capsys: Capture) -> None:
    written(Path("x.events.jsonl"), nested_compile())
    assert main(["check", "x.events.jsonl"]) == 0
    assert capsys.readouterr().out == (
        "x.events.jsonl: OK\n"
        "  note: x.events.jsonl is a pass-event log, which Perfetto does not open: "
        "tilelang-trace convert x.events.jsonl -o x.pftrace\n"
    )


def test_from_python() -> None:
    (finding,) = tilelang_trace.check(overlapping("x.json"))
    assert (finding.rule, finding.place.split()[:2]) == ("overlap", ["event", "2"])
    assert not tilelang_trace.check(written(Path("y.json"), nested_compile()))
    with pytest.raises(tilelang_trace.UserError, match="missing"):
        tilelang_trace.check("missing")


def test_without_an_engine_it_says_how_to_get_one(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TILELANG_TRACE_ENGINE", raising=False)
    assert main(["check", "--engine", overlapping("x.json")]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1
    assert "pip install 'tilelang-trace[offline]'" in err
    monkeypatch.setenv("TILELANG_TRACE_ENGINE", "/no/such/program")
    assert main(["check", "--engine", "x.json"]) == 2
    assert "/no/such/program" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "convert", "compare"])
def test_other_commands_say_in_a_line_that_something_was_mended(
    command: str, capsys: Capture
) -> None:
    written(Path("base.json"), nested_compile())
    arguments = {
        "report": ["x.json"],
        "convert": ["x.json", "-o", "y.json"],
        "compare": ["base.json", "x.json"],
    }
    overlapping("x.json", 2)
    if command == "compare":  # which takes a compile
        events = json.loads(Path("x.json").read_text())
        Path("x.json").write_text(json.dumps([{**event, "cat": "pass"} for event in events]))
    assert main([command, *arguments[command]]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "mended" in line]
    assert line.startswith("tilelang-trace: x.json: 2 places mended, the first: event 2")
    assert line.endswith("; to list them: tilelang-trace check x.json")


LINES = (
    st.sampled_from(("a\nb", ".", "/", "\r", "\x1b[2J", "\u2028x", "\x85", " ", "", "ok"))
    | st.text()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=LINES, place=LINES, done=LINES)
def test_each_finding_is_on_one_line_whatever_is_in_it(path: str, place: str, done: str) -> None:
    found = Findings()
    for rule in (rules.OVERLAP, rules.CUT_OFF):
        found.add(place, rule, done)
    err = io.StringIO()
    with redirect_stderr(err):
        tell_of_mends(path, found)
    table = as_table.render(Report((Checked(path, found, to_mend=(path,)),), None))
    for text, count in ((err.getvalue(), 2), (table, 13)):
        lines = text.split("\n")
        assert len(lines) == count + 1 and not lines[-1]
        assert all(map(str.isprintable, lines))


def test_a_loss_has_a_line_of_its_own(capsys: Capture) -> None:
    events = [
        {"ph": "B", "name": "open", "ts": 0, "pid": 1, "tid": 1},
        {"ph": "X", "name": "in", "ts": 1, "dur": 5, "pid": 1, "tid": 1},
    ]
    Path("x.json").write_text(json.dumps(events), encoding="utf-8")
    assert main(["convert", "x.json", "-o", "y.json"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tilelang-trace: x.json: 1 place at which something is lost: ")
    assert "never-ended" in line
