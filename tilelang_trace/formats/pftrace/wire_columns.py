"""Protobuf's wire format for many messages at once: their fields as columns.

A file has millions of small messages, and Python needs microseconds for each that it looks at. Here
all messages of a chunk are read side by side: the first field of each, then the second of those
that have one, and so on, each step a few NumPy operations over all of them. Nothing is taken for
granted about the order of fields or the length of varints. Rules of the format: see `wire`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
Ints: TypeAlias = npt.NDArray[np.int64]

PADDING = 32
"""So many bytes must stand behind the last message: whole words are read where a field begins."""

_LONGEST_LENGTH = 5
"""Bytes of a key or a length, at most; protobuf refuses longer ones."""

_MOST_FIELDS = 256
"""Of a message with more the others are not read: it takes a step for each, which is slow where no
other message has so many.
"""

_LARGEST_KEY = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True)
class FieldTable:
    """The fields of many messages; those of one message stand in their order."""

    message: Ints
    """Which message the field belongs to, by its place among the messages."""
    key: Ints
    """`number << 3 | type`."""
    value: Words
    """A varint's value; the bytes of a fixed one; the length of what has a length."""
    start: Ints
    """Where the value begins; of what has a length, where its bytes begin."""
    broken: npt.NDArray[np.bool_]
    """Per message whether it is not well-formed, or has more than `_MOST_FIELDS` fields; some of
    its fields may stand here nevertheless.
    """

    def where(self, key: int) -> Ints:
        """The rows of the fields with this key."""
        return np.flatnonzero(self.key == key)


def field_table(data: bytes, starts: Ints, stops: Ints) -> FieldTable:
    """The fields of the messages that lie between these offsets; `PADDING` bytes must follow."""
    words: Words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    """The eight bytes from each offset on."""
    broken = np.zeros(len(starts), np.bool_)
    pieces: list[tuple[npt.NDArray[Any], ...]] = []
    message = np.flatnonzero(starts < stops)
    at, stop = starts[message], stops[message]
    while len(message):
        key, size = _varints(words, at)
        is_bad = (size > _LONGEST_LENGTH) | (key > _LARGEST_KEY)
        at = at + size
        kind = key & np.uint64(7)
        value, size = _varints(words, at)
        if np.any(kind & np.uint64(1)):
            fixed = ((kind == 1) | (kind == 5)).nonzero()[0]
            is_long = kind[fixed] == 1
            value[fixed] = words[at[fixed]]
            value[fixed[~is_long]] &= np.uint64(0xFFFF_FFFF)
            size[fixed] = np.where(is_long, 8, 4)
        has_length = kind == 2
        # What is no field is broken, and so is what ends behind its message. A length that is too
        # large stays so when it is cut.
        is_bad |= ((kind > 2) & (kind != 5)) | (size > 10) | (has_length & (size > _LONGEST_LENGTH))
        start = at + size
        length = np.minimum(value, np.uint64(1 << 40)).view(np.int64)
        at = start + np.where(has_length, length, 0)
        is_bad |= at > stop
        if is_bad.any():
            broken[message[is_bad]] = True
            good = ~is_bad
            message, at, stop = message[good], at[good], stop[good]
            key, value, start = key[good], value[good], start[good]
        pieces.append((message, key, value, start))
        more = at < stop
        message, at, stop = message[more], at[more], stop[more]
        if len(pieces) == _MOST_FIELDS:
            broken[message] = True
            break
    if not pieces:
        none = np.empty(0, np.int64)
        return FieldTable(none, none, none.view(np.uint64), none, broken)
    message, key, value, start = (np.concatenate(column) for column in zip(*pieces))
    return FieldTable(message, key.view(np.int64), value, start, broken)


_ENDS = np.uint64(0x8080_8080_8080_8080)
_SEVEN_BITS = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
_STEPS = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F_007F_007F_007F, 0x7F00_7F00_7F00_7F00, 1),
        (0x0000_3FFF_0000_3FFF, 0x3FFF_0000_3FFF_0000, 2),
        (0x0000_0000_0FFF_FFFF, 0x0FFF_FFFF_0000_0000, 4),
    )
)
"""Groups of 7 bits are pushed together to groups of 14, those to 28, and those to 56."""
_SIZES = np.uint64(0x0102_0304_0506_0708)
_ONE = np.uint64(1)


def _varints(words: Words, at: Ints) -> tuple[Words, Ints]:
    """The varints at these offsets, and how many bytes each takes: 11 if it has no end."""
    word = words[at]
    ends = ~word & _ENDS
    end = ends & (~ends + _ONE)
    """The lowest bit that says that a varint ends: 0x80 of its last byte."""
    bits = word & (end ^ (end - _ONE)) & _SEVEN_BITS
    for low, high, shift in _STEPS:
        bits = bits & low | (bits & high) >> shift
    # The factor has a byte for each place that the end can have.
    size = ((end >> np.uint64(7)) * _SIZES >> np.uint64(56)).view(np.int64)
    if not end.all():
        long = np.flatnonzero(end == 0)
        last = words[at[long] + 8]
        ninth, tenth = last & np.uint64(0xFF), last >> np.uint64(8) & np.uint64(0xFF)
        bits[long] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        bits[long] |= np.where(ninth < 0x80, np.uint64(0), tenth & _ONE) << np.uint64(63)
        size[long] = np.where(ninth < 0x80, 9, np.where(tenth < 0x80, 10, 11))
    return bits, size


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct ones among non-negative values, ascending, and the place of each value among
    them. As `np.unique`, in a tenth of the time where the largest value is small.
    """
    largest = int(values.max()) if len(values) else 0
    if largest > 4 * len(values) + (1 << 16):
        found, places = np.unique(values, return_inverse=True)
        return found, places.reshape(-1)
    place = np.zeros(largest + 1, np.int64)
    place[values] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[values]
