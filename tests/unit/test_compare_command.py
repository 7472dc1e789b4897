"""`tilelang-trace compare`: files, folders and Traces in, tables, files and exit codes out."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.traces import one_lane
from tilelang_trace import UserError
from tilelang_trace.commands import main
from tilelang_trace.comparing import NothingToCompare
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.journal import Journal

MS = 1_000_000


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def log(path: str, *passes: tuple[str, int, int], **metadata: Any) -> str:
    """A pass-event log of passes in sequence: name, time in ms and depth (the next one that is as
    deep follows; those between lie in it, and the first of them begins with it).
    """
    lines: list[Any] = [{"pass_events": 1, "metadata": metadata}]
    starts, around = [0], []
    for number, (name, ms, depth) in enumerate(passes):
        del starts[depth + 1 :], around[depth:]
        start, parent = starts[depth], around[-1] if around else None
        end = start + ms * MS
        starts[depth] = end
        starts.append(start)
        around.append(number)
        event = {"name": name, "sequence": number, "depth": depth, "parent_sequence": parent}
        lines.append({**event, "start_ns": start, "end_ns": end})
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture
def base() -> str:
    return log("base.events.jsonl", ("lower", 110, 0), ("Layout", 10, 1), ("Tile", 99, 1))


@pytest.fixture
def new() -> str:
    return log("new.events.jsonl", ("lower", 412, 0), ("Layout", 310, 1), ("Tile", 101, 1))


Capture = pytest.CaptureFixture[str]


def compared(capsys: Capture, *arguments: str) -> Any:
    """What `compare --format json` says."""
    assert main(["compare", "--format", "json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def adds_up(found: Any) -> bool:
    total = found["total"]
    parts = sum(entry["self_delta_ns"] for entry in found["passes"])
    parts += found["left_out"]["self_delta_ns"] + total["between_delta_ns"]
    return bool(parts == total["delta_ns"] == total["new_ns"] - total["base_ns"])


# ------------------------------------------------------------------------------------ what it says


def test_json_has_what_changed(base: str, new: str, capsys: Capture) -> None:
    found = compared(capsys, base, new)
    assert adds_up(found)
    assert found["total"]["delta_ns"] == 302 * MS
    first = found["passes"][0]
    assert (
        first.items()
        >= {
            "name": "Layout",
            "path": ["lower", "Layout"],
            "change": "matched",
            "base_ns": 10 * MS,
            "new_ns": 310 * MS,
            "self_delta_ns": 300 * MS,
            "ratio": 31.0,
            "verdict": "unknown",
        }.items()
    )
    assert {entry["name"]: entry["self_delta_ns"] for entry in found["passes"]} == {
        "Layout": 300 * MS,
        "Tile": 2 * MS,
        "lower": 0,
    }


def test_a_long_change_counts_more_than_a_large_factor(capsys: Capture) -> None:
    before = log("a.events.jsonl", ("lower", 1200, 0), ("Layout", 100, 1), ("Simplify", 1, 1))
    after = log("b.events.jsonl", ("lower", 4300, 0), ("Layout", 3100, 1), ("Simplify", 30, 1))
    assert main(["compare", before, after]) == 0
    shown = capsys.readouterr().out
    assert "of +3.100 s, Layout is +3.000 s" in shown
    assert shown.index(" Layout\n") < shown.index(" Simplify\n")


def test_different_lists_of_passes_are_aligned(capsys: Capture) -> None:
    names = ["LegalizeOps", "FuseOps", "FuseTIR", "FoldConstant", "Simplify", "UnrollLoop"]
    cpu = log("cpu.events.jsonl", *((n, 2, 0) for n in [*names, "Simplify", "VMShapeLower"]))
    names[3], names[5] = "DLightSchedule", "ThreadSync"
    more = ["Simplify", "VectorizeLoop", "Simplify", "VMShapeLower"]
    gpu = log("gpu.events.jsonl", *((n, 2, 0) for n in [*names, *more]))
    found = compared(capsys, cpu, gpu)
    assert adds_up(found)
    matched = sorted(e["name"] for e in found["passes"] if e["change"] == "matched")
    common = ["FuseOps", "FuseTIR", "LegalizeOps", "Simplify", "Simplify", "VMShapeLower"]
    assert matched == common
    assert main(["compare", cpu, gpu, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sum(int(row["base_ns"] or 0) for row in rows) == 16 * MS
    assert sum(int(row["new_ns"] or 0) for row in rows) == 20 * MS


@pytest.mark.parametrize("by", ["pass", "phase", "kernel", "path"])
@pytest.mark.parametrize("form", ["table", "markdown", "json", "csv"])
def test_a_trace_is_like_itself(base: str, by: str, form: str, capsys: Capture) -> None:
    assert main(["compare", base, base, "--by", by, "--format", form]) == 0
    shown = capsys.readouterr().out
    if form == "json":
        found = json.loads(shown)
        assert found["first_divergence"] is None and not found["context_changes"]
        assert {entry["change"] for entry in found["passes"]} == {"matched"}
        assert {entry["self_delta_ns"] for entry in found["passes"]} == {0}
    elif form == "csv":
        assert {row["self_delta_ns"] for row in csv.DictReader(io.StringIO(shown))} == {"0"}
    else:
        assert "none in the total" in shown
        assert "First divergence" not in shown and "failed" not in shown


def test_a_failed_compile_is_compared_with_a_whole_one(capsys: Capture) -> None:
    error = {"type": "ValueError", "cause": "exception", "message": "no tile"}
    failed = {"status": "failed", "error": {**error, "detail": "no tile"}}
    whole = one_lane(
        (0, 10 * MS, "A", "pass", {"status": "ok"}),
        (10 * MS, 20 * MS, "B", "pass", {"status": "ok"}),
        (20 * MS, 30 * MS, "C", "pass", {"status": "ok"}),
    )
    broken = one_lane(
        (0, 10 * MS, "A", "pass", {"status": "ok"}), (10 * MS, 15 * MS, "B", "pass", failed)
    )
    tilelang_trace.write(whole, "whole.json")
    tilelang_trace.write(broken, "broken.json")
    assert main(["compare", "whole.json", "broken.json"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("failed in new only: B (ok in base): no tile\n")
    assert "not reached" in shown
    found = compared(capsys, "whole.json", "broken.json")
    assert {e["name"]: e["change"] for e in found["passes"]}["C"] == "not_reached"
    assert found["first_divergence"]["kind"] == "failure"


# ------------------------------------------------------------------------------------ what it takes


def test_several_runs_a_side_are_averaged(capsys: Capture) -> None:
    sides = [[log(f"{s}{n}.events.jsonl", ("A", n, 0)) for n in range(1, 4)] for s in "ab"]
    found = compared(capsys, "--base", *sides[0], "--new", *sides[1][1:])
    assert found["base"]["names"] == sides[0]
    assert (found["total"]["base_ns"], found["total"]["new_ns"]) == (2 * MS, 2_500_000)
    assert found["passes"][0]["base_runs_ns"] == [MS, 2 * MS, 3 * MS]


def test_a_folder_stands_for_the_traces_in_it(base: str, capsys: Capture) -> None:
    for number in (2, 1):
        log(f"runs/{number}.events.jsonl", ("lower", 110, 0))
    Path("runs/notes.txt").write_text("warm machine\n")
    Path("runs/.hidden").write_text("")
    Path("runs/sub").mkdir()
    found = compared(capsys, base, "runs")
    assert found["new"]["names"] == ["runs/1.events.jsonl", "runs/2.events.jsonl"]
    left_out = [note for note in found["notes"] if "left out" in note]
    assert len(left_out) == 1 and "runs/notes.txt" in left_out[0]


def test_a_folder_without_a_trace_is_a_mistake(base: str, capsys: Capture) -> None:
    Path("empty").mkdir()
    assert main(["compare", base, "empty"]) == 2
    said = capsys.readouterr().err
    assert said == "tilelang-trace: empty: no trace in this folder\n"


@pytest.mark.parametrize("name", ["x.pftrace.journal", "renamed"])
def test_a_folder_of_journals_is_one_trace(base: str, name: str, capsys: Capture) -> None:
    """These have no pass, as the message says; what is in them is for other tests."""
    Path("runs").mkdir()
    journals = JournalFolder(Path("runs/x.pftrace"))
    Journal(journals.path).close()
    journals.release()
    journals.path.rename(Path("runs", name))
    assert main(["compare", base, f"runs/{name}"]) == 3
    assert f"no pass ran in runs/{name} (new)" in capsys.readouterr().err


def test_in_a_folder_journals_count_if_their_trace_is_not_there(base: str, capsys: Capture) -> None:
    Path("runs").mkdir()
    for name in ("done", "unfinished"):
        journals = JournalFolder(Path(f"runs/{name}.pftrace"))
        Journal(journals.path).close()
        journals.release()
    log("runs/done.pftrace", ("lower", 110, 0))
    assert main(["compare", base, "runs"]) == 3
    said = capsys.readouterr().err
    assert "no pass ran in runs/unfinished.pftrace.journal (new)" in said and "done" not in said


def test_options_may_stand_anywhere(base: str, new: str, capsys: Capture) -> None:
    assert main(["compare", base, "--top", "1", new, "--by", "path"]) == 0
    assert main(["diff", "--format", "markdown", base, new]) == 0
    assert "# Comparison" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["base.events.jsonl"],
        ["--base", "base.events.jsonl"],
        ["base.events.jsonl", "new.events.jsonl", "--base", "base.events.jsonl"],
        ["base.events.jsonl", "missing.pftrace"],
        ["base.events.jsonl", "new.events.jsonl", "--align", "passes"],
        ["base.events.jsonl", "new.events.jsonl", "-o", "x.zip", "--align", "passes"],
        ["base.events.jsonl", "new.events.jsonl", "-o", "x.events.jsonl"],
        ["base.events.jsonl", "new.events.jsonl", "-o", "x.txt"],
    ],
)
def test_mistakes_are_one_line(base: str, new: str, arguments: list[str], capsys: Capture) -> None:
    assert main(["compare", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and len(shown.err.splitlines()) == 1


@pytest.mark.parametrize("threshold", ["-1%", "many", "nan", ""])
def test_a_threshold_is_a_percentage(threshold: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", "a", "b", "--threshold", threshold])
    assert stop.value.code == 2


# -------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize("turned", [False, True])
def test_without_passes_there_is_nothing_to_compare(
    base: str, form: str, turned: bool, capsys: Capture
) -> None:
    cached = log("second.events.jsonl", kernel="main", cache="unknown", wall_ns=1_300_000)
    sides = [cached, base] if turned else [base, cached]
    assert main(["compare", *sides, "--format", form]) == 3
    shown = capsys.readouterr()
    assert shown.out == "" and len(shown.err.splitlines()) == 1
    side = "base" if turned else "new"
    assert f"no pass ran in second.events.jsonl ({side})" in shown.err
    assert "TILELANG_DISABLE_CACHE=1" in shown.err and "%" not in shown.err


def test_it_says_why_there_was_no_pass(base: str, capsys: Capture) -> None:
    error = {"type": "ValueError", "cause": "exception", "message": "no tile"}
    arguments = {"status": "failed", "error": {**error, "detail": "no tile"}}
    tilelang_trace.write(one_lane((0, 9, "compile gemm", "compile", arguments)), "failed.json")
    hit = {"status": "ok", "cache": "hit"}
    tilelang_trace.write(one_lane((0, 9, "compile gemm", "compile", hit)), "hit.json")
    hidden = {"status": "ok", "hidden": {"count": 3, "ns": 9}}
    tilelang_trace.write(one_lane((0, 9, "compile gemm", "compile", hidden)), "hidden.json")
    for name, why in (
        ("failed", "compile gemm failed: no tile"),
        ("hit", "it came from the cache"),
        ("hidden", "--min-ms"),
    ):
        assert main(["compare", base, f"{name}.json"]) == 3
        assert why in capsys.readouterr().err


def test_fail_on_slower_is_an_exit_code_and_a_reason(base: str, new: str, capsys: Capture) -> None:
    strict = ["--fail-on", "slower", "--threshold", "10%"]
    assert main(["compare", base, new, *strict]) == 1
    shown = capsys.readouterr()
    assert "Layout" in shown.out
    (line,) = shown.err.splitlines()
    assert "--fail-on slower" in line and "Layout +300.000 ms" in line
    assert main(["compare", new, base, *strict]) == 0
    assert main(["compare", base, base, *strict]) == 0
    assert main(["compare", base, new, *strict, "--min-ms", "1000"]) == 0


# ---------------------------------------------------------------------------------------- timeline


@pytest.mark.parametrize("output", ["both.pftrace", "both.json", "both.json.gz"])
def test_both_compiles_as_a_file_are_for_perfetto_only(
    base: str, new: str, output: str, capsys: Capture
) -> None:
    assert main(["compare", base, new, "-o", output, "--align", "passes"]) == 0
    assert f"wrote {output}" in capsys.readouterr().err
    names = [tilelang_trace.read(output).name(row) for row in range(9)]
    assert names.count("Layout") == 2
    for command in (["report", output], ["compare", base, output]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert f"{output}: this is a comparison" in said and len(said.splitlines()) == 1
    assert main(["convert", output, "-o", "again.json"]) == 0


def test_both_compiles_as_an_archive(base: str, new: str) -> None:
    assert main(["compare", base, new, "-o", "both.zip"]) == 0
    assert Path("both.zip").read_bytes().startswith(b"PK")


def test_an_archive_with_both_is_compared_again(base: str, new: str, capsys: Capture) -> None:
    assert main(["compare", base, new, "-o", "both.zip"]) == 0
    capsys.readouterr()
    assert main(["compare", "both.zip", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["delta_ns"] == 302 * MS
    assert main(["compare", "both.zip/new.json", "both.zip/base.json", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["delta_ns"] == -302 * MS
    # The archive of what comes from an archive has the same traces.
    command = ["compare", "both.zip/base.json", "both.zip/new.json", "-o", "again.zip"]
    assert main(command) == 0
    with zipfile.ZipFile("both.zip") as first, zipfile.ZipFile("again.zip") as again:
        assert first.namelist() == again.namelist()
        for name in ("base.json", "new.json"):
            assert first.read(name) == again.read(name)
    capsys.readouterr()
    assert main(["compare", base]) == 2
    assert "no archive with a trace base and a trace new" in capsys.readouterr().err


def test_the_same_inputs_give_the_same_output(base: str, new: str, capsys: Capture) -> None:
    written = []
    for name in ("x.pftrace", "y.pftrace"):
        assert main(["compare", base, new, "-o", name]) == 0
        written.append((capsys.readouterr().out, Path(name).read_bytes()))
    assert written[0] == written[1]


# ------------------------------------------------------------------------------------------ Python


def test_from_python_it_takes_paths_and_traces(base: str, new: str) -> None:
    by_path = tilelang_trace.compare(base, Path(new))
    read = [tilelang_trace.read(path) for path in (base, new)]
    by_trace = tilelang_trace.compare(read[0], [read[1], new], min_ms=1, threshold=0.1)
    assert by_path.total.delta_ns == by_trace.total.delta_ns == 302 * MS
    assert by_trace.base.names == ("base",) and by_trace.new.names == ("new 1", new)
    changed = max(by_path.passes, key=lambda entry: abs(entry.self_delta_ns))
    assert (changed.name, changed.self_delta_ns) == ("Layout", 300 * MS)


def test_from_python_mistakes_are_exceptions(base: str) -> None:
    with pytest.raises(UserError, match=r"missing\.pftrace"):
        tilelang_trace.compare(base, "missing.pftrace")
    with pytest.raises(NothingToCompare, match="nothing to compare"):
        tilelang_trace.compare(base, one_lane((0, 9, "x", "compile")))
