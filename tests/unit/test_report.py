"""`tilelang-trace report`: what it prints in every format, of well-behaved traces and of others."""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.traces import main_thread, one_lane
from tilelang_trace.commands import main
from tilelang_trace.commands import report as command
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.reports import as_table
from tilelang_trace.reports.choice import Choice
from tilelang_trace.reports.report import make_report
from tilelang_trace.reports.text import duration, ms, short_names, visible
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

MS = 1_000_000


@pytest.fixture
def report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Runs the command on a Trace that went through a file; returns what it printed on stdout."""
    monkeypatch.setenv("COLUMNS", "80")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    def run(trace: Trace, *arguments: str) -> str:
        path = tmp_path / "mlp.json"
        files.write(trace, path)
        assert command.run(parser.parse_args([str(path), *arguments])) == 0
        return capsys.readouterr().out

    return run


def compile_of_three() -> Trace:
    """A context of 102 ms with lower (100 ms): Simplify, LayoutProof and Simplify again."""
    return one_lane(
        (0, 102 * MS, "PassContext", "context", {"status": "ok"}),
        (1 * MS, 101 * MS, "lower", "pass", {"status": "ok"}),
        (2 * MS, 12 * MS, "Simplify", "pass", {"status": "ok"}),
        (12 * MS, 92 * MS, "LayoutProof", "pass", {"status": "ok"}),
        (92 * MS, 96 * MS, "Simplify", "pass", {"status": "ok"}),
    )


def failing(
    detail: str, name: str = "VerifyMemory", message: str = "Memory verification failed"
) -> Trace:
    error = {"type": "RuntimeError", "cause": "exception", "message": message}
    return one_lane(
        (0, 50 * MS, "finalize", "pass", {"status": "incomplete", "error": error}),
        (
            10 * MS,
            50 * MS,
            name,
            "pass",
            {"status": "failed", "error": {**error, "detail": detail}},
        ),
    )


def rows(output: str) -> dict[str, list[str]]:
    """Rows of the table of passes: the words before the name, by the last word."""
    table = output.partition("Passes by name")[2].partition("Slowest")[0]
    return {words[-1]: words[:-1] for words in map(str.split, table.splitlines()) if words}


# ----------------------------------------------------------------------------------------- table


def test_the_table_says_where_the_time_went(report: Any) -> None:
    output = report(compile_of_three())

    head = output.splitlines()
    assert head[0].endswith("mlp.json")
    assert head[1].split() == ["total", "102.000", "ms,", "all", "threads"]
    assert head[2].split() == ["wall", "time", "102.000", "ms"]
    assert head[3].split() == ["passes", "4", "runs", "of", "3", "passes"]
    assert head[4].split() == ["failures", "0"]
    table = rows(output)
    assert table["LayoutProof"] == ["80.000", "78.4", "%", "80.000", "78.4", "%", "1"]
    assert table["Simplify"] == ["14.000", "13.7", "%", "14.000", "13.7", "%", "2"]
    assert table["lower"] == ["6.000", "5.9", "%", "100.000", "98.0", "%", "1"]
    assert table["context)"] == ["2.000", "2.0", "%", "(between", "passes,", "in"]
    assert table["(total)"] == ["102.000", "100.0", "%", "102.000", "4"]
    assert output.index("LayoutProof\n") < output.index("Simplify\n") < output.index("lower\n")


def test_the_time_between_passes_is_told_by_kind(report: Any) -> None:
    table = rows(
        report(
            one_lane(
                (0, 100 * MS, "main", "compile"),
                (0, 70 * MS, "A", "pass"),
                (70 * MS, 90 * MS, "cuda", "codegen"),
            )
        )
    )

    assert table["passes)"][0] == "30.000"
    assert (table["compile)"][0], table["codegen)"][0]) == ("10.000", "20.000")


def test_numbers_are_right_aligned(report: Any) -> None:
    table = report(compile_of_three()).partition("Passes by name")[2].splitlines()
    numbers = [line for line in table[1:] if line.endswith(("Proof", "Simplify", "lower"))][:3]

    assert len({line.index("%") for line in numbers}) == 1
    assert len({line.rindex("%") for line in numbers}) == 1


def test_the_tree_shows_nesting_and_what_min_ms_hid(report: Any) -> None:
    whole = report(compile_of_three()).partition("Tree")[2].splitlines()
    assert [line.rstrip() for line in whole[2:]] == [
        "      102.000  PassContext  [context]",
        "      100.000    lower",
        "       10.000      Simplify",
        "       80.000      LayoutProof",
        "        4.000      Simplify",
    ]

    cut = report(compile_of_three(), "--min-ms", "4.5").partition("Tree")[2]
    assert "      100.000    lower  (+1 slice hidden, 4.000 ms)\n" in cut
    assert "  1 slice hidden, 4.000 ms; shown: from 4.500 ms" in cut


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("self", ["LayoutProof", "Simplify", "lower"]),
        ("inclusive", ["lower", "LayoutProof", "Simplify"]),
        ("count", ["Simplify", "LayoutProof", "lower"]),
        ("name", ["LayoutProof", "Simplify", "lower"]),
    ],
)
def test_passes_are_sorted_as_asked(report: Any, sort: str, order: list[str]) -> None:
    printed = json.loads(report(compile_of_three(), "--sort", sort, "--format", "json"))

    assert [entry["name"] for entry in printed["passes"]] == order
    assert printed["slowest_by"] == ("inclusive" if sort == "inclusive" else "self")


def test_top_and_min_ms_say_what_they_left_out(report: Any) -> None:
    output = report(compile_of_three(), "--top", "1")
    assert rows(output)["shown)"] == ["20.000", "19.6", "%", "3", "(2", "more", "passes,", "not"]
    assert rows(output)["(total)"][0] == "102.000"
    slowest = output.partition("Slowest runs")[2].partition("Tree")[0]
    assert "LayoutProof" in slowest and "Simplify" not in slowest

    printed = json.loads(report(compile_of_three(), "--min-ms", "50", "--format", "json"))
    assert [entry["name"] for entry in printed["passes"]] == ["LayoutProof", "lower"]
    assert [run["name"] for run in printed["slowest"]] == ["LayoutProof", "lower"]
    assert printed["left_out"] == {"passes": 1, "count": 2, "self_ns": 14 * MS}


def test_an_incomplete_recording_says_so_first(report: Any) -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    builder.metadata = {
        "recording": {"complete": False, "reason": "killed by SIGKILL", "dropped": 0}
    }
    builder.slice(lane, 0, 3_000 * MS, "LayoutProof", "pass", {"status": "open"})
    trace = builder.build()

    lines = report(trace).splitlines()
    assert lines[0] == "INCOMPLETE RECORDING: killed by SIGKILL; slices still open: 1"
    assert lines[1] == "still running: LayoutProof, for 3000.000 ms (mlp.py / MainThread)"
    markdown = report(trace, "--format", "markdown").splitlines()
    assert markdown[0].startswith("**INCOMPLETE RECORDING: killed by SIGKILL")
    assert json.loads(report(trace, "--format", "json"))["complete"] is False


def test_a_failure_is_shown_with_the_whole_text_of_its_error(report: Any) -> None:
    detail = 'Memory verification failed\n  var "A" {is} directly\n\n  accessed [by] host'
    output = report(failing(detail))

    failure = output.partition("\nFailures\n")[2].partition("Passes by name")[0].splitlines()
    assert failure[:-1] == [
        "  VerifyMemory failed after 40.000 ms",
        "    in finalize",
        "    RuntimeError (exception): Memory verification failed",
        '        var "A" {is} directly',
        "",
        "        accessed [by] host",
    ]
    assert "failures      1, 1 enclosing incomplete" in output
    assert "VerifyMemory  (1 failed)" in output
    assert "finalize  (1 incomplete)" in output
    assert "VerifyMemory  FAILED" in output


@pytest.mark.parametrize("output", ["table", "markdown"])
def test_a_long_text_says_how_many_lines_it_leaves_out(report: Any, output: str) -> None:
    detail = "\n".join(["Memory verification failed", *(f"line {k}" for k in range(1, 101))])
    printed = report(failing(detail), "--format", output)

    assert "... 60 lines left out ..." in printed
    assert printed.count("line ") == 40
    assert "line 100" in printed and "line 31\n" not in printed


LONG = "_blockscale_gemm_" + "_".join(f"TILE_{k}_{1000 + k}" for k in range(24)) + "_v2"


def test_long_names_stay_distinct_in_the_table_and_whole_elsewhere(report: Any) -> None:
    assert len(LONG) > 290
    names = [f"Coalesce[{LONG}]", f"Canonicalize[{LONG}]", f"Coalesce[{LONG}]x"]
    names += [f"{LONG} middle {k} {LONG}" for k in range(2)]
    trace = one_lane(*((10 * k, 10 * k + 5, name, "pass") for k, name in enumerate(names)))

    table = report(trace, "--sort", "name").partition("Passes by name")[2].partition("Slowest")[0]
    shown = [line.split()[7:] for line in table.splitlines() if "TILE" in line]
    assert len(shown) == len({tuple(words) for words in shown}) == len(names)
    assert max(map(len, table.splitlines())) < 170
    assert "Coalesce[_blockscale" in table and "Canonicalize[_blockscale" in table

    found = json.loads(report(trace, "--format", "json"))["passes"]
    assert {entry["name"] for entry in found} == set(names)
    assert {
        row["name"] for row in csv.DictReader(io.StringIO(report(trace, "--format", "csv")))
    } == set(names)
    markdown = report(trace, "--format", "markdown")
    assert all(name in markdown for name in names)


def test_brackets_in_names_are_no_markup(report: Any) -> None:
    assert "Coalesce[bold]x[/bold]" in report(one_lane((0, 10, "Coalesce[bold]x[/bold]", "pass")))


def test_a_pipe_has_no_edge_at_80_columns(report: Any) -> None:
    name = "tirx.transform." + "x" * 80
    output = report(one_lane((0, 123_456_789 * MS, name, "pass", {"phase": "p" * 40})))

    assert f"123456789.000   100.0 %   123456789.000       100.0 %      1   {name}\n" in output


def test_a_narrow_terminal_gets_short_names_and_all_numbers() -> None:
    name = "tirx.transform." + "x" * 80
    chosen = make_report(one_lane((0, 123 * MS, name, "pass")), "a.json", Choice())
    line = next(
        line for line in as_table.render(chosen, width=80).splitlines() if "100.0 %" in line
    )

    assert len(line) <= 80 and line.count("123.000") == 2 and "tirx.trans" in line


def test_without_passes_the_report_says_so(report: Any) -> None:
    output = report(one_lane((0, 10 * MS, "gemm", "kernel")))

    assert "slices        1 slice of 1 name, of all categories: there are no passes" in output
    assert "Slices by name" in output and "slice\n" in output
    assert "failures" not in output and "between passes" not in output
    assert "gemm" in output


EVIL = "a\x1b[31mred\x07\x9b2J\r\nb\u202ec"


@pytest.mark.parametrize("output", ["table", "json", "csv", "markdown"])
def test_no_control_character_of_a_trace_reaches_the_terminal(report: Any, output: str) -> None:
    trace = failing(f"Memory verification failed\n{EVIL}", EVIL, EVIL)
    printed = report(trace, "--format", output)

    assert not [c for c in printed if not c.isprintable() and c not in "\n\t\u202e"]
    if output in ("table", "markdown"):
        assert "\u202e" not in printed and r"a\x1b[31mred" in printed
    if output == "json":
        assert json.loads(printed)["failures"][0]["name"] == EVIL


# ---------------------------------------------------------------------------------- other formats


def test_json_has_the_documented_shape(report: Any) -> None:
    printed = json.loads(report(compile_of_three(), "--format", "json"))

    assert printed["total_ns"] == 102 * MS
    assert printed["wall_ns"] == 102 * MS
    assert printed["between_passes_ns"] == 2 * MS
    assert printed["between_passes_by_kind"] == {"context": 2 * MS}
    assert printed["complete"] is True
    assert printed["passes"][0] == {
        "name": "LayoutProof",
        "count": 1,
        "self_ns": 80 * MS,
        "inclusive_ns": 80 * MS,
        "share": 80 / 102,
        "inclusive_share": 80 / 102,
        "failed": 0,
        "incomplete": 0,
        "open": 0,
    }
    assert printed["slowest"][1] == {
        "name": "Simplify",
        "start_ns": 2 * MS,
        "inclusive_ns": 10 * MS,
        "self_ns": 10 * MS,
        "status": "ok",
        "thread": "mlp.py / MainThread",
        "phase": "",
        "kernel": "",
        "detail": "",
    }
    assert [(line["depth"], line["name"]) for line in printed["tree"]["lines"]][:3] == [
        (0, "PassContext"),
        (1, "lower"),
        (2, "Simplify"),
    ]
    assert printed["failures"] == []
    documented = sys.modules["tilelang_trace.reports.as_json"].__doc__ or ""
    assert all(f'"{key}"' in documented for key in printed)


def test_json_has_the_whole_error(report: Any) -> None:
    detail = "\n".join(["Memory verification failed", *"x" * 100])
    (failure,) = json.loads(report(failing(detail), "--format", "json"))["failures"]

    assert failure == {
        "name": "VerifyMemory",
        "path": ["finalize"],
        "type": "RuntimeError",
        "cause": "exception",
        "message": "Memory verification failed",
        "detail": detail,
        "phase": "",
        "kernel": "",
        "inclusive_ns": 40 * MS,
    }


def test_csv_has_a_row_a_name(report: Any) -> None:
    names = ['quote " comma, semicolon;', "line\nbreak", "plain"]
    trace = one_lane(*((10 * k, 10 * k + 5 - k, name, "pass") for k, name in enumerate(names)))
    table = list(csv.DictReader(io.StringIO(report(trace, "--format", "csv"))))

    assert [row["name"] for row in table] == names
    assert [(row["count"], row["self_ns"], row["inclusive_ns"]) for row in table] == [
        ("1", "5", "5"),
        ("1", "4", "4"),
        ("1", "3", "3"),
    ]
    assert float(table[0]["share"]) == 5 / 12


def test_csv_tells_on_stderr_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mlp.json"
    files.write(compile_of_three(), path)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    command.run(parser.parse_args([str(path), "--top", "1", "--format", "csv"]))

    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "2 passes left out" in printed.err


def test_names_keep_to_their_cell_in_markdown(report: Any) -> None:
    names = ["a|b", "a`b", "`", "a\nb", r"a\|b", "<b>@user</b>", "a``b|c"]
    trace = one_lane(*((10 * k, 10 * k + 5, name, "pass") for k, name in enumerate(names)))
    markdown = report(trace, "--sort", "name", "--format", "markdown")

    table = markdown.partition("## Passes by name\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(table) == 2 + len(names) + 2
    cells = [line.replace(r"\\", "").replace(r"\|", "").count("|") for line in table]
    assert set(cells) == {8}
    shown = {line.split(" | ")[5] for line in table[2 : 2 + len(names)]}
    assert shown == {
        r"`a\|b`",
        "``a`b``",
        "`` ` ``",
        r"`a\nb`",
        "<code>a&#92;&#124;b</code>",
        "`<b>@user</b>`",
        r"```a``b\|c```",
    }


def test_no_text_ends_its_block_of_code_in_markdown(report: Any) -> None:
    detail = "Memory verification failed\n```\n# not a heading\n`````\n<script>"
    markdown = report(failing(detail), "--format", "markdown").splitlines()

    fence = markdown.index("``````text")
    end = markdown.index("``````")
    assert fence < markdown.index("# not a heading") < markdown.index("<script>") < end
    assert markdown.count("``````") == 1


# ------------------------------------------------------------------------------- texts and options


def test_times_are_rounded_exactly() -> None:
    assert [ms(ns) for ns in (0, 499, 500, 1_000_499, 2**60 * 10**6 + 1)] == [
        "0.000",
        "0.000",
        "0.001",
        "1.000",
        f"{2**60}.000",
    ]
    assert duration(40_213_512_345) == "40213.512 ms (40.2 s)"
    assert duration(9_999 * MS) == "9999.000 ms"


def test_different_names_never_look_the_same() -> None:
    long = "x" * 200
    names = [
        *("", "''", " ", r"\x20", "a", "a ", " a", r"a\x20", "a\x1b", r"a\x1b", "a\n", r"a\n"),
        *(f"{long}{k}{long}" for k in range(3)),
        *(f"{long}{k}{long}{j}{long}" for k in range(2) for j in range(2)),
        long[:11] + "…" + long[:12],
        long,
    ]
    shown = short_names(names, 24)

    assert set(shown) == set(names)
    assert len({text.strip() for text in shown.values()}) == len(names)
    assert shown[f"{long}1{long}"] == "x" * 8 + "…1" + "x" * 13 + "…"
    assert all(len(text) <= 24 + len(" #9") and text.isprintable() for text in shown.values())
    assert visible("plain name") == "plain name"


@pytest.mark.parametrize(
    "arguments",
    [["--top", "-1"], ["--top", "x"], ["--min-ms", "-1"], ["--min-ms", "nan"], ["--sort", "time"]],
)
def test_options_that_make_no_sense_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    with pytest.raises(SystemExit) as stopped:
        parser.parse_args(["mlp.json", *arguments])
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_file_that_is_no_trace_is_the_users_mistake(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    with pytest.raises(UserError):
        command.run(parser.parse_args([str(path)]))


def test_only_the_table_needs_rich(tmp_path: Path) -> None:
    path = tmp_path / "mlp.json"
    files.write(compile_of_three(), path)
    code = (
        "import argparse, sys\n"
        "from tilelang_trace.commands import report\n"
        "parser = argparse.ArgumentParser()\n"
        "report.add_arguments(parser)\n"
        f"report.run(parser.parse_args([{str(path)!r}, '--format', sys.argv[1]]))\n"
        "print('rich' in sys.modules, 'tvm' in sys.modules, file=sys.stderr)\n"
    )
    for output, expected in (
        ("json", "False False"),
        ("csv", "False False"),
        ("table", "True False"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, output], capture_output=True, text=True, check=True
        )
        assert done.stderr.strip() == expected


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_trace_without_passes_says_what_may_be_behind_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    log = tmp_path / "second.events.jsonl"
    log.write_text('{"pass_events": 1, "metadata": {"kernel": "main"}}\n')
    assert main(["report", str(log), "--format", form]) == 0
    said = capsys.readouterr().out
    assert "none ran: nothing was compiled, or the kernels came from a cache" in said
