"""Files of traces: the format from the content when reading, and from the name when writing."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from tilelang_trace import limits, long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats.archives.members import Member, is_archive, members
from tilelang_trace.formats.compression import uncompressed
from tilelang_trace.formats.encoding import utf8
from tilelang_trace.formats.pftrace.wire_reading import top_level_fields
from tilelang_trace.formats.whole_files import gzipped, write_whole
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.model import Trace

_HEAD = 4096
_WEB_PAGE = "a web page, maybe of a login: download the file itself"
_NO_TRACES = {
    b"<!doctype html": _WEB_PAGE,
    b"<html": _WEB_PAGE,
    b"version https://git-lfs": "the pointer to one that Git LFS keeps: git lfs pull",
    b"%pdf": "a PDF",
    b"\x7felf": "a program",
    b"traceback (most": "the text of an exception",
}

_PIECE = 1 << 20


@dataclass(frozen=True)
class Format:
    """One format: the ending of its files, and the modules that read and write it (imported when
    used).
    """

    name: str
    ending: str
    reader: str | None
    """None for a picture: it shows a Trace, and keeps none of its data."""
    writer: str

    def read(self, data: bytes) -> TraceBuilder:
        """A builder with what the bytes say. Raises UserError."""
        if self.reader is None:
            raise UserError("a picture, which has no data of a trace: name the trace it shows")
        read = cast(Callable[[bytes], TraceBuilder], import_module(self.reader).read)
        return read(data)

    def write(self, trace: Trace) -> Iterator[bytes]:
        """The bytes of the file, in pieces."""
        write = cast(Callable[[Trace], Iterator[bytes]], import_module(self.writer).write)
        return write(trace)


_HERE = __package__
LOG = Format("pass-event log", ".events.jsonl", f"{_HERE}.event_log", f"{_HERE}.event_log")
JSON = Format("Chrome JSON", ".json", f"{_HERE}.chrome_json.reader", f"{_HERE}.chrome_json.writer")
PFTRACE = Format(
    "Perfetto protobuf", ".pftrace", f"{_HERE}.pftrace.reader", f"{_HERE}.pftrace.writer"
)
FORMATS = (LOG, JSON, PFTRACE)
SVG = Format("picture", ".svg", None, f"{_HERE}.picture.svg")
PNG = Format("picture", ".png", None, f"{_HERE}.picture.png")
PICTURES = (SVG, PNG)


def format_for(path: str | os.PathLike[str]) -> tuple[Format, bool]:
    """The format that a file of this name is written in, and whether it is compressed. Raises
    UserError.
    """
    name = os.fspath(path).lower()
    plain = name.removesuffix(".gz")
    for known in FORMATS:
        if plain.endswith(known.ending):
            return known, plain != name
    for known in PICTURES:
        if name.endswith(known.ending):
            return known, False
    endings = ", ".join(known.ending for known in FORMATS)
    pictures = " or ".join(known.ending for known in PICTURES)
    raise UserError(
        f"{os.fspath(path)}: no format has this ending; use {endings}, each with or without .gz, "
        f"or {pictures} for a picture"
    )


def check_keeps_data(path: str | os.PathLike[str]) -> None:
    """Raises UserError unless a file of this name holds all that a recording has seen."""
    known, _ = format_for(path)
    if known.reader is None:
        from shlex import quote

        name = os.fspath(path)
        trace = name[: -len(known.ending)] + PFTRACE.ending
        raise UserError(
            f"{name}: a picture keeps no data: record {trace}, then "
            f"tilelang-trace convert {quote(trace)} -o {quote(name)}"
        )


def read(path: str | os.PathLike[str]) -> Trace:
    """The Trace in a file, whatever its name. Raises UserError if it is no trace."""
    told = Findings()
    data = content(path, told)
    with _told_of(path):
        builder = _parsed(data, path, told)
        del data  # the Trace may be as large as the file: they need not be there together
        return _built(builder, path)


def read_content(member: Member, path: str | os.PathLike[str]) -> Trace:
    """The Trace in what `contents_in` has for this path. Raises UserError."""
    with _told_of(path):
        return _built(_parsed(member.data, path, member.findings.copy()), path)


def _parsed(data: bytes, path: str | os.PathLike[str], told: Findings) -> TraceBuilder:
    """A builder with what the bytes say, and what was told of them before."""
    long_work.stage(f"reading {Path(path).name}", len(data), long_work.BYTES)
    known = sniff(data)
    builder = known.read(utf8(data, told))
    told.extend(builder.findings)
    builder.findings = told
    return builder


def _built(builder: TraceBuilder, path: str | os.PathLike[str]) -> Trace:
    long_work.stage(f"putting the slices of {Path(path).name} in order")
    return builder.build()


def content(path: str | os.PathLike[str], told: Findings | None = None) -> bytes:
    """The bytes of the trace in a file, unpacked if it is compressed, which may be told.

    Of an archive they are those of the one trace in it; `both.zip/base.pftrace` names one of
    several. Raises UserError.
    """
    long_work.stage(f"opening {Path(path).name}")
    with _told_of(path):
        file, wanted = _file_and_member(Path(path))
        data = uncompressed(read_bytes(file), None, told)
        if is_archive(data):
            member = _the_one(os.fspath(file), _traces_in(data), wanted)
            if told is not None:
                told.extend(member.findings)
            return member.data
        if wanted:
            raise UserError(f"{file} is no archive and no folder")
        return data


def read_bytes(path: Path) -> bytes:
    """A file as it is on the disk. Raises OSError, and UserError if it is larger than it may be."""
    most = limits.current().file_bytes
    with open(path, "rb") as stream:
        about = os.fstat(stream.fileno())
        if about.st_size > most:
            raise limits.exceeded(f"a file of {about.st_size:,} bytes", "file_bytes")
        if stat.S_ISREG(about.st_mode):
            return stream.read()
        data = io.BytesIO()  # a pipe or a device, which may have no end
        while piece := stream.read(_PIECE):
            if data.tell() + len(piece) > most:
                raise limits.exceeded("a file that is larger", "file_bytes")
            data.write(piece)
        return data.getvalue()


@contextmanager
def _told_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path in front of what is told of a file that can't be read."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{os.fspath(path)}: can't be read: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"{os.fspath(path)}: {error}") from None


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether `content` has a file to look into there."""
    return _file_and_member(Path(path))[0].is_file()


