"""The manifest of an archive: JSON that begins with `{"perfetto_manifest"`, and says of each file
which machine it is of and how its clock lies to another's.

Perfetto refuses the whole archive over a mistake in it. Sources: Perfetto's
docs/reference/perfetto-manifest.md and perfetto_manifest_reader.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tilelang_trace.formats.pftrace.wire_reading import fields, top_level_fields
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings

_BEGIN = re.compile(rb'\s*\{\s*"perfetto_manifest"')
_CLOCKS = (
    "REALTIME",
    "REALTIME_COARSE",
    "MONOTONIC",
    "MONOTONIC_COARSE",
    "MONOTONIC_RAW",
    "BOOTTIME",
)
_CLOCK_SNAPSHOT, _TIMESTAMP_CLOCK_ID = 6, 58
"""Fields of TracePacket."""


def is_manifest(data: bytes) -> bool:
    """Whether a member of an archive is its manifest."""
    return bool(_BEGIN.match(data))


@dataclass(frozen=True)
class Manifest:
    """What a manifest says of the files, by their names."""

    machines: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, dict[str, Any]] = field(default_factory=dict)
    paths: tuple[str, ...] = ()

    def tell_of_files(self, name: str, contents: Mapping[str, bytes], found: Findings) -> None:
        """Tell of entries that do nothing, or harm, for these files."""
        for path in self.paths:
            if path not in contents:
                told = f"an entry for {path!r}, which is not there"
                found.add(name, rules.IDLE_MANIFEST, told)
        for path, clocks in self.clocks.items():
            data, offset = contents.get(path), clocks.get("offset_ns", 0)
            if data is None or is_manifest(data):
                continue
            is_pftrace = data[:1] == b"\n"
            if is_pftrace and "clock" not in clocks and _says(data, _CLOCK_SNAPSHOT):
                told = f"{path!r} has clocks of its own: name the one that sync_to is for"
                found.add(name, rules.BAD_MANIFEST, told)
            elif is_pftrace and offset and not _says(data, _CLOCK_SNAPSHOT, _TIMESTAMP_CLOCK_ID):
                told = f"an offset for {path!r}, which has no clock that could be moved"
                found.add(name, rules.IDLE_MANIFEST, told)
            elif not is_pftrace and offset < 0:
                found.add(name, rules.BEFORE_ZERO, f"{path!r} is moved by {offset} ns")


def read_manifest(name: str, data: bytes, found: Findings) -> Manifest:
    """What a manifest says, as far as it is right; its mistakes are told."""
    try:
        manifest = orjson.loads(data)["perfetto_manifest"]
        entries = [entry for entry in manifest.get("files", ()) if _path(entry)]
    except (ValueError, TypeError, KeyError, AttributeError):
        found.add(name, rules.BAD_MANIFEST, "no JSON object; not read")
        return Manifest()
    for mistake in _mistakes(manifest):
        found.add(name, rules.BAD_MANIFEST, mistake)
    return Manifest(
        {e["path"]: machine for e in entries if (machine := _machine(e))},
        {e["path"]: e["clocks"] for e in entries if _is_moved(e.get("clocks"))},
        tuple(entry["path"] for entry in entries),
    )


def _path(entry: Any) -> str:
    path = entry.get("path") if isinstance(entry, dict) else None
    return path if isinstance(path, str) else ""


def _machine(entry: dict[str, Any]) -> str:
    machine = entry.get("machine")
    name = machine.get("name") if isinstance(machine, dict) else None
    return name if isinstance(name, str) else ""


def _is_moved(clocks: Any) -> bool:
    return isinstance(clocks, dict) and _is_int(clocks.get("offset_ns", 0))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _mistakes(manifest: dict[str, Any]) -> Iterator[str]:
    """Each in words."""
    if manifest.get("version") != 1 or not _is_int(manifest["version"]):
        yield f"version {manifest.get('version')!r}: there is only 1"
    entries = manifest.get("files", [])
    if not isinstance(entries, list):
        yield "files is no list"
        entries = []
    known = set(map(_path, entries)) - {""}
    if "trace_time" in manifest:
        yield from _of_clock("trace_time", manifest["trace_time"], known, needs_clock=True)
    for entry in entries:
        if not _path(entry):
            yield "an entry of files without a path"
            continue
        yield from (f"{entry['path']!r}: {mistake}" for mistake in _in_entry(entry, known))
    attributes = manifest.get("attributes", {})
    if not isinstance(attributes, dict):
        yield "attributes is no object"
        return
    for key, value in attributes.items():
        if not key or not (isinstance(value, str) or _is_int(value)):
            yield f"attribute {key!r}: needs a name, and a text or a whole number"


def _in_entry(entry: dict[str, Any], known: set[str]) -> Iterator[str]:
    if "machine" in entry and "machines" in entry:
        yield "both machine and machines"
    if "machine" in entry and not _machine(entry):
        yield "machine needs a name"
    clocks = entry.get("clocks")
    if clocks is None and "clocks" not in entry:
        return
    if not isinstance(clocks, dict) or not isinstance(clocks.get("sync_to"), dict):
        yield "clocks needs sync_to"
        return
    if clocks.get("clock", _CLOCKS[0]) not in _CLOCKS:
        yield f"no such clock: {clocks['clock']!r}"
    if "file" not in clocks["sync_to"]:
        yield "sync_to needs a file"
    yield from _of_clock("sync_to", clocks["sync_to"], known, needs_clock=False)
    if not _is_moved(clocks):
        yield "offset_ns is no whole number"


def _of_clock(where: str, value: Any, known: set[str], *, needs_clock: bool) -> Iterator[str]:
    """Mistakes in what names a clock of a file."""
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    if "clock" in value or needs_clock:
        clock = value.get("clock")
        if clock not in _CLOCKS:
            yield f"{where}: no such clock: {clock!r}"
    if "file" in value and value["file"] not in known:
        yield f"{where}: no entry for the file {value['file']!r}"


def _says(data: bytes, *wanted: int) -> bool:
    """Whether a packet of a .pftrace has one of these fields."""
    try:
        return any(
            number in wanted
            for _, _, packet in top_level_fields(data)
            for number, _, _ in fields(packet)
        )
    except ValueError:  # what its reader tells of
        return False
