"""`report --by kernel`: the compiles of a Trace, what failed, and in every format the same."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.traces import Passes, main_thread, one_lane
from tilelang_trace.analysis.kernels import list_compiles
from tilelang_trace.analysis.selection.leave_out import without_short
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.commands import report as command
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.reports.kernels.wording import short_target
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Lane, Trace

MS = 1_000_000
OK = {"status": "ok"}
ERROR = {"type": "ValueError", "cause": "exception", "message": "tile does not divide"}
FAILED = {"status": "failed", "error": {**ERROR, "detail": "tile does not divide\nat line 3"}}
INCOMPLETE = {"status": "incomplete", "error": ERROR}


def tuning() -> Trace:
    """Four candidates in two threads: three are fine, one of them from the cache, the last fails
    in its third pass. A pass runs outside of them.
    """
    builder = TraceBuilder()
    main = main_thread(builder, "tune.py")
    worker = builder.lane(Lane(builder.thread(0, "worker", 72)))

    def compile_(lane: int, begin: int, end: int, block: int, **more: Any) -> None:
        arguments = {"kernel": "gemm", "target": "cuda", "configuration": {"block_M": block}}
        arguments = {**OK, **arguments, **more}
        builder.slice(lane, begin * MS, end * MS, "compile gemm", "compile", arguments)

    compile_(main, 0, 50, 64, cache="miss")
    builder.slice(main, 1 * MS, 41 * MS, "PassContext", "context", {**OK, "kernel": "gemm"})
    a_pass = Passes(builder, main)
    a_pass(1 * MS, 11 * MS, "Simplify")
    a_pass(11 * MS, 31 * MS, "Lower")
    a_pass(12 * MS, 14 * MS, "Simplify", status="failed", error=ERROR)  # caught by Lower
    compile_(worker, 10, 40, 128, cache="miss")
    Passes(builder, worker)(10 * MS, 30 * MS, "Lower")
    compile_(main, 60, 61, 64, cache="hit")
    Passes(builder, main)(62 * MS, 66 * MS, "Outside")
    compile_(worker, 70, 100, 256, **INCOMPLETE)
    builder.slice(worker, 70 * MS, 100 * MS, "PassContext", "context", INCOMPLETE)
    last = Passes(builder, worker)
    last(71 * MS, 80 * MS, "Simplify")
    last(80 * MS, 100 * MS, "Lower", **INCOMPLETE)
    last(81 * MS, 100 * MS, "InjectPipeline", **FAILED)
    return builder.build()


@pytest.fixture
def report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on a Trace that went through a file; returns what it printed on stdout."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    def run(trace: Trace, *arguments: str) -> str:
        path = tmp_path / "tune.json"
        files.write(trace, path)
        given = parser.parse_args([str(path), "--by", "kernel", *arguments])
        assert command.run(given) == 0
        return capsys.readouterr().out

    return run


# -------------------------------------------------------------------------------------- the numbers


def test_a_row_a_compile_with_its_time_and_its_passes() -> None:
    found = list_compiles(tuning())

    assert [
        (c.number, c.start_ns, c.inclusive_ns, c.self_ns, c.passes) for c in found.compiles
    ] == [
        (1, 0, 50 * MS, 20 * MS, 3),
        (2, 10 * MS, 30 * MS, 10 * MS, 1),
        (3, 60 * MS, 1 * MS, 1 * MS, 0),
        (4, 70 * MS, 30 * MS, 1 * MS, 3),
    ]
    assert {c.kernel for c in found.compiles} == {"gemm"}
    assert {c.target for c in found.compiles} == {"cuda"}
    assert [c.configuration["block_M"] for c in found.compiles] == [64, 128, 64, 256]
    assert [c.cache for c in found.compiles] == ["miss", "miss", "hit", ""]
    assert [c.thread.rpartition(" ")[2] for c in found.compiles] == [
        *("MainThread", "worker", "MainThread", "worker")
    ]


def test_the_numbers_add_up() -> None:
    found = list_compiles(tuning())

    assert found.compiles_ns == 111 * MS
    assert found.outside_ns == 4 * MS
    assert found.total_ns == 115 * MS == summarize(tuning()).total_ns
    assert found.outside_passes == 1
    inside = sum(c.passes for c in found.compiles)
    assert inside + found.outside_passes == summarize(tuning()).runs


def test_a_compile_that_failed_names_the_pass_and_a_caught_failure_is_none() -> None:
    found = list_compiles(tuning())

    assert found.failed == (4,)
    assert [(c.status, c.failed_in, c.error) for c in found.compiles] == [
        *[("ok", "", "")] * 3,
        ("incomplete", "InjectPipeline", "tile does not divide"),
    ]


def test_a_compile_may_fail_outside_of_passes() -> None:
    (one,) = list_compiles(
        one_lane(
            (0, 100, "compile", "compile", {**FAILED, "kernel": "gemm"}),
            (10, 20, "Lower", "pass", {**FAILED, "error": {"message": "caught"}}),
        )
    ).compiles

    assert (one.status, one.failed_in, one.error) == ("failed", "compile", "tile does not divide")


def test_without_compile_slices_the_contexts_of_kernels_are_the_compiles() -> None:
    found = list_compiles(
        one_lane(
            (0, 100, "PassContext", "context", {**OK, "kernel": "main +2 more"}),
            (10, 90, "Tune", "pass", OK),
            (20, 80, "PassContext", "context", {**OK, "kernel": "candidate"}),
            (30, 70, "Lower", "pass", OK),
            (100, 200, "PassContext", "context", OK),
        )
    )

    assert [(c.kernel, c.passes, c.self_ns) for c in found.compiles] == [("main +2 more", 2, 20)]
    assert (found.compiles_ns, found.outside_ns) == (100, 100)


def test_a_compile_in_a_compile_is_a_row_and_counts_once() -> None:
    found = list_compiles(
        one_lane(
            (0, 100, "tune", "compile", {**OK, "kernel": "gemm"}),
            (5, 15, "Prepare", "pass", OK),
            (20, 80, "candidate", "compile", {**OK, "kernel": "gemm"}),
            (30, 70, "Lower", "pass", OK),
        )
    )

    assert [(c.nested, c.inclusive_ns, c.self_ns, c.passes) for c in found.compiles] == [
        (False, 100, 30, 2),
        (True, 60, 20, 1),
    ]
    assert (found.compiles_ns, found.outside_ns) == (100, 0)


@pytest.mark.parametrize("min_ms", [3, 15, 25, 1000])
def test_passes_that_were_left_out_still_count(min_ms: int) -> None:
    whole, cut = list_compiles(tuning()), list_compiles(without_short(tuning(), min_ms * MS))
    assert [(c.passes, c.self_ns) for c in cut.compiles] == [
        (c.passes, c.self_ns) for c in whole.compiles
    ]


# ---------------------------------------------------------------------------------------- the table


def test_the_table_ranks_by_time_and_says_which_failed(report: Any) -> None:
    lines = report(tuning()).splitlines()

    assert lines[1].split(maxsplit=1) == [
        "compiles",
        "4: 3 ok, 1 failed (number 4 of 4), 1 from the cache",
    ]
    assert lines[2].split()[2:4] == ["111.000", "ms,"]
    assert lines[3].split(maxsplit=1) == ["outside", "4.000 ms, 1 pass"]
    rows = [line.split() for line in lines if "gemm" in line and "%" in line]
    assert [row[0] for row in rows] == ["1", "2", "4", "3"]
    assert rows[0][1:8] == ["50.000", "43.5", "%", "20.000", "3", "gemm", "ok"]
    assert rows[2][7:10] == ["failed", "in", "InjectPipeline"]
    assert "block_M=256" in rows[2]
    assert "  compile 4: gemm, failed in InjectPipeline: tile does not divide" in lines
    assert [line.split()[0] for line in lines if "(total)" in line] == ["115.000"]


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        ("inclusive", [1, 2, 4, 3]),
        ("self", [1, 2, 3, 4]),
        ("count", [1, 4, 2, 3]),
        ("start", [1, 2, 3, 4]),
        ("name", [1, 2, 3, 4]),
    ],
)
def test_the_order_is_the_readers(report: Any, order: str, numbers: list[int]) -> None:
    printed = json.loads(report(tuning(), "--sort", order, "--format", "json"))
    assert [c["number"] for c in printed["compiles"]] == numbers


def test_what_is_not_shown_is_added_up(report: Any) -> None:
    output = report(tuning(), "--top", "2")
    line = next(line for line in output.splitlines() if "not shown" in line)
    assert line.split() == [*("31.000", "27.0", "%", "(2", "more", "compiles,", "not", "shown)")]
    printed = json.loads(report(tuning(), "--min-ms", "40", "--format", "json"))
    assert [c["number"] for c in printed["compiles"]] == [1]
    assert printed["left_out"] == {"compiles": 3, "inclusive_ns": 61 * MS}


@pytest.mark.parametrize("output", ["table", "markdown"])
def test_without_a_compile_the_report_says_so(report: Any, output: str) -> None:
    printed = report(one_lane((0, 10 * MS, "Lower", "pass", OK)), "--format", output)
    assert "no compile: there is no compile slice" in printed
    assert "10.000 ms, 1 pass" in printed


def test_a_compile_that_still_runs_is_neither_ok_nor_failed(report: Any) -> None:
    trace = one_lane((0, 10, "compile", "compile", {"status": "open", "kernel": "gemm"}))
    assert "1: 0 ok, 1 still running" in report(trace)


# ------------------------------------------------------------------------------------ other formats


def test_json_has_the_documented_shape(report: Any) -> None:
    printed = json.loads(report(tuning(), "--format", "json"))

    assert (printed["total_ns"], printed["compiles_ns"], printed["outside_ns"]) == (
        *(115 * MS, 111 * MS, 4 * MS),
    )
    assert (printed["count"], printed["failed"], printed["complete"]) == (4, [4], True)
    assert printed["compiles"][2] == {
        "number": 4,
        "kernel": "gemm",
        "configuration": {"block_M": 256},
        "target": "cuda",
        "start_ns": 70 * MS,
        "inclusive_ns": 30 * MS,
        "self_ns": 1 * MS,
        "passes": 3,
        "status": "incomplete",
        "failed_in": "InjectPipeline",
        "error": "tile does not divide",
        "cache": "",
        "thread": "tune.py / worker",
        "nested": False,
        "own_name": "compile gemm",
    }
    documented = sys.modules["tilelang_trace.reports.kernels.as_json"].__doc__ or ""
    assert all(f'"{key}"' in documented for key in (*printed, *printed["compiles"][0]))


def test_csv_has_a_row_a_compile(report: Any) -> None:
    table = list(csv.DictReader(io.StringIO(report(tuning(), "--format", "csv"))))

    assert [row["number"] for row in table] == ["1", "2", "4", "3"]
    assert json.loads(table[2]["configuration"]) == {"block_M": 256}
    assert (table[2]["status"], table[2]["failed_in"]) == ("incomplete", "InjectPipeline")
    assert table[2]["inclusive_ns"] == str(30 * MS)


def test_markdown_has_a_table_with_cells_of_one_count(report: Any) -> None:
    lines = report(tuning(), "--format", "markdown").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4 + 2
    assert len({line.count("|") for line in table}) == 1
    assert "`failed in InjectPipeline`" in table[4]


EVIL = "a\x1b[31mred\x07\x9b2J\r\nb\u202ec|`"


@pytest.mark.parametrize("output", ["table", "json", "csv", "markdown"])
def test_no_control_character_of_a_trace_reaches_the_terminal(report: Any, output: str) -> None:
    evil = {
        **OK,
        "kernel": EVIL,
        "target": EVIL,
        "cache": EVIL,
        "configuration": {EVIL: EVIL, "n": [1, EVIL]},
        "status": "failed",
        "error": {"type": EVIL, "message": EVIL},
    }
    printed = report(one_lane((0, 10, EVIL, "compile", evil)), "--format", output)

    assert not [c for c in printed if not c.isprintable() and c not in "\n\t\u202e"]
    if output in ("table", "markdown"):
        assert "\u202e" not in printed


@pytest.mark.parametrize("value", [None, 7, [1], {"a": 1}, True])
def test_arguments_of_any_type_are_borne(report: Any, value: Any) -> None:
    names = ("kernel", "target", "cache", "configuration", "error", "hidden")
    trace = one_lane((0, 10, "own name", "compile", dict.fromkeys(names, value)))
    for output in ("table", "json", "csv", "markdown"):
        assert "own name" in report(trace, "--format", output)


def test_passes_have_no_start_to_sort_by(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    with pytest.raises(UserError, match="--sort start is for --by kernel"):
        command.run(parser.parse_args([str(tmp_path / "x.json"), "--sort", "start"]))


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ('{"kind":"cuda","tag":"","keys":["cuda","gpu"],"arch":"sm_80"}', "cuda sm_80"),
        ('{"kind":"llvm","mcpu":"znver4"}', "llvm znver4"),
        ('{"kind":"c","host":{"kind":"c"}}', "c"),
        ("cuda -arch=sm_90", "cuda -arch=sm_90"),
        ('{"arch":"sm_80"}', '{"arch":"sm_80"}'),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
def test_a_target_is_shown_by_what_tells_it_apart(target: str, shown: str) -> None:
    assert short_target(target) == shown
