"""Both traces of a comparison in a .zip: what is in it, and what its manifest says of the times."""

from __future__ import annotations

import gzip
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.traces import START, nested_compile, one_lane, with_start
from tilelang_trace.formats import files
from tilelang_trace.formats.archives.together import Original, write_both
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Trace

SECOND = 10**9


def started(later: int) -> Trace:
    """A recording of another moment: all clocks show so much more, and more for the boot clock."""
    trace = with_start()
    parts = Parts.of(trace)
    clocks = {name: time + later for name, time in START.items()}
    clocks["boottime_ns"] += SECOND
    instants = trace.instants
    return assemble(
        replace(
            parts,
            begin=parts.begin + later,
            end=parts.end + later,
            instants=replace(instants, time=instants.time + later),
            metadata={"start": clocks},
        )
    )


def original(folder: Path, name: str, trace: Trace) -> Original:
    files.write(trace, folder / name)
    return Original(str(folder / name), files.read(folder / name))


def written(folder: Path, base: Original, new: Original) -> dict[str, bytes]:
    output = folder / "both.zip"
    write_both(base, new, output)
    with zipfile.ZipFile(output) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def manifest(members: dict[str, bytes]) -> dict[str, Any]:
    text = members["perfetto_manifest.json"].decode()
    # Perfetto knows a manifest by its first characters.
    assert "".join(text.split()).startswith('{"perfetto_manifest":')
    found: dict[str, Any] = json.loads(text)["perfetto_manifest"]
    assert found["version"] == 1
    return found


def test_both_traces_are_in_it_byte_for_byte(tmp_path: Path) -> None:
    base = original(tmp_path, "one.pftrace", started(0))
    new = original(tmp_path, "two.pftrace.gz", started(5))
    members = written(tmp_path, base, new)
    assert list(members) == ["perfetto_manifest.json", "base.pftrace", "new.pftrace"]
    assert members["base.pftrace"] == Path(base.path).read_bytes()
    assert members["new.pftrace"] == gzip.decompress(Path(new.path).read_bytes())


@pytest.mark.parametrize(("later", "latest"), [(3 * SECOND, "new"), (-9 * SECOND, "base")])
def test_the_earlier_pftrace_is_moved_by_its_boot_clock(
    tmp_path: Path, later: int, latest: str
) -> None:
    """As in Perfetto's tests test_sync_to_file_offset and test_trace_time_file."""
    base = original(tmp_path, "one.pftrace", with_start())
    new = original(tmp_path, "two.pftrace", started(later))
    found = manifest(written(tmp_path, base, new))
    entries = {
        name: {"path": f"{name}.pftrace", "machine": {"name": name}} for name in ("base", "new")
    }
    earlier = "base" if latest == "new" else "new"
    entries[earlier]["clocks"] = {
        "clock": "BOOTTIME",
        "sync_to": {"file": f"{latest}.pftrace", "clock": "BOOTTIME"},
        "offset_ns": abs(later + SECOND),
    }
    assert found == {
        "version": 1,
        "trace_time": {"clock": "BOOTTIME", "file": f"{latest}.pftrace"},
        "files": [entries["base"], entries["new"]],
        "attributes": {"tilelang_trace.base": "one.pftrace", "tilelang_trace.new": "two.pftrace"},
    }


def test_json_is_moved_by_the_times_in_the_file(tmp_path: Path) -> None:
    """As in Perfetto's test_clockless_manual_cross_machine: it has no clock but its own."""
    base = original(tmp_path, "one.json", with_start())  # begins 1,001 ns after the start
    new = original(tmp_path, "two.json", one_lane((5_000, 6_000, "Lower", "pass")))
    members = written(tmp_path, base, new)
    found = manifest(members)
    assert members["base.json"] == Path(base.path).read_bytes()
    assert found["trace_time"]["file"] == "new.json"
    assert found["files"][0]["clocks"] == {
        "sync_to": {"file": "new.json", "clock": "BOOTTIME"},
        "offset_ns": 5_000 - 1_001,
    }
    assert "clocks" not in found["files"][1]


def test_a_trace_of_another_tool_goes_in_as_it_is(tmp_path: Path) -> None:
    text = '[{"ph":"M","pid":1,"name":"process_name","args":{"name":"x"}},\n'
    text += '{"ph":"X","ts":1e12,"dur":5,"pid":1,"tid":1,"name":"a"}]'
    (tmp_path / "foreign.json").write_text(text)
    base = original(tmp_path, "one.pftrace", with_start())
    foreign = Original(str(tmp_path / "foreign.json"), files.read(tmp_path / "foreign.json"))
    members = written(tmp_path, base, foreign)
    assert members["new.json"] == text.encode()
    first = START["boottime_ns"] + 1_001
    clocks = manifest(members)["files"][1]["clocks"]
    assert clocks["offset_ns"] == first - 10**15
    assert manifest(members)["trace_time"]["file"] == "base.pftrace"


@pytest.mark.parametrize("name", ["two.events.jsonl", "two.pftrace", "no such file.pftrace"])
def test_what_perfetto_cannot_open_or_move_is_written_as_json(tmp_path: Path, name: str) -> None:
    base = original(tmp_path, "one.pftrace", with_start())
    trace = one_lane((0, 10, "Lower", "pass", {"sequence": 0, "depth": 0, "status": "ok"}))
    new = original(tmp_path, name.replace("no such file", "file"), trace)
    members = written(tmp_path, base, replace(new, path=str(tmp_path / name)))
    assert list(members)[2] == "new.json"
    (tmp_path / "back.json").write_bytes(members["new.json"])
    assert files.read(tmp_path / "back.json") == new.trace


def test_it_has_the_same_bytes_each_time_and_files_only(tmp_path: Path) -> None:
    base = original(tmp_path, "one.pftrace", nested_compile())
    output = tmp_path / "both.zip"
    write_both(base, base, output)
    first = output.read_bytes()
    write_both(base, base, output)
    assert output.read_bytes() == first
    with zipfile.ZipFile(output) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert not any(entry.is_dir() for entry in archive.infolist())
