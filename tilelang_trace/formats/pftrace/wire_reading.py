"""Protobuf's wire format, as much of it as finds the packets of a file and looks into one; for many
packets at once there is `wire_columns`. Rules of the format: see `wire`.
"""

from __future__ import annotations

from collections.abc import Iterator


class Truncated(ValueError):
    """From `offset` on there is no whole field any more: the data ends inside one, or has zeros
    where one should begin.
    """

    def __init__(self, offset: int) -> None:
        super().__init__(f"no whole field from byte {offset} on")
        self.offset = offset


def read_varint(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """The varint at `offset` and the offset behind it; `Truncated` if the data ends inside it."""
    value = shift = 0
    for position in range(offset, min(offset + 10, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    if offset + 10 <= len(data):
        raise ValueError(f"the varint at byte {offset} is longer than 10 bytes")
    raise Truncated(offset)


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int, bytes | memoryview]]:
    """The fields of a whole message: (field number, its value if it is a varint, its bytes if it
    has a length). Fields of a fixed size are passed by. Raises ValueError for anything else.
    """
    offset, size = 0, len(data)
    while offset < size:
        key, offset = read_varint(data, offset)
        kind = key & 7
        if kind == 0:
            value, offset = read_varint(data, offset)
            yield key >> 3, value, b""
        elif kind == 2:
            length, offset = read_varint(data, offset)
            yield key >> 3, 0, data[offset : offset + length]
            offset += length
        elif kind in (1, 5):
            offset += 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} before byte {offset} is none that a trace has")


def fields_with_type(data: bytes) -> Iterator[tuple[int, int]]:
    """The fields of a message: (field number, type), without those in groups. Raises `Truncated`
    where the data ends inside a field, and ValueError for bytes that are no protobuf.
    """
    offset, size = 0, len(data)
    groups = 0
    while offset < size:
        key, offset = read_varint(data, offset)
        kind = key & 7
        if kind == 0:
            _, offset = read_varint(data, offset)
        elif kind == 2:
            length, offset = read_varint(data, offset)
            offset += length
        elif kind in (1, 5):
            offset += 8 if kind == 1 else 4
        elif kind in (3, 4):
            groups += 1 if kind == 3 else -1
        else:
            raise ValueError(f"wire type {kind} before byte {offset} is none that a trace has")
        if not groups:
            yield key >> 3, kind


def top_level_fields(data: bytes | memoryview) -> Iterator[tuple[int, int, bytes | memoryview]]:
    """The length-delimited fields of a message: (offset of the field, field number, its bytes). As
    `top_level_places`.
    """
    for place, number, start, stop in top_level_places(data):
        yield place, number, data[start:stop]


def top_level_places(
    data: bytes | memoryview, offset: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """The length-delimited fields of a message from an offset on: (offset of the field, field
    number, where its bytes begin, where they end).

    Other fields are passed by. Ends silently at a run of zero bytes that reaches the end (a
    journal's blocks are allocated beforehand). Raises `Truncated` where the data ends inside a
    field or zeros stand in place of one, and ValueError for bytes that are no protobuf.
    """
    size = len(data)
    while offset < size:
        start = offset
        key, offset = read_varint(data, offset)
        if key == 0:
            if bytes(data[start:]).strip(b"\0"):
                raise Truncated(start)
            return
        kind = key & 7
        if kind == 2:
            try:
                length, offset = read_varint(data, offset)
            except Truncated:
                raise Truncated(start) from None
            if offset + length > size:
                raise Truncated(start)
            yield start, key >> 3, offset, offset + length
            offset += length
        elif kind == 0:
            _, offset = read_varint(data, offset)
        elif kind in (1, 5):
            offset += 8 if kind == 1 else 4
            if offset > size:
                raise Truncated(start)
        else:
            raise ValueError(f"wire type {kind} at byte {start} is none that a trace has")
