"""The recordings of `fixtures/`: they load, say the same in each format, and may be published."""

from __future__ import annotations

import gzip
import json
import platform
import re
from pathlib import Path

import pytest

import tilelang_trace
from tilelang_trace import Trace

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SCRIPTS = sorted(path.stem for path in (FIXTURES / "compiles").glob("*.py"))
RECORDINGS = sorted((FIXTURES / "recordings").iterdir())
FAILED = {
    "fails_in_nested_pass": ["user.CheckTiles"],
    "tilelang_fails": ["tl.LayoutInference"],
}

for_each_recording = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
for_each_script = pytest.mark.parametrize("name", SCRIPTS)


def recording(name: str, ending: str) -> Path:
    return FIXTURES / "recordings" / (name + ending)


def passes(trace: Trace) -> list[tuple[str, dict[str, object], int, int]]:
    """Name, arguments, begin and end of each pass, in the order in which they began."""
    rows = trace.is_kind("pass").nonzero()[0]
    found = [
        (
            trace.name(row),
            trace.arguments.of(row),
            int(trace.slices.begin[row]),
            int(trace.slices.end[row]),
        )
        for row in rows.tolist()
    ]
    return sorted(found, key=lambda each: (each[2], each[1]["depth"]))


@for_each_recording
def test_loads_without_a_finding(path: Path) -> None:
    assert not tilelang_trace.read(path).findings


@for_each_script
def test_trace_and_log_have_the_same_passes(name: str) -> None:
    trace = tilelang_trace.read(recording(name, ".pftrace"))
    log = tilelang_trace.read(recording(name, ".events.jsonl"))
    assert passes(trace)
    assert passes(trace) == passes(log)


@pytest.mark.parametrize("name", [path.stem for path in RECORDINGS if path.suffix == ".json"])
def test_json_says_what_the_protobuf_says(name: str) -> None:
    json_trace = tilelang_trace.read(recording(name, ".json"))
    assert json_trace == tilelang_trace.read(recording(name, ".pftrace"))


@for_each_script
def test_the_pass_that_failed_is_the_only_failed_one(name: str) -> None:
    trace = tilelang_trace.read(recording(name, ".pftrace"))
    failed = [name for name, arguments, *_ in passes(trace) if arguments["status"] == "failed"]
    assert failed == FAILED.get(name, [])


def test_message_and_detail_of_the_failure_are_text_without_colour_codes() -> None:
    trace = tilelang_trace.read(recording("fails_in_nested_pass", ".pftrace"))
    (error,) = [a["error"] for _, a, *_ in passes(trace) if a["status"] == "failed"]
    assert error == {
        "type": "ValueError",
        "cause": "exception",
        "message": "fc1 can't be cut into tiles: 24 ÷ 16 is not whole",
        "detail": "fc1 can't be cut into tiles: 24 ÷ 16 is not whole\n"
        "  形状: (n, 24)\n"
        "  error: choose a width of 16, 32 or 48 🔥",
    }


def test_many_passes_are_many_and_lie_in_contexts_inside_passes() -> None:
    trace = tilelang_trace.read(recording("many_passes", ".pftrace"))
    assert len(passes(trace)) > 500
    is_pass, parent = trace.is_kind("pass"), trace.slices.parent
    contexts = trace.is_kind("context").nonzero()[0].tolist()
    inside = [row for row in contexts if parent[row] >= 0 and is_pass[parent[row]]]
    assert len(inside) == 9


@for_each_recording
def test_tells_nothing_of_the_machine(path: Path) -> None:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    found = re.search(rb"/(root|work|home|tmp|Users|usr|opt|var|mnt)/|[A-Z]:\\Users", data)
    assert found is None, data[found.start() - 20 : found.end() + 60]
    metadata = dict(tilelang_trace.read(path).metadata)
    if platform.node():
        assert not re.search(rf"\b{re.escape(platform.node())}\b", json.dumps(metadata))
    if "command" in metadata:
        assert metadata["command"][0] == "python"
        assert metadata["working_directory"] == "."
        assert set(metadata["host"]) == {"platform", "machine"}


@for_each_recording
def test_is_small(path: Path) -> None:
    assert path.stat().st_size <= 200_000


def test_every_script_and_recording_stands_in_the_readme() -> None:
    text = (FIXTURES / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+)`", text))
    assert {f"{name}.py" for name in SCRIPTS} <= named
    assert {path.name for path in RECORDINGS} <= named
