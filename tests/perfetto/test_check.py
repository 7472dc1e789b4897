"""`check --engine`: what Perfetto's own engine says of our files, and of broken ones."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.own_files import own_files
from tests.perfetto.engine import Engine
from tests.perfetto.test_engine_harness import NESTED, chrome_json, event, protobuf
from tests.unit.test_pitfalls import CASES
from tilelang_trace import checking, read, write
from tilelang_trace.commands import main

PROBLEM = chrome_json(event("X", "a", 1, dur=10), event("X", "b", 5, dur=10))


def of_engine(engine: Engine, path: Path) -> list[tuple[str, str]]:
    """Place and text of what the engine says."""
    found = checking.check_file(str(path), engine).findings
    return [(each.place, each.done) for each in found if each.rule == "engine"]


def test_it_takes_all_that_we_write_without_a_word(perfetto_engine: Engine, tmp_path: Path) -> None:
    for path in own_files(tmp_path):
        checked = checking.check_file(str(path), perfetto_engine)
        assert not list(checked.findings), path
        assert checked.engine.startswith("Perfetto v")


def test_what_it_counts_is_told(perfetto_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(PROBLEM)
    ((place, said),) = of_engine(perfetto_engine, path)
    assert place == "the whole file"
    assert said.startswith("counts 1 x slice_drop_overlapping_complete_event (error): A complete")


def test_loss_that_perfetto_calls_information_is_told(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "x.pftrace"
    path.write_bytes(protobuf(intact=False))
    said = " ".join(done for _, done in of_engine(perfetto_engine, path))
    assert "tokenizer_skipped_packets (info)" in said


def test_a_refusal_is_told(perfetto_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\n" + NESTED[:1] + b" " * 5000 + NESTED[1:])
    ((_, said),) = of_engine(perfetto_engine, path)
    assert said.startswith("refused: ")
    assert "\n" not in said
    path.write_bytes(NESTED)
    assert of_engine(perfetto_engine, path) == []


def test_what_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pftrace"
    path.write_bytes(protobuf())
    endless = chrome_json(event("C", "memory", 1, args={"bytes": float("nan")}))
    monkeypatch.setattr(checking, "_LEAST_S", 1.0)
    # As a stand-in for what we read and the engine does not.
    monkeypatch.setattr(checking, "_as_perfetto_gets", lambda original: iter([endless]))
    with checking.the_engine() as engine:
        ((_, said),) = of_engine(engine, path)  # type: ignore[arg-type]
    assert said == "not loaded in 1 s"


def test_each_trace_of_an_archive_and_each_journal_is_asked(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sound.json", NESTED.replace(b'"pid": 1', b'"pid": 2'))
        archive.writestr("broken.json", PROBLEM)
    ((place, _),) = of_engine(perfetto_engine, path)
    assert place == "broken.json: the whole file"
    ((place, _),) = of_engine(perfetto_engine, path / "broken.json")
    assert place == "the whole file"
    assert of_engine(perfetto_engine, path / "sound.json") == []

    journals = tmp_path / "x.pftrace.journal"
    journals.mkdir()
    (journals / "1.pftrace").write_bytes(protobuf())
    (journals / "2.pftrace").write_bytes(protobuf(intact=False))
    assert "tokenizer_skipped_packets" in str(of_engine(perfetto_engine, journals))


@pytest.mark.usefixtures("perfetto_engine")
def test_the_command_asks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILELANG_TRACE_ENGINE", raising=False)
    path = tmp_path / "x.json"
    path.write_bytes(PROBLEM)
    assert main(["check", "--engine", "--format", "json", str(path)]) == 1
    file: dict[str, Any] = json.loads(capsys.readouterr().out)["files"][0]
    assert file["engine"].startswith("Perfetto v")
    assert [rule["rule"] for rule in file["rules"]] == ["overlap", "engine"]
    mended = tmp_path / "y.json"
    assert main(["convert", str(path), "-o", str(mended)]) == 0
    assert main(["check", "--engine", str(mended)]) == 0


@CASES
@pytest.mark.parametrize("ending", [".pftrace", ".json"])
def test_what_convert_mends_it_takes_without_a_word(
    perfetto_engine: Engine, tmp_path: Path, rule: str, data: bytes, ending: str
) -> None:
    path, mended = tmp_path / "x", tmp_path / f"y{ending}"
    path.write_bytes(data)
    write(read(path), mended)
    assert perfetto_engine.load(mended).problems() == []
