"""Text in another encoding -> UTF-8 without a byte-order mark. The mark says which one it is, or
where there is none, the bytes that a bracket has.
"""

from __future__ import annotations

import codecs
import re

from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins with the one of UTF-16
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def _beginning(encoding: str) -> re.Pattern[bytes]:
    """A bracket, behind any white space."""
    space, bracket = (
        b"|".join(re.escape(one.encode(encoding)) for one in some) for some in (" \t\r\n", "{[")
    )
    return re.compile(b"(?:%b)*(?:%b)" % (space, bracket))


_BEGINNINGS = {
    encoding: _beginning(encoding)
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
}


def utf8(data: bytes, told: Findings | None = None) -> bytes:
    """The text in UTF-8, and that it was in something else told; other data as they are."""
    mark, encoding = _encoding_of(data)
    if not encoding:
        return data
    name = encoding.upper().removesuffix("-LE").removesuffix("-BE")
    if told is not None:
        done = "read without its byte-order mark" if encoding == "utf-8" else f"read as {name}"
        told.add("byte 0", rules.FILE_START, done)
    text = data[len(mark) :]
    if encoding == "utf-8":
        return text
    width = 4 if "32" in encoding else 2
    return text[: len(text) // width * width].decode(encoding, "replace").encode()


def _encoding_of(data: bytes) -> tuple[bytes, str]:
    """The byte-order mark and the encoding, empty if it is UTF-8 without a mark, or no text."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return mark, encoding
    for encoding, beginning in _BEGINNINGS.items():
        if beginning.match(data):
            return b"", encoding
    return b"", ""
