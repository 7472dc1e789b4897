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
    # Without a mark: a bracket in two bytes.
    (b"{\0", "utf-16-le"),
    (b"[\0", "utf-16-le"),
    (b"\0{", "utf-16-be"),
    (b"\0[", "utf-16-be"),
)


def utf8(data: bytes, told: Findings | None = None) -> bytes:
    """The text in UTF-8, and that it was in something else told; other data as they are."""
    found = next((known for known in _MARKS if data.startswith(known[0])), None)
    if found is None:
        return data
    mark, encoding = found
    is_mark = mark[0] not in b"{[\0" or len(mark) > 2
    text = data[len(mark) :] if is_mark else data
    name = encoding.upper().removesuffix("-LE").removesuffix("-BE")
    if told is not None:
        done = "read without its byte-order mark" if encoding == "utf-8" else f"read as {name}"
        told.add("byte 0", rules.FILE_START, done)
    if encoding == "utf-8":
        return text
    width = 4 if "32" in encoding else 2
    return text[: len(text) // width * width].decode(encoding, "replace").encode()
