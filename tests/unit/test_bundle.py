"""Bundles of hand-made Traces: what is in them, that they open again, and that nothing private is
in them.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.traces import failed_compile, nested_compile, one_lane, with_start
from tilelang_trace.commands import main
from tilelang_trace.formats import files
from tilelang_trace.sharing.bundle import bundle
from tilelang_trace.sharing.redaction.choice import Redaction
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Trace

TOKEN = "ghp_" + "a1B2" * 9
SECRETS = ("jdoe", "build-7.example.org", TOKEN, "secret_project", "j.doe@example.org")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Capture = pytest.CaptureFixture[str]


def with_metadata(trace: Trace, **metadata: Any) -> Trace:
    return assemble(replace(Parts.of(trace), metadata={**trace.metadata, **metadata}))


def private() -> Trace:
    """A failure with secrets in its error, its command line, a thread's name and its metadata."""
    user, host, token, project, mail = SECRETS
    message = f"/home/{user}/{project}/gemm.py: not found"
    detail = f"{message}\nask {mail}, Authorization: Bearer {token}"
    error = {"type": "OSError", "cause": "exception", "message": message, "detail": detail}
    trace = one_lane(
        (0, 90, "PassContext", "context", {"status": "incomplete", "context": 0, "error": error}),
        (10, 80, "Lower", "pass", {"status": "failed", "error": error, "sequence": 0, "depth": 0}),
    )
    return with_metadata(
        trace,
        command=["python", f"/home/{user}/{project}/run.py", f"--token={token}"],
        host={"hostname": host, "platform": "Linux"},
        working_directory=f"/home/{user}/{project}",
    )


def bundled(trace: Trace, *options: str, output: str = "report.zip") -> int:
    files.write(trace, "x.pftrace")
    return main(["bundle", "x.pftrace", "-o", output, *options])


def unzipped(path: str = "report.zip") -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


# --------------------------------------------------------------------------------------- contents


def test_a_zip_has_the_trace_in_sight_and_all_else_hidden() -> None:
    assert bundled(failed_compile(), "--redact", "none") == 0
    members = unzipped()
    visible = [name for name in members if not name.startswith(".")]
    assert visible == ["trace.pftrace"] and not any(name.endswith("/") for name in members)
    assert files.read("report.zip") == failed_compile()
    assert {
        ".report/README.md",
        ".report/summary.txt",
        ".report/environment.json",
        ".report/timeline.svg",
        ".report/timeline.png",
    } <= set(members)
    assert b"ApplySchedule" in members[".report/summary.txt"]
    assert b"<svg" in members[".report/timeline.svg"]
    assert members[".report/timeline.png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert "failed with" in members[".report/README.md"].decode()


def test_the_environment_is_the_metadata() -> None:
    assert bundled(nested_compile()) == 0
    found = json.loads(unzipped()[".report/environment.json"])
    assert found["versions"] == {"tvm": "0.27.0", "python": "3.12.3", "tilelang": None}


def test_a_tgz_unpacks_into_an_ordinary_folder() -> None:
    assert bundled(failed_compile(), output="gemm.tgz") == 0
    with tarfile.open("gemm.tgz") as archive:
        names = archive.getnames()
    assert names[0] == "gemm/trace.pftrace"
    assert {"gemm/README.md", "gemm/summary.txt", "gemm/timeline.png"} <= set(names)
    assert files.read("gemm.tgz").metadata == files.read("x.pftrace").metadata


@pytest.mark.parametrize("output", ["t.pftrace.gz", "t.json.gz"])
def test_the_trace_alone(output: str) -> None:
    assert bundled(private(), output=output) == 0
    assert Path(output).read_bytes().startswith(b"\x1f\x8b")
    trace = files.read(output)
    assert trace.name(1) == "Lower"
    content = gzip.decompress(Path(output).read_bytes())
    assert not any(secret.encode() in content for secret in SECRETS)


def test_both_sides_of_a_comparison(capsys: Capture) -> None:
    files.write(with_start(), "a.pftrace")
    files.write(with_start(), "b.pftrace")
    assert main(["bundle", "a.pftrace", "b.pftrace", "-o", "both.zip", "--print"]) == 0
    assert capsys.readouterr().out.startswith("# Comparison: `base -> new`")
    members = unzipped("both.zip")
    visible = [name for name in members if not name.startswith(".")]
    assert visible == ["perfetto_manifest.json", "base.pftrace", "new.pftrace"]
    environment = json.loads(members[".report/environment.json"])
    assert set(environment) == {"base", "new"}
    assert main(["compare", "both.zip", "--format", "json"]) in (0, 3)


def test_the_ir_is_there_to_read() -> None:
    def ir(after: str, **more: str) -> dict[str, Any]:
        return {"status": "ok", "ir": {"changed": True, "after": after, **more}}

    trace = one_lane(
        (0, 100, "Outer", "pass", ir("module 3")),
        (10, 20, "A/B", "pass", ir("module 1", before="module 0")),
        (30, 40, "C", "pass", ir("module 2", before="module 1")),
        (50, 60, "Same", "pass", {"status": "ok", "ir": {"changed": False}}),
    )
    assert bundled(trace) == 0
    found = {n: d for n, d in unzipped().items() if n.startswith(".report/ir/")}
    assert found == {
        ".report/ir/00001-A_B.before.py": b"module 0",
        ".report/ir/00001-A_B.after.py": b"module 1",
        ".report/ir/00002-C.after.py": b"module 2",
        ".report/ir/00000-Outer.after.py": b"module 3",
    }


def test_the_same_trace_gives_the_same_bytes() -> None:
    assert bundled(failed_compile()) == 0
    first = Path("report.zip").read_bytes()
    assert bundled(failed_compile()) == 0
    assert Path("report.zip").read_bytes() == first


def test_without_a_name_it_goes_beside_the_trace() -> None:
    Path("traces").mkdir()
    files.write(failed_compile(), "traces/mlp.pftrace")
    assert main(["bundle", "traces/mlp.pftrace", "--picture", "mlp.png"]) == 0
    assert zipfile.is_zipfile("traces/mlp.report.zip")
    assert Path("mlp.png").read_bytes().startswith(b"\x89PNG")


# -------------------------------------------------------------------------------------- redaction


@pytest.mark.parametrize("output", ["report.zip", "report.tgz"])
def test_nothing_private_is_in_it(output: str, capsys: Capture) -> None:
    assert bundled(private(), "--print", output=output) == 0
    text = capsys.readouterr().out
    if output.endswith("zip"):
        contents = unzipped()
    else:
        with tarfile.open(output) as archive:
            contents = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]
    for secret in SECRETS:
        assert secret not in text
        for name, data in contents.items():
            assert secret not in name
            assert secret.encode() not in data, name
    assert "<cwd>/gemm.py: not found" in text