def _file_and_member(path: Path) -> tuple[Path, str]:
    """The file that a path names, and what is named in it if that is an archive."""
    for folder in path.parents:
        if folder.is_file():
            return folder, path.relative_to(folder).as_posix()
    return path, ""


def contents_in(path: str | os.PathLike[str]) -> dict[str, Member]:
    """The traces in an archive, by name, all unpacked at once; of any other file its own content,
    without a name. Raises UserError.
    """
    told = Findings()
    with _told_of(path):
        data = uncompressed(read_bytes(Path(path)), None, told)
        return _traces_in(data) if is_archive(data) else {"": Member("", data, told)}


def archive_content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of an archive, unpacked if they are compressed as a whole. Raises UserError."""
    with _told_of(path):
        return uncompressed(read_bytes(Path(path)))


def _traces_in(data: bytes) -> dict[str, Member]:
    return {member.name: member for member in members(data) if _is_trace(member.data)}


def _is_trace(data: bytes) -> bool:
    """Whether something in an archive is a trace, and not a report on one or a manifest."""
    try:
        known = sniff(data)
    except UserError:
        return False
    if known is JSON:
        text = utf8(data)
        return b'"traceEvents"' in text or text.lstrip()[:1] == b"["
    return known.reader is not None


def _the_one(archive: str, traces: dict[str, Member], wanted: str) -> Member:
    if not traces:
        raise UserError("no trace in this archive")
    if not wanted and len(traces) > 1:
        named = " or ".join(f"{archive}/{name}" for name in list(traces)[:2])
        raise UserError(f"{len(traces)} traces in this archive: name one, as {named}")
    if wanted and wanted not in traces:
        raise UserError(f"no such trace in this archive; there is {', '.join(list(traces)[:5])}")
    return traces[wanted or next(iter(traces))]


def sniff(data: bytes) -> Format:
    """The format of these bytes. Raises UserError if they are none that is known."""
    head = utf8(data[:_HEAD])
    is_utf8 = head == data[:_HEAD]
    start = head.lstrip(b" \t\r\n")
    if not start:
        raise UserError("the file is empty: no trace")
    if is_utf8 and data[:1] == b"\x0a" and (start[:1] not in b"{[<" or _starts_with_a_packet(data)):
        return PFTRACE
    if start.startswith(b"["):
        return JSON
    if start.startswith(b"{"):
        text = data if is_utf8 else head
        line = text.lstrip(b" \t\r\n").partition(b"\n")[0]
        return LOG if b'"pass_events"' in line and _is_log_header(line) else JSON
    if data.startswith(b"\x89PNG"):
        return PNG
    if start.startswith((b"<?xml", b"<svg")) and b"<svg" in start:
        return SVG
    for beginning, what in _NO_TRACES.items():
        if start[: len(beginning)].lower() == beginning:
            raise UserError(f"no trace, but {what}")
    shown = data[:16].decode("ascii", "backslashreplace")
    raise UserError(
        "neither a Perfetto trace, Chrome JSON nor a pass-event log: "
        f"it starts with {shown!r} (byte 0)"
    )


def _is_log_header(line: bytes) -> bool:
    """Whether what says `pass_events` somewhere is the first line of a log, and no JSON trace."""
    import orjson

    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError:
        return b'"traceEvents"' not in line
    return "pass_events" in header and "traceEvents" not in header


def _starts_with_a_packet(data: bytes) -> bool:
    """Whether what could be a blank line and a bracket is the key and length of a whole packet."""
    try:
        _, _, body = next(top_level_fields(data))
        for _ in top_level_fields(body):
            pass
    except (ValueError, StopIteration):
        return False
    return data[2 + len(body) : 3 + len(body)] in (b"\x0a", b"\x00", b"")


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a Trace in the format of the file's name: whole, or not at all. Raises UserError.

    The same Trace gives the same bytes.
    """
    write_whole(path, pieces(trace, path))


def pieces(trace: Trace, path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The bytes of a file of this name. Raises UserError."""
    known, compressed = format_for(path)
    long_work.stage(f"writing {Path(path).name}", len(trace.slices), long_work.SLICES)
    found = known.write(trace)
    return gzipped(found) if compressed else found
