"""Escapes in good JSON that Perfetto takes wrongly.

Perfetto v52 decodes escapes only in texts that hold an escaped quote, and then refuses surrogates;
tried on its engine.
"""

from __future__ import annotations

import re

from tilelang_trace.formats.chrome_json.scan import end_of_string
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Tell

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def look(data: bytes, start: int, stop: int, tell: Tell) -> None:
    """Tell of each text with such escapes, in a stretch of JSON that has no text cut."""
    while (escape := data.find(b"\\", start, stop)) >= 0:
        # There are escapes only in texts, and this is the first of its text.
        begin = data.rfind(b'"', start, escape)
        start = end_of_string(data, begin)
        if not 0 <= begin < start:
            return
        text = data[begin:start]
        others = text.replace(b"\\\\", b"")  # an escaped backslash begins none
        shown = text[:60].decode("utf-8", "replace")
        if _SURROGATE.search(others):
            tell(begin, rules.SURROGATES, shown)
        elif b'\\"' not in others:
            tell(begin, rules.ESCAPES, shown)
