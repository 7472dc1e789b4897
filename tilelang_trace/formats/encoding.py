"""Text in another encoding, as a byte-order mark says -> UTF-8 without one."""

from __future__ import annotations

import codecs

from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""That of UTF-32 stands in front, as it begins with that of UTF-16."""
_BRACKETS = (
    (b"{\0", "utf-16-le"),
    (b"[\0", "utf-16-le"),
    (b"\0{", "utf-16-be"),
    (b"\0[", "utf-16-be"),
)
"""How JSON begins that has no mark."""
_WIDTHS = {"utf-16": 2, "utf-32": 4}
"""Bytes of a unit: half a one at the end of a file that was cut says nothing."""


def utf8(data: bytes, told: Findings | None = None) -> bytes:
    """The text in UTF-8, and that it was in something else told; other data as they are."""
    found = next((each for each in _MARKS + _BRACKETS if data.startswith(each[0])), None)
    if found is None:
        return data
    begin, encoding = found
    text = data[len(begin) :] if found in _MARKS else data
    name = encoding.removesuffix("-le").removesuffix("-be")
    if told is not None:
        without_mark = "read without its byte-order mark"
        done = without_mark if name == "utf-8" else f"read as {name.upper()}"
        told.add("byte 0", rules.FILE_START, done)
    if name == "utf-8":
        return text
    width = _WIDTHS[name]
    return text[: len(text) // width * width].decode(encoding, "replace").encode()
