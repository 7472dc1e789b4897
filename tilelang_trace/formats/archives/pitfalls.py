"""What Perfetto makes of an archive of traces that is not meant: files that it passes by or that
make it refuse the whole, and processes that it makes one of.

Of the traces themselves their readers tell. Sources: archive_entry.cc, zip_trace_reader.cc and
tar_trace_reader.cc in Perfetto's src/trace_processor/importers/archive.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, NamedTuple

from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.archives.manifest import Manifest, is_manifest, read_manifest
from tilelang_trace.formats.archives.members import DAMAGES, Member, is_hidden
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.model import Trace

_HEAD = 4096
"""So many bytes of a hidden file tell whether it is a trace."""


def pitfalls_of(data: bytes, visible: Sequence[Member], traces: Mapping[str, Trace]) -> Findings:
    """The pitfalls of an archive (a .tgz as a .tar) with these visible members, of which some are
    traces.
    """
    found = Findings()
    contents = {member.name: member.data for member in visible}
    manifests = [name for name, content in contents.items() if is_manifest(content)]
    shown = {name: trace for name, trace in traces.items() if not _is_log(contents[name])}
    for name, content in contents.items():
        if name not in shown and name not in manifests:
            _tell_of_a_stranger(found, name, content)
    for entry in _entries(data):
        if entry.is_folder:
            found.add(entry.name, rules.FOLDER_ENTRY, "has no content, and was passed by")
        elif is_manifest(entry.head) and is_hidden(entry.name):
            found.add(entry.name, rules.IDLE_MANIFEST, "a hidden manifest, not read")
        elif is_hidden(entry.name) and _looks_like_a_trace(entry.head):
            found.add(entry.name, rules.HIDDEN_TRACE, "a trace, not read")
    for name in manifests[1:]:
        found.add(name, rules.BAD_MANIFEST, "a second manifest, not read")
    manifest = Manifest()
    if manifests:
        manifest = read_manifest(manifests[0], contents[manifests[0]], found)
        manifest.tell_of_files(manifests[0], contents, found)
    _tell_of_pids(found, shown, manifest.machines)
    return found


def _is_log(data: bytes) -> bool:
    return files.sniff(data) is files.LOG


def _tell_of_a_stranger(found: Findings, name: str, data: bytes) -> None:
    """Tell of a visible file that is no trace to Perfetto."""
    try:
        known = files.sniff(data)
    except UserError:
        known = None
    if known is files.LOG:
        found.add(name, rules.JSON_MEMBER, "a pass-event log, read as what it is")
    elif known is files.JSON:
        found.add(name, rules.JSON_MEMBER, "no trace, and passed by")
    else:
        found.add(name, rules.UNKNOWN_MEMBER, "no trace, and passed by")


def _tell_of_pids(
    found: Findings, traces: Mapping[str, Trace], machines: Mapping[str, str]
) -> None:
    """Tell of processes in different files that have one pid on one machine."""
    first: dict[tuple[str, int], str] = {}
    for name, trace in traces.items():
        pids = {process.pid for process in trace.processes if process.pid is not None}
        for pid in sorted(pids):
            other = first.setdefault((machines.get(name, ""), pid), name)
            if other != name:
                found.add(name, rules.SAME_PID, f"pid {pid}, as in {other}; kept apart")


class _Entry(NamedTuple):
    name: str
    head: bytes
    """How the content of a hidden file begins."""
    is_folder: bool
    """Only in a .zip: in a .tar Perfetto passes folders by."""


def _entries(data: bytes) -> Iterator[_Entry]:
    """What is in an archive, hidden or not. `members` has seen to it that its list can be read."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                hidden = is_hidden(entry.filename)
                is_file = hidden and not entry.is_dir()
                head = _head(partial(archive.open, entry)) if is_file else b""
                yield _Entry(entry.filename, head, entry.is_dir() and not hidden)
        return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for member in tar:
            is_file = is_hidden(member.name) and member.isreg()
            head = _head(partial(tar.extractfile, member)) if is_file else b""
            yield _Entry(member.name, head, False)


def _head(open_: Callable[[], IO[bytes] | None]) -> bytes:
    """How a hidden file begins. One that is damaged harms nobody."""
    try:
        stream = open_()
        return stream.read(_HEAD) if stream is not None else b""
    except DAMAGES:
        return b""


def _looks_like_a_trace(head: bytes) -> bool:
    try:
        known = files.sniff(head)
    except UserError:
        return False
    if known is files.JSON:
        return b'"traceEvents"' in head or head.lstrip().startswith(b"[{")
    return known.reader is not None
