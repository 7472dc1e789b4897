"""Protobuf's wire format, as much of it as a writer of trace packets needs.

Source of the rules: protobuf's encoding specification (varints of 7 bits a byte, the low ones
first; a field is its key `number << 3 | type`, then the value; type 0 is a varint, 1 is 8 bytes, 2
is a length and that many bytes). Packets are written by hand because building message objects costs
ten times as much a slice, and because a recorder in somebody else's compile must not import
protobuf.
"""

from __future__ import annotations

import struct

_SMALL = [
    *(bytes((value,)) for value in range(1 << 7)),
    *(bytes((value & 0x7F | 0x80, value >> 7)) for value in range(1 << 7, 1 << 14)),
]
LOW_BITS = [bytes((value & 0x7F | 0x80, value >> 7 | 0x80)) for value in range(1 << 14)]
"""14 bits of a longer varint: two bytes that both say that more follow."""


def varint(value: int) -> bytes:
    """A non-negative integer below 2^64 as a varint."""
    if value < 1 << 14:
        return _SMALL[value]
    if value < 1 << 28:
        return LOW_BITS[value & 0x3FFF] + _SMALL[value >> 14]
    if value < 1 << 42:
        return LOW_BITS[value & 0x3FFF] + LOW_BITS[value >> 14 & 0x3FFF] + _SMALL[value >> 28]
    return (
        LOW_BITS[value & 0x3FFF]
        + LOW_BITS[value >> 14 & 0x3FFF]
        + LOW_BITS[value >> 28 & 0x3FFF]
        + varint(value >> 42)
    )


def field_varint(number: int, value: int) -> bytes:
    """A varint field; negative values are written as 64-bit two's complement."""
    return varint(number << 3) + varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def field_bytes(number: int, value: bytes) -> bytes:
    """A field of bytes, of an embedded message, or of UTF-8 text."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def field_text(number: int, value: str) -> bytes:
    """A text field. What can't be UTF-8 in it becomes a question mark."""
    try:
        data = value.encode()
    except UnicodeEncodeError:
        data = value.encode(errors="replace")
    return field_bytes(number, data)


def field_double(number: int, value: float) -> bytes:
    """A field of type double."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def field_fixed64(number: int, value: int) -> bytes:
    """A field of type fixed64."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)
