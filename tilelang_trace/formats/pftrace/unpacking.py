"""Packets that lie compressed in others: how much they may unpack to, and what of them is whole.

Source of the rules: Perfetto's proto_trace_tokenizer.h: field 50 holds packets that are compressed
by zlib or gzip, field 133 by zstd.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from tilelang_trace import limits
from tilelang_trace.formats.pftrace.wire_reading import fields

_ZLIB, _ZSTD = 50, 133
_EITHER_HEADER = 47
"""For zlib: the data has its own header or that of gzip."""

_PIECE = 1 << 20
_PLAIN_BYTES = 256 << 20
"""What is larger may only be so many times as large as it is compressed."""

_MOST_LEVELS = 16
"""Compressed packets in compressed ones: tracing services write one level."""


class Unpacker:
    """Unpacks what is in packets of one file, all in all no more than the limits allow."""

    def __init__(self, file_bytes: int) -> None:
        allowed = limits.current()
        by_ratio = max(_PLAIN_BYTES, allowed.unpacked_times * file_bytes)
        self._left = min(allowed.unpacked_bytes, by_ratio)
        self._limit = "unpacked_times" if by_ratio < allowed.unpacked_bytes else "unpacked_bytes"
        self._level = 0

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """While what was unpacked is looked into."""
        self._level += 1
        yield
        self._level -= 1

    def unpack(self, packet: bytes, place: int) -> tuple[bytes, str]:
        """The packets that lie in one, as the bytes of a file, and what is wrong with them in words
        (else ""). Raises UserError if they are too much.
        """
        if self._level >= _MOST_LEVELS:
            return b"", f"compressed more than {_MOST_LEVELS} times, left out"
        try:
            found = {number: bytes(content) for number, _, content in fields(packet)}
        except ValueError as error:
            return b"", f"the packet can't be decoded ({error}), left out"
        if _ZLIB not in found:
            return b"", "its packets are compressed by zstd, which can't be read, left out"
        inflate = zlib.decompressobj(_EITHER_HEADER)
        pieces = []
        data = found[_ZLIB]
        try:
            while not inflate.eof:
                piece = inflate.decompress(data, _PIECE)
                data = inflate.unconsumed_tail
                if not piece and not data:
                    break
                pieces.append(piece)
                self._left -= len(piece)
                if self._left < 0:
                    raise limits.exceeded(
                        f"the compressed packets at byte {place} unpack to too much", self._limit
                    )
        except zlib.error as error:
            return b"".join(pieces), f"its compressed packets are damaged ({error})"
        fault = "" if inflate.eof else "its compressed packets are cut"
        return b"".join(pieces), fault
