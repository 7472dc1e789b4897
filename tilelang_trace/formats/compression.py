"""Compressed bytes -> what is in them, whatever the name of the file.

gzip of any number of members, as Perfetto reads it, and what it does not read: zlib, bzip2, xz. Of
data that are cut or damaged all is kept that comes out of them, and it is told.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings

_PLAIN_BYTES = 256 << 20
"""What is larger may only be so many times as large as it is compressed: traces shrink to a tenth
or a fiftieth, bombs to a thousandth.
"""
_PIECE = 1 << 20
_LEAST_INPUT, _MOST_INPUT = 1 << 8, 1 << 16
_MOST_LAYERS = 3


@dataclass(frozen=True)
class _Compression:
    name: str
    magic: bytes
    stream: Callable[[], Any]


_GZIP = _Compression("gzip", b"\x1f\x8b", lambda: zlib.decompressobj(31))
_ZLIB = _Compression("zlib", b"", zlib.decompressobj)
_OTHERS = (
    _Compression("bzip2", b"BZh", bz2.BZ2Decompressor),
    _Compression("xz", b"\xfd7zXZ\0", lzma.LZMADecompressor),
)
_UNPACKED_BY = {b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"), b"\x04\x22\x4d\x18": ("lz4", "lz4 -d")}
_ERRORS = (zlib.error, OSError, lzma.LZMAError, EOFError)
_EITHER_HEADER = 47
"""For zlib: the data have its own header or that of gzip."""


class Budget:
    """How much may still come out of so many compressed bytes."""

    def __init__(self, compressed: int) -> None:
        most = limits.current()
        by_ratio = max(_PLAIN_BYTES, most.unpacked_times * compressed)
        self.left = min(most.unpacked_bytes, by_ratio)
        self._limit = "unpacked_times" if by_ratio < most.unpacked_bytes else "unpacked_bytes"

    def take(self, size: int) -> None:
        """Take so many bytes off it. Raises UserError if that is too much."""
        self.left -= size
        if self.left < 0:
            what = {
                "unpacked_bytes": "it unpacks to more than it may",
                "unpacked_times": f"it unpacks to over {_PLAIN_BYTES >> 20} MiB, and to too "
                "many times its size",
            }
            raise limits.exceeded(what[self._limit], self._limit)

    def read(self, stream: IO[bytes]) -> bytes:
        """All that comes out of the stream. Raises UserError if that is too much."""
        data = io.BytesIO()
        while piece := stream.read(_PIECE):
            self.take(len(piece))
            data.write(piece)
        return data.getvalue()


def uncompressed(data: bytes, budget: Budget | None = None, told: Findings | None = None) -> bytes:
    """The bytes, unpacked if they are compressed; what is unpacked is taken off the budget. Raises
    UserError if nothing can be unpacked.
    """
    budget = budget or Budget(len(data))
    told = Findings() if told is None else told
    for _ in range(_MOST_LAYERS):
        compression = _compression_of(data)
        if compression is None:
            return data
        data = _unpacked(compression, data, budget, told)
    raise UserError(f"refused: compressed more than {_MOST_LAYERS - 1} times over")


def inflated(data: bytes, budget: Budget) -> tuple[bytes, str]:
    """What comes out of data of zlib or gzip, and what is wrong with them in words (else ""); it is
    taken off the budget. Raises UserError if it is too much.
    """
    content = io.BytesIO()
    try:
        _, is_whole = _member(zlib.decompressobj(_EITHER_HEADER), data, 0, content, budget)
    except zlib.error as error:
        return content.getvalue(), f"damaged ({error})"
    return content.getvalue(), "" if is_whole else "cut"


def _compression_of(data: bytes) -> _Compression | None:
    for magic, (name, command) in _UNPACKED_BY.items():
        if data.startswith(magic):
            raise UserError(f"compressed by {name}, which is not read: unpack it first: {command}")
    for known in (_GZIP, *_OTHERS):
        if data.startswith(known.magic):
            return known
    # As RFC 1950 has it: the method, deflate, and a remainder; then there must be a block of it.
    if len(data) > 2 and data[0] & 15 == 8 and data[0] < 128 and not (data[0] << 8 | data[1]) % 31:
        try:
            if zlib.decompressobj().decompress(data[:_LEAST_INPUT], 1):
                return _ZLIB
        except zlib.error:
            pass
    return None


def _unpacked(known: _Compression, data: bytes, budget: Budget, told: Findings) -> bytes:
    if known is not _GZIP:
        told.add("byte 0", rules.COMPRESSION, f"unpacked: {known.name}")
    content, place = io.BytesIO(), 0
    # One member, and those behind it that begin as the first one does (zlib's have no mark).
    while place == 0 or (known.magic and data.startswith(known.magic, place)):
        try:
            place, is_whole = _member(known.stream(), data, place, content, budget)
        except _ERRORS as error:
            if not content.tell():
                raise UserError(f"damaged {known.name} data: {error}") from None
            done = f"{content.tell():,} bytes unpacked, then {error}"
            told.add(f"byte {place} of the {known.name} data", rules.DAMAGED, done)
            return content.getvalue()
        if not is_whole:
            if not content.tell():
                raise UserError(f"damaged {known.name} data: cut off before anything in them")
            done = f"{content.tell():,} bytes unpacked, the {known.name} data are cut off"
            told.add(f"byte {len(data)}", rules.CUT_OFF, done)
            return content.getvalue()
    if place < len(data):
        left = len(data) - place
        told.add(f"byte {place}", rules.BEHIND_GZIP, f"{left:,} bytes are passed by")
    return content.getvalue()


def _member(
    stream: Any, data: bytes, place: int, content: IO[bytes], budget: Budget
) -> tuple[int, bool]:
    """Unpack one member into `content`; the place behind it, and whether it is whole."""
    size = _LEAST_INPUT
    while place < len(data) and not stream.eof:
        piece = data[place : place + size]
        before = stream.copy() if hasattr(stream, "copy") else None
        kept, left = content.tell(), budget.left
        try:
            for out in _fed(stream, piece):
                budget.take(len(out))
                content.write(out)
        except _ERRORS:
            if before is not None:  # what came out of the piece before the damage is not lost
                content.seek(kept)
                content.truncate()
                budget.left = left
                _drain(before, piece, content, budget)
            raise
        place += len(piece)
        size = min(2 * size, _MOST_INPUT)  # what is behind a small member is not copied often
    return place - len(stream.unused_data), stream.eof


def _drain(stream: Any, piece: bytes, content: IO[bytes], budget: Budget) -> None:
    with suppress(*_ERRORS):
        for start in range(len(piece)):
            for out in _fed(stream, piece[start : start + 1]):
                budget.take(len(out))
                content.write(out)


def _fed(stream: Any, piece: bytes) -> Any:
    """What comes out of a stream that is given this piece."""
    while True:
        yield stream.decompress(piece, _PIECE)
        piece = getattr(stream, "unconsumed_tail", b"")
        if stream.eof or not (piece or not getattr(stream, "needs_input", True)):
            return
