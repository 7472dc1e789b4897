"""Archives of ours: members -> the bytes of a .zip or .tgz; the same members give the same bytes.

Files only, as an entry for a folder fails the whole archive in Perfetto (v58).
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping

_EARLIEST_DATE = (1980, 1, 1, 0, 0, 0)
"""For all members: the earliest that a .zip can say."""
_MODE = 0o644


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A .zip with these files, in this order."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, _EARLIEST_DATE)
            entry.create_system, entry.external_attr = 3, _MODE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return content.getvalue()


def tar_gzipped(members: Mapping[str, bytes]) -> bytes:
    """A .tgz with these files, in this order."""
    content = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=content, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _MODE
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def everything_in(archive: bytes) -> list[tuple[str, bytes]]:
    """Name and content of each file in an archive of ours, hidden ones too; of a .gz that is no
    archive its content, without a name.
    """
    if archive.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return [(entry.filename, opened.read(entry)) for entry in opened.infolist()]
    content = gzip.decompress(archive)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            found = [(entry.name, tar.extractfile(entry)) for entry in tar]
            return [(name, stream.read()) for name, stream in found if stream is not None]
    except tarfile.ReadError:
        return [("", content)]
