"""Several traces in one .zip, which Perfetto (v58 and later) shows on one timeline; of a comparison
both:

    perfetto_manifest.json   says which file is which, and how they lie in time
    base.pftrace             the traces, byte for byte (.json ones too)
    new.pftrace

Each is a machine of its own, named base and new: processes of one pid would else become one. All
start together: the one whose times are latest stays, the others are moved. (Moved back, they would
lose what has the time 0, as the names of processes in JSON have.)

Perfetto moves a .pftrace only by a clock of its ClockSnapshot, and takes what is in a .gz for
another file. So compressed traces go in unpacked, and what can't be moved or opened (a .pftrace
without a start time or of another tool, a pass-event log, a folder of journals), and JSON that had
to be mended, is written anew: as JSON, if it has no start time.

Sources: Perfetto's docs/reference/perfetto-manifest.md; perfetto_manifest_reader.cc; and the tests
test_sync_to_file_offset, test_trace_time_file and test_clockless_manual_cross_machine in
test/trace_processor/diff_tests/parser/trace_manifest/tests.py, which are these cases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope, files
from tilelang_trace.formats.archives.manifest import is_manifest
from tilelang_trace.formats.archives.members import Member
from tilelang_trace.formats.archives.writing import zipped
from tilelang_trace.formats.clocks import shift_in
from tilelang_trace.formats.pftrace.writer import boot_time_of
from tilelang_trace.formats.whole_files import write_whole
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

ENDING = ".zip"

_MANIFEST = "perfetto_manifest.json"
_BOOT = "BOOTTIME"


@dataclass(frozen=True)
class Original:
    """A trace: where it was read from, and what it says."""

    path: str
    """Empty, or no file, if it is to be written anew."""
    trace: Trace
    unpacked: bytes | None = None
    """What an archive has there: it is not opened once more for each trace in it."""

    def content(self) -> bytes | None:
        """The bytes of the file, unpacked; None if there is none. Raises UserError."""
        if self.unpacked is None and files.is_file(self.path):
            return files.content(self.path)
        return self.unpacked

    def for_perfetto(self) -> bytes | None:
        """The bytes of the file, if Perfetto can be given them as they are: None for a log, for
        JSON in which something had to be mended, and if there is no file. Raises UserError.

        A .pftrace goes out whatever was mended in it: it may hold what no Trace keeps.
        """
        data = self.content()
        known = files.LOG if data is None else files.sniff(data)
        mended = known is files.JSON and self.trace.findings.total
        return None if known is files.LOG or mended else data


@dataclass(frozen=True)
class Packed:
    """An archive, and what to add to the times of each Trace, in ns, to get those that Perfetto
    shows.
    """

    data: bytes
    shifts: tuple[int, ...]


def write_both(base: Original, new: Original, output: str | os.PathLike[str]) -> None:
    """Write the archive of a comparison, whole or not at all. Raises UserError."""
    write_whole(output, [packed({"base": base, "new": new}).data])


def packed(originals: Mapping[str, Original]) -> Packed:
    """An archive of these traces. The names, of which no two are alike, become those of their
    machines and members: they have no slash in them and begin with no dot. Raises UserError.
    """
    members = _members(originals)
    latest = max(member.first_ns for member in members)
    return Packed(
        zipped(_files(members)),
        tuple(member.shift_ns + latest - member.first_ns for member in members),
    )


def members_of(originals: Mapping[str, Original]) -> dict[str, bytes]:
    """The files that `packed` puts into an archive. Raises UserError."""
    return _files(_members(originals))


def moved_in(members: Sequence[Member]) -> dict[str, int]:
    """By how many ns the manifest of an archive moves its members, by their names."""
    manifest = next((member.data for member in members if is_manifest(member.data)), b"{}")
    try:
        entries = orjson.loads(manifest)["perfetto_manifest"]["files"]
        return {e["path"]: int(e["clocks"]["offset_ns"]) for e in entries if "clocks" in e}
    except (ValueError, KeyError, TypeError):  # none, or one of another tool
        return {}


def sides_in(path: str) -> tuple[str, str]:
    """The paths of base and new in such an archive. Raises UserError if it is none."""
    names = {name.partition(".")[0]: f"{path}/{name}" for name in files.contents_in(path)}
    if set(names) != {"base", "new"}:
        raise UserError(f"{path}: no archive with a trace base and a trace new")
    return names["base"], names["new"]


@dataclass(frozen=True)
class _Member:
    machine: str
    ending: str
    data: bytes
    first_ns: int
    """When its first event is, by the clock below."""
    clock: str | None
    """The clock that relates it to others; None for JSON, which has only its own."""
    original: str
    shift_ns: int
    """What its times, before it is moved, are ahead of those of its Trace."""

    @property
    def path(self) -> str:
        return self.machine + self.ending


def _member(machine: str, original: Original) -> _Member:
    trace, name = original.trace, Path(original.path).name
    first = boot_time_of(trace, envelope.earliest(trace))
    data = original.for_perfetto()
    known = files.JSON if data is None else files.sniff(data)
    if data is None or (known is files.PFTRACE and first is None):
        known = files.JSON if first is None else files.PFTRACE
        data = b"".join(known.write(trace))
    shift = shift_in(data, trace)
    clock: str | None = _BOOT
    if known is files.JSON or first is None:
        first, clock = envelope.earliest(trace) + shift, None
    return _Member(machine, known.ending, data, first, clock, name, shift)


def _members(originals: Mapping[str, Original]) -> list[_Member]:
    return [_member(name, original) for name, original in originals.items()]


def _files(members: list[_Member]) -> dict[str, bytes]:
    return {_MANIFEST: _manifest(members), **{m.path: m.data for m in members}}


def _manifest(members: list[_Member]) -> bytes:
    """The manifest; Perfetto knows it by the first key."""
    latest = max(members, key=lambda member: member.first_ns)
    entries: list[Json] = []
    for member in members:
        entry: dict[str, Json] = {"path": member.path, "machine": {"name": member.machine}}
        if member is not latest:
            entry["clocks"] = {
                **({"clock": member.clock} if member.clock else {}),
                "sync_to": {"file": latest.path, "clock": _BOOT},
                "offset_ns": latest.first_ns - member.first_ns,
            }
        entries.append(entry)
    manifest = {
        "version": 1,
        "trace_time": {"clock": _BOOT, "file": latest.path},
        "files": entries,
        "attributes": {f"tilelang_trace.{m.machine}": m.original for m in members},
    }
    return json.dumps({"perfetto_manifest": manifest}, indent=1).encode() + b"\n"
