"""The command line as a whole: what is imported, what is said, which exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import synthetic
from tests.traces import main_thread
from tilelang_trace.commands import COMMANDS, main
from tilelang_trace.formats import files
from tilelang_trace.trace.build import TraceBuilder

LOG = (
    b'{"pass_events": 1, "metadata": {}}\n'
    b'{"name": "lower", "sequence": 0, "depth": 0, "start_ns": 0, "end_ns": 1000}\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.events.jsonl"
    path.write_bytes(LOG)
    return path


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import tilelang_trace",
        "import tilelang_trace.events",
        "import tilelang_trace.pass_timing",
        "from tilelang_trace import record, TraceInstrument, read, write, Trace, summarize",
        "from tilelang_trace.commands import main; main(['report', '{log}', '--format', 'json'])",
        "from tilelang_trace.commands import main; main(['convert', '{log}', '-o', '{log}.json'])",
    ],
)
def test_what_records_nothing_does_not_import_tvm(statement: str, log: Path) -> None:
    loaded = loaded_after(statement.format(log=log))
    assert not {"tvm", "tilelang", "tvm_ffi"} & loaded


def test_importing_the_package_imports_no_dependency() -> None:
    loaded = loaded_after("import tilelang_trace")
    assert not {"numpy", "orjson", "perfetto", "rich", "google.protobuf"} & loaded


HEAVY = {"numpy", "orjson", "perfetto", "google.protobuf", "rich"}
"""What takes longer to import than all of `--help` may take."""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["compare"]])
def test_what_reads_no_trace_imports_no_dependency(arguments: list[str]) -> None:
    loaded = loaded_after(
        f"from tilelang_trace.commands import main\ntry: main({arguments})\nexcept SystemExit: pass"
    )
    assert not HEAVY & loaded


def test_help_imports_no_command_and_little_that_argparse_does_not() -> None:
    alone = loaded_after("import argparse, json\nargparse.ArgumentParser().format_help()")
    program = "from tilelang_trace.commands import _parser; _parser().format_help()"
    more = loaded_after(program) - alone
    assert {name for name in more if not name.startswith("tilelang_trace")} <= {
        "__future__",
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "textwrap",
        "warnings",
    }
    assert not more & {f"tilelang_trace.commands.{name}" for name in COMMANDS}


def test_reading_and_summing_import_no_part_of_numpy_that_takes_long(tmp_path: Path) -> None:
    path = tmp_path / "x.pftrace"
    files.write(synthetic.trace(200), path)
    program = "from tilelang_trace.commands import main; main(['report', {!r}])"
    assert not {"numpy.ma", "numpy.random", "numpy.fft"} & loaded_after(program.format(str(path)))


def test_a_report_imports_only_what_it_needs(log: Path) -> None:
    program = "from tilelang_trace.commands import main; main(['report', {!r}, '--format', {!r}])"
    assert not (HEAVY - {"numpy", "orjson"}) & loaded_after(program.format(str(log), "json"))
    shown = loaded_after(program.format(str(log), "table"))
    assert not {"perfetto", "google.protobuf", "rich.live", "rich.progress"} & shown


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("run", "report", "convert"))


@pytest.mark.parametrize("name", ["out.pftrace", "out.json", "out.pftrace.gz", "out.json.gz"])
def test_convert_goes_there_and_back(
    log: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    back = tmp_path / "back.events.jsonl"
    assert main(["convert", str(log), "-o", str(tmp_path / name)]) == 0
    assert main(["convert", str(tmp_path / name), "-o", str(back)]) == 0
    assert capsys.readouterr() == ("", "")
    header, line = back.read_text().splitlines()
    assert header == '{"pass_events":1,"metadata":{}}'
    assert '"name":"lower"' in line
    assert '"start_ns":0,"end_ns":1000' in line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"hello world", "neither a Perfetto trace, Chrome JSON nor a pass-event log"),
        (b'{"traceEvents": [\n{"ph": "X",,}]}', "line 2"),
        (b'{"pass_events": 1}\n{"name": "x"}\n', "line 2: the pass has no 'sequence'"),
        (b"\x1f\x8b\x08\x00cut", "damaged gzip"),
    ],
)
@pytest.mark.parametrize("command", ["convert", "report"])
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, content: bytes, said: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(content)
    output = ["-o", str(tmp_path / "out.json")] if command == "convert" else []
    assert main([command, str(bad), *output]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert str(bad) in err
    assert said in err
    assert [p.name for p in tmp_path.iterdir()] == ["bad"]


def test_convert_says_what_was_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlapping = tmp_path / "overlap.json"
    overlapping.write_text(
        '[{"name": "a", "ph": "X", "ts": 0, "dur": 100, "pid": 1, "tid": 1},\n'
        '{"name": "b", "ph": "X", "ts": 80, "dur": 60, "pid": 1, "tid": 1}]'
    )
    assert main(["convert", str(overlapping), "-o", str(tmp_path / "out.json")]) == 0
    said = capsys.readouterr().err
    mend = "event 2: overlap: 'b' overlaps 'a' of event 1: moved to lane 2"
    assert f"1 places mended, the first: {mend}" in said


def test_a_wrong_option_is_one_line_and_exit_code_2(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["report", str(log), "--by", "thread"])
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "invalid choice: 'thread'" in line
    assert "tilelang-trace report --help" in line


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A file with two kernels of a pass of 2 ms and one of 1 ms."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    for number, kernel in enumerate(("gemm", "soft/max")):
        at = 10_000_000 * number
        arguments = {"status": "ok", "kernel": kernel}
        builder.slice(lane, at, at + 5_000_000, "compile", "compile", arguments)
        builder.slice(lane, at, at + 2_000_000, "Lower", "pass", {"status": "ok"})
        builder.slice(lane, at + 2_000_000, at + 3_000_000, "Simplify", "pass", {"status": "ok"})
    path = tmp_path / "all.pftrace"
    files.write(builder.build(), path)
    return path


@pytest.mark.parametrize(
    ("options", "output", "written"),
    [
        ([], "out.json", {"out.json": 6}),
        (["--only", "gemm"], "out.json", {"out.json": 3}),
        (["--only", "gemm", "--only", "s*"], "out.json", {"out.json": 6}),
        (["--min-ms", "1.5"], "out.json", {"out.json": 4}),
        (["--split", "kernel"], "out.json.gz", {"out.gemm.json.gz": 3, "out.soft_max.json.gz": 3}),
        (["--min-ms", "2.5"], "{kernel}-x.json", {"gemm-x.json": 1, "soft_max-x.json": 1}),
    ],
)
def test_convert_leaves_out_and_splits(
    kernels: Path, options: list[str], output: str, written: dict[str, int]
) -> None:
    folder = kernels.parent
    assert main(["convert", str(kernels), "-o", str(folder / output), *options]) == 0
    kernels.unlink()
    assert {p.name: len(files.read(p).slices) for p in folder.iterdir()} == written


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "gem"], "no kernel matches 'gem'; there is 'gemm', 'soft/max'"),
        (["-o", "{pid}.json"], "unknown field {pid}; there is {kernel}"),
    ],
)
def test_convert_refuses_what_makes_no_sense(
    kernels: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(kernels), "-o", str(kernels.parent / "o.json"), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert [p.name for p in kernels.parent.iterdir()] == ["all.pftrace"]
