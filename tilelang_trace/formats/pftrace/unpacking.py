"""Packets that lie compressed in others: how much they may unpack to, and what of them is whole.

Source of the rules: Perfetto's proto_trace_tokenizer.h: field 50 holds packets that are compressed
by zlib or gzip, field 133 by zstd.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilelang_trace.formats.compression import Budget, inflated
from tilelang_trace.formats.pftrace.wire_reading import fields

_ZLIB = 50

_MOST_LEVELS = 16
"""Compressed packets in compressed ones: tracing services write one level."""


class Unpacker:
    """Unpacks what is in packets of one file, all in all no more than the limits allow."""

    def __init__(self, file_bytes: int) -> None:
        self._budget = Budget(file_bytes)
        self._level = 0

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """While what was unpacked is looked into."""
        self._level += 1
        yield
        self._level -= 1

    def unpack(self, packet: bytes) -> tuple[bytes, str]:
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
        content, fault = inflated(found[_ZLIB], self._budget)
        return content, f"its compressed packets are {fault}" if fault else ""
