"""Escapes in good JSON that Perfetto takes wrongly.

Perfetto v52 decodes escapes only in texts that hold an escaped quote, and then refuses surrogates;
tried on its engine.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_trace.formats.chrome_json.scan import end_of_string
from tilelang_trace.trace import rules
from tilelang_trace.trace.rules import Rule


def tell(data: bytes, start: int, stop: int, told: Callable[[int, Rule, str], None]) -> None:
    """Call `told` with place, rule and words for each text with such escapes, in a stretch of JSON
    that has no text cut.
    """
    while (escape := data.find(b"\\", start, stop)) >= 0:
        # There are escapes only in texts, and this is the first of its text.
        begin = data.rfind(b'"', start, escape)
        start = end_of_string(data, begin)
        if not 0 <= begin < start:
            return
        text = data[begin:start]
        rule = None
        if b"\\ud" in text or b"\\uD" in text:
            rule = rules.SURROGATES if _has_surrogate(text) else None
        if rule is None and b'\\"' not in text.replace(b"\\\\", b""):
            rule = rules.ESCAPES
        if rule is not None:
            told(begin, rule, text[:60].decode("utf-8", "replace"))


def _has_surrogate(text: bytes) -> bool:
    pieces = text.replace(b"\\\\", b"").lower().split(b"\\ud")
    return any(
        piece[:1] in (b"8", b"9", b"a", b"b", b"c", b"d", b"e", b"f") for piece in pieces[1:]
    )