def test_the_trace_itself_stays_as_it_is() -> None:
    files.write(private(), "x.pftrace")
    before = Path("x.pftrace").read_bytes()
    assert main(["bundle", "x.pftrace"]) == 0
    assert Path("x.pftrace").read_bytes() == before


def test_a_dry_run_tells_and_writes_nothing(capsys: Capture) -> None:
    assert bundled(private(), "--dry-run") == 0
    assert not Path("report.zip").exists()
    lines = capsys.readouterr().out.splitlines()
    (folder,) = (line for line in lines if line.startswith("folder: /home/jdoe/secret_project"))
    assert "-> <cwd>" in folder and "metadata command" in folder
    assert any(line.startswith("e-mail: j.doe@example.org -> ") for line in lines)


def test_a_name_that_is_private_is_not_in_the_archive() -> None:
    assert bundled(private(), output="jdoe.zip") == 0
    assert all(b"jdoe" not in data for data in unzipped("jdoe.zip").values())
    assert bundled(private(), output="jdoe.tgz") == 0
    with tarfile.open("jdoe.tgz") as archive:
        assert not any("jdoe" in name for name in archive.getnames())


def test_what_would_leak_is_not_written(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    real = bundle.members

    def leaking(*arguments: Any) -> dict[str, bytes]:
        return {**real(*arguments), ".report/forgotten.txt": b"see /home/jdoe/x"}

    monkeypatch.setattr(bundle, "members", leaking)
    Path("report.zip").write_bytes(b"as it was")
    assert bundled(private()) == 2
    assert Path("report.zip").read_bytes() == b"as it was"
    (line,) = capsys.readouterr().err.splitlines()
    assert "not written" in line and ".report/forgotten.txt" in line
    assert "jdoe" not in line


def test_names_of_kernels_become_the_same_pseudonyms() -> None:
    trace = one_lane((0, 9, "my_gemm", "compile", {"status": "ok", "kernel": "my_gemm"}))
    shown = []
    for output in ("a.zip", "b.zip"):
        assert bundled(trace, "--redact", "names", output=output) == 0
        redacted = files.read(output)
        shown.append((redacted.name(0), redacted.arguments.of(0)["kernel"]))
    assert shown[0] == shown[1] and shown[0][0] == shown[0][1] != "my_gemm"


# ----------------------------------------------------------------------------------------- limits


def test_what_does_not_fit_is_told(capsys: Capture) -> None:
    text = "".join(f"{n * n * 7919 % 1_000_003}" for n in range(20_000))
    trace = one_lane((0, 9, "A", "pass", {"status": "ok", "ir": {"after": text}}))
    choice = bundle.Choice(Redaction(), most_bytes=70_000)
    made = bundle.make_bundle({"trace": trace}, "r.zip", choice)
    assert len(made.archive) <= 70_000
    assert made.left_out == ("the IR of passes that did not fail",)
    assert "the IR of passes that did not fail" in made.issue


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.pftrace", "-o", "x.json"], "GitHub takes no such file"),
        (["x.pftrace", "-o", "x.pftrace"], "GitHub takes no such file"),
        (["x.pftrace", "--picture", "x.svg"], "the picture is a .png"),
        (["missing.pftrace"], "missing.pftrace"),
        (["x.pftrace", "--dry-run", "--redact", "none"], "--redact none hides nothing"),
        (["x.pftrace", "-o", "nowhere/x.zip"], "can't be written"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: Capture) -> None:
    files.write(nested_compile(), "x.pftrace")
    assert main(["bundle", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tilelang-trace: ") and message in line
    assert list(Path().iterdir()) == [Path("x.pftrace")]


def test_what_the_file_of_another_tool_lost_is_told(capsys: Capture) -> None:
    event = '{"name":"a","ph":"X","ts":0,"dur":5,"pid":1,"tid":1}'
    Path("x.json").write_text(f'{{"traceEvents":[{event},{event[:20]}')
    assert main(["bundle", "x.json", "-o", "report.zip"]) == 0
    lost, wrote = capsys.readouterr().err.splitlines()
    assert "1 place at which something is lost" in lost
    assert wrote.startswith("tilelang-trace: wrote report.zip")
