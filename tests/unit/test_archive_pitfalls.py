"""What Perfetto makes of archives that are not as it wants them, told by `check`.

What it does with each was tried on v58.2, or stands in its perfetto_manifest.md.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.traces import nested_compile, same_pid, two_threads, with_start
from tilelang_trace import check
from tilelang_trace.formats import files
from tilelang_trace.trace.model import Trace

MANIFEST = "perfetto_manifest.json"
Found = list[tuple[str, str]]


def as_pftrace(trace: Trace) -> bytes:
    return b"".join(files.PFTRACE.write(trace))


def as_json(trace: Trace) -> bytes:
    return b"".join(files.JSON.write(trace))


ONE = {"a.pftrace": as_pftrace(nested_compile())}  # pid 71
OTHER = {"b.pftrace": as_pftrace(two_threads())}  # pid 300


def zipped(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tarred(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "x.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def found(path: Path) -> Found:
    return [(finding.rule, finding.place) for finding in check(path)]


def manifest(*entries: Any, **more: Any) -> dict[str, bytes]:
    told = {"version": 1, "files": list(entries), **more}
    return {MANIFEST: json.dumps({"perfetto_manifest": told}).encode()}


BOTH_KINDS = pytest.mark.parametrize("packed", [zipped, tarred])


@BOTH_KINDS
@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, []),
        (OTHER, []),
        ({".report/README.md": b"text", "__MACOSX/._a": b"\0\5"}, []),
        ({".report/environment.json": b'{"versions": {}}'}, []),
        ({".old/a.pftrace": as_pftrace(two_threads())}, [("hidden-trace", ".old/a.pftrace")]),
        ({".a.json": as_json(two_threads())}, [("hidden-trace", ".a.json")]),
        ({"README.md": b"text"}, [("unknown-member", "README.md")]),
        ({"empty": b""}, [("unknown-member", "empty")]),
        ({"environment.json": b'{"versions": {}}'}, [("json-member", "environment.json")]),
        (
            {"x.events.jsonl": b'{"pass_events": 1, "metadata": {}}\n'},
            [("json-member", "x.events.jsonl")],
        ),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_files_that_are_no_traces(
    tmp_path: Path, packed: Any, members: dict[str, bytes], expected: Found
) -> None:
    assert found(packed(tmp_path, {**ONE, **members})) == expected


def test_entries_for_folders_fail_a_zip_only(tmp_path: Path) -> None:
    members = {"traces/": b"", "traces/a.pftrace": ONE["a.pftrace"], ".hidden/": b""}
    assert found(zipped(tmp_path, members)) == [("folder-entry", "traces/")]
    assert found(tarred(tmp_path, members)) == []


@BOTH_KINDS
def test_processes_of_one_pid_in_two_files(tmp_path: Path, packed: Any) -> None:
    members = {**ONE, "b.json": as_json(nested_compile())}
    assert found(packed(tmp_path, members)) == [("same-pid", "b.json")]
    entries = [{"path": name, "machine": {"name": name}} for name in members]
    assert found(packed(tmp_path, {**members, **manifest(*entries)})) == []
    entries[1]["machine"] = entries[0]["machine"]
    assert found(packed(tmp_path, {**members, **manifest(*entries)})) == [("same-pid", "b.json")]


def test_one_file_may_have_a_pid_twice(tmp_path: Path) -> None:
    assert found(zipped(tmp_path, {"a.json": as_json(same_pid())})) == []


def test_findings_in_traces_say_in_which(tmp_path: Path) -> None:
    overlap = [{"ph": "X", "name": "s", "ts": ts, "dur": 20, "pid": 1, "tid": 1} for ts in (0, 10)]
    path = zipped(tmp_path, {**ONE, "sub/b.json": json.dumps(overlap).encode()})
    ((rule, place),) = found(path)
    assert rule == "overlap"
    assert place.startswith("sub/b.json: event 2")
    assert len(check(f"{path}/sub/b.json")) == 1
    assert not check(f"{path}/a.pftrace")


def test_what_is_compressed_in_an_archive_is_told_as_outside_of_it(tmp_path: Path) -> None:
    data = as_json(two_threads())
    packed = bytearray(gzip.compress(as_json(nested_compile())))
    packed[-6] ^= 0x55  # the checksum
    path = zipped(tmp_path, {"a.json.bz2": bz2.compress(data), "b.json.gz": bytes(packed)})
    assert found(path) == [
        ("compression", "a.json.bz2: byte 0"),
        ("damaged", "b.json.gz: byte 0 of the gzip data"),
    ]
    assert files.read(path / "a.json.bz2").findings.counts["compression"] == 1


def test_a_hidden_file_that_is_damaged_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    hidden = as_pftrace(two_threads())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(".old/b.pftrace", hidden)
        archive.writestr("a.pftrace", ONE["a.pftrace"])
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    assert found(path) == []


# ---------------------------------------------------------------------------------- manifests


def test_a_second_manifest_and_a_hidden_one(tmp_path: Path) -> None:
    (data,) = manifest({"path": "a.pftrace"}).values()
    assert found(zipped(tmp_path, {**ONE, "1.json": data})) == []
    assert found(zipped(tmp_path, {**ONE, "1.json": data, "2.json": data})) == [
        ("bad-manifest", "2.json")
    ]
    assert found(zipped(tmp_path, {**ONE, ".m/m.json": data})) == [("idle-manifest", ".m/m.json")]


SYNC = {"sync_to": {"file": "a.pftrace", "clock": "BOOTTIME"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"perfetto_manifest": ', "no JSON object"),
        ('{"perfetto_manifest": []}', "no JSON object"),
        ('{"perfetto_manifest": {}}', "version None"),
        ('{"perfetto_manifest": {"version": 2}}', "version 2"),
        ('{"perfetto_manifest": {"version": true}}', "version True"),
        (manifest(7), "without a path"),
        (manifest(files={}), "files is no list"),
        (manifest({"path": "a.pftrace", "machine": "phone"}), "machine needs a name"),
        (manifest({"path": "a.pftrace", "machine": {"name": ""}}), "machine needs a name"),
        (
            manifest({"path": "a.pftrace", "machine": {"name": "x"}, "machines": []}),
            "both machine and machines",
        ),
        (manifest({"path": "a.pftrace", "clocks": {}}), "clocks needs sync_to"),
        (manifest({"path": "a.pftrace", "clocks": {"sync_to": {}}}), "sync_to needs a file"),
        (
            manifest({"path": "a.pftrace", "clocks": {"sync_to": {"file": "c"}}}),
            "no entry for the file 'c'",
        ),
        (
            manifest({"path": "a.pftrace", "clocks": {**SYNC, "clock": "TAI"}}),
            "no such clock: 'TAI'",
        ),
        (
            manifest({"path": "a.pftrace", "clocks": {**SYNC, "offset_ns": 1.5}}),
            "offset_ns is no whole number",
        ),
        (manifest(trace_time={}), "trace_time: no such clock: None"),
        (manifest(attributes=[]), "attributes is no object"),
        (manifest(attributes={"a": None}), "attribute 'a'"),
        (manifest(attributes={"": "x"}), "attribute ''"),
    ],
    ids=str,
)
def test_mistakes_in_a_manifest(tmp_path: Path, text: str | dict[str, bytes], said: str) -> None:
    told = {MANIFEST: text.encode()} if isinstance(text, str) else text
    findings = check(zipped(tmp_path, {**ONE, **told}))
    assert [(each.rule, each.place) for each in findings] == [("bad-manifest", MANIFEST)]
    assert said in findings[0].done


def test_an_entry_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    findings = check(zipped(tmp_path, {**ONE, **manifest({"path": "b.pftrace"})}))
    assert [(each.rule, each.place) for each in findings] == [("idle-manifest", MANIFEST)]
    assert "'b.pftrace'" in findings[0].done


def moved(name: str, data: bytes, offset: int, **clocks: str) -> dict[str, bytes]:
    """An archive in which the manifest moves a file, of another pid."""
    entries = [
        {"path": "a.pftrace"},
        {"path": name, "clocks": {**SYNC, "offset_ns": offset, **clocks}},
    ]
    return {"a.pftrace": as_pftrace(with_start()), name: data, **manifest(*entries)}


@pytest.mark.parametrize(
    ("name", "trace", "offset", "clocks", "rules"),
    [
        ("b.json", two_threads(), 5, {}, []),
        ("b.json", two_threads(), -5, {}, ["before-zero"]),
        ("b.pftrace", two_threads(), 5, {"clock": "BOOTTIME"}, ["idle-manifest"]),
        ("b.pftrace", two_threads(), 0, {"clock": "BOOTTIME"}, []),
        ("b.pftrace", with_start(), 5, {"clock": "BOOTTIME"}, ["same-pid"]),
        ("b.pftrace", with_start(), 5, {}, ["bad-manifest", "same-pid"]),
    ],
)
def test_files_that_are_moved(
    tmp_path: Path, name: str, trace: Trace, offset: int, clocks: dict[str, str], rules: list[str]
) -> None:
    data = as_json(trace) if name.endswith(".json") else as_pftrace(trace)
    path = zipped(tmp_path, moved(name, data, offset, **clocks))
    assert [finding.rule for finding in check(path)] == rules
