"""Files on the disk: whole or not at all, and compressed by gzip."""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tilelang_trace.errors import UserError

# Measured with zlib 1.2.13: the size of the plain one, and the time by plain byte (1,000,000 slices
# are 68 MB of .pftrace and 178 MB of .json). Level 6 takes up to twice as long as 5 for files that
# are 3 % smaller.
#
#   level                       1           4           5           6           7
#   .pftrace, synthetic    31.0 %, 6.9 ns  26.2, 10   24.8, 15   24.3, 27   23.9, 42
#   .pftrace, real         35.5 %, 8.9 ns  34.0, 11   32.8, 14   32.5, 18   32.5, 21
#   .pftrace, --ir text     8.2 %, 2.4 ns   5.7, 3.8   5.0, 4.3   4.4, 5.6   4.4, 6.3
#   .json, synthetic       13.1 %, 3.4 ns  11.3, 5.5  10.8, 6.4  10.5, 11    9.9, 14
#   .json, real            16.6 %, 4.0 ns  15.1, 6.3  14.4, 7.3  14.1, 10   13.8, 12
#
# zlib-ng (level 5) takes 0.6 of the time for the same size, isal 0.13 for a size 10 to 25 % larger:
# a second or less for 1,000,000 slices, which is not worth a dependency.
_GZIP_LEVEL = 5


def write_whole(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write a file under a temporary name beside it and rename it: there is never half a file.

    Raises UserError if it can't be written; what stood there before is still there then.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            # A pipe or a device such as /dev/stdout: nothing to rename to.
            with open(target, "wb") as stream:
                stream.writelines(pieces)
        else:
            _write_and_rename(target, pieces)
    except OSError as error:
        raise UserError(f"{target}: can't be written: {error.strerror}") from None


def _write_and_rename(target: Path, pieces: Iterable[bytes]) -> None:
    # Not by `tempfile`, whose files only their owner may read: to give them the usual mode, the
    # umask would have to be changed for a moment, under all threads of somebody's program.
    unique = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
    temporary = target.parent / f".tilelang-trace-{unique}.part"
    try:
        with open(temporary, "xb") as stream:
            stream.writelines(pieces)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a gzip file, the same for the same pieces."""
    # Without a name and a time in the header.
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    deflate = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    checksum = size = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
        size += len(piece)
        yield deflate.compress(piece)
    yield deflate.flush()
    yield checksum.to_bytes(4, "little") + (size & 0xFFFF_FFFF).to_bytes(4, "little")
