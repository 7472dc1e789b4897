"""What is in an archive (.zip, .tgz), which may come from a stranger: the bytes -> its members.

Nothing is unpacked onto the disk. An archive is refused as a whole if anything in it is meant to do
harm, or could: names that lead out of a folder, links and devices, encrypted members, archives in
it, two members of one name, or what is beyond a limit (`limits.py`). Sizes are held against what is
really unpacked, whatever the headers promise.

As in Perfetto (archive_entry.h, `IsHiddenPath` in archive_reader.cc), a member is hidden if a part
of its path begins with a dot; hidden ones are not read.
"""

from __future__ import annotations

import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.formats.compression import Budget, uncompressed
from tilelang_trace.trace.findings import Findings

_ZIP = b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
"""Begins what is at the end of each .zip, and all that is in an empty one."""
_ZIP_ENTRY = b"PK\x01\x02"
"""Begins the entry of a file in the list at the end of a .zip."""
_TAR_MAGIC = slice(257, 262)
_DRIVE = re.compile(r"[A-Za-z]:")

DAMAGES = (
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What `zipfile`, `tarfile` and `gzip` raise on bytes that are no good archive."""


@dataclass(frozen=True)
class Member:
    """A visible file in an archive."""

    name: str
    data: bytes
    findings: Findings = field(default_factory=Findings, compare=False)
    """What was told when it was unpacked, where it is compressed by itself."""


def is_archive(data: bytes) -> bool:
    """Whether these bytes, which are not compressed as a whole, are a .zip or a .tar."""
    return data.startswith((_ZIP, _ZIP_END)) or _is_tar(data)


def _is_tar(data: bytes) -> bool:
    if data[_TAR_MAGIC] != b"ustar":
        return False
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:  # the checksum is wrong: it is something else
        return False
    return True


def members(data: bytes) -> list[Member]:
    """The visible members of an archive, those that are compressed by themselves (.gz) unpacked.

    Raises UserError if it is damaged or refused.
    """
    budget = Budget(len(data))
    found = []
    try:
        for name, stream in _files(data):
            with stream:
                told = Findings()
                content = uncompressed(budget.read(stream), budget, told)
            if is_archive(content):
                raise UserError(f"refused: {_shown(name)} in it is an archive too")
            found.append(Member(name, content, told))
    except DAMAGES as error:
        raise UserError(f"damaged archive: {error}") from None
    return found


def _files(data: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each visible file; the names of all members are checked first."""
    if not data.startswith((_ZIP, _ZIP_END)):
        yield from _in_tar(data)
        return
    if _ZIP_END not in data:
        raise UserError("damaged archive: cut off, the list of its files is missing")
    _check_count(data.count(_ZIP_ENTRY))  # before `zipfile` takes 10 times the memory for them
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        _check([entry.orig_filename for entry in entries])
        for entry in entries:
            if entry.flag_bits & 1:
                raise UserError(f"refused: {_shown(entry.filename)} in it is encrypted")
            mode = entry.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _no_file(entry.filename)
        for entry in entries:
            if not entry.is_dir() and not is_hidden(entry.filename):
                yield entry.filename, archive.open(entry)


def _in_tar(data: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        entries = []
        for entry in archive:  # one after the other: there may be millions
            entries.append(entry)
            _check_count(len(entries))
        _check([entry.name for entry in entries])
        for entry in entries:
            if not entry.isreg() and not entry.isdir():
                raise _no_file(entry.name)
        for entry in entries:
            if entry.isreg() and not is_hidden(entry.name):
                stream = archive.extractfile(entry)
                assert stream is not None
                yield entry.name, stream


def is_hidden(name: str) -> bool:
    """Whether Perfetto passes a member of this name by."""
    return any(part.startswith(".") for part in name.removeprefix("./").split("/"))


def _check(names: list[str]) -> None:
    _check_count(len(names))
    seen = set()
    for name in names:
        parts = name.rstrip("/").split("/")
        if (
            not all(parts)
            or ".." in parts
            or "\\" in name
            or _DRIVE.match(name)
            or not name.isprintable()
        ):
            raise UserError(f"refused: {_shown(name)} in it is no name inside a folder")
        if name in seen:
            raise UserError(f"refused: {_shown(name)} is in it twice")
        seen.add(name)


def _check_count(number: int) -> None:
    if number > limits.current().members:
        raise limits.exceeded("it has more files than it may", "members")


def _no_file(name: str) -> UserError:
    return UserError(f"refused: {_shown(name)} in it is a link or a device")


def _shown(name: str) -> str:
    return ascii(name if len(name) <= 100 else name[:97] + "...")
