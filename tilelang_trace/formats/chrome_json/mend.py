"""One value of what is almost JSON -> the JSON that it means, and what was mended.

As other languages print it: NaN and infinity, `True` and `None`, `1.` and `.5`, a comma too many;
strings with raw control characters, escapes of C, half a surrogate pair, or bytes that are no
UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import orjson

from tilelang_trace.formats.chrome_json.scan import end_of_string
from tilelang_trace.trace import rules
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.rules import Rule

Mend = tuple[Rule, str]
"""What was wrong, and in words what was done."""

_PART = re.compile(
    # What needs no mending: a bounded number of times, for the memory that this takes.
    rb"((?:[\s{}\[\]:]+|,(?!\s*[,}\]])|\"[^\"\\\x00-\x1f\x80-\xff]*\"|true|false|null"
    rb"|-?(?:0|[1-9][0-9]{0,200})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?(?=[\s,}\]])){1,500})"
    rb"|[\",]|[^\s{}\[\],:\"]+"
)
_SMALL_PART = re.compile(rb'([\s{}\[\],:])|"|[^\s{}\[\],:"]+')
_LAST_KEY = re.compile(rb'"([^"]*)"\s*:[^:"]*\Z')
_KEY_BYTES = 200

_WORDS = {
    b"true": b"true",
    b"false": b"false",
    b"none": b"null",
    b"null": b"null",
    b"nil": b"null",
    b"undefined": b"null",
}
_JSON_WORDS = (b"true", b"false", b"null")
_NO_NUMBER = re.compile(rb"[+-]?(?:nan(?:\(\w*\))?|inf(?:inity)?|\d\.#\w+)", re.IGNORECASE)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(rb"([+-]?)(?=\.?[0-9])0*([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+)?")

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u([0-9a-fA-F]{4})|[\"\\/bfnrt]|x([0-9a-fA-F]{2})|(.))",
    re.DOTALL,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_NO_ASCII = re.compile(rb"[\x80-\xff]+")


class Hopeless(Exception):
    """It can't be told what the text means."""


def mended(text: bytes, deepest: int) -> tuple[Json, bytes, list[Mend]]:
    """The value, the JSON that says it, and what was mended, of which levels below the deepest are
    left out. Raises Hopeless.
    """
    mends: list[Mend] = []
    good = b"".join(_parts(text, deepest, mends))
    try:
        return orjson.loads(good), good, mends
    except orjson.JSONDecodeError:
        raise Hopeless from None


def _parts(text: bytes, deepest: int, mends: list[Mend]) -> list[bytes]:
    if text.count(b"{") + text.count(b"[") > deepest:
        text = b"".join(_shallow(text, deepest, mends))
    parts = []
    for start, end, is_good in _tokens(_PART, text):
        part, first = text[start:end], text[start : start + 1]
        if first == b"," and not is_good:
            mends.append((rules.COMMAS, "one comma too many"))
            continue
        if not is_good:
            take = _string if first == b'"' else _word
            part = take(part, text[max(0, start - _KEY_BYTES) : start], mends)
        parts.append(part)
    return parts


def _shallow(text: bytes, deepest: int, mends: list[Mend]) -> Iterator[bytes]:
    """The text with null for what is nested deeper."""
    depth = cut_at = 0
    for start, end, _ in _tokens(_SMALL_PART, text):
        first = text[start]
        if first in b"{[":
            depth += 1
            if depth > deepest and not cut_at:
                cut_at = depth
                mends.append((rules.DEEP_VALUE, f"what is below level {deepest} is left out"))
                yield b"null"
        elif first in b"}]":
            depth -= 1
        if not cut_at:
            yield text[start:end]
        elif depth < cut_at:
            cut_at = 0


def _tokens(pattern: re.Pattern[bytes], text: bytes) -> Iterator[tuple[int, int, bool]]:
    """Where each part begins and ends, and whether it is one that needs no mending."""
    place = 0
    while (match := pattern.search(text, place)) is not None:
        start, place = match.span()
        if text[start:place] == b'"':
            place = end_of_string(text, start)
            if place < 0:
                raise Hopeless
        yield start, place, match.start(1) >= 0


def _shown(text: bytes) -> str:
    return repr(text.strip(b'"').decode("utf-8", "replace")[:80])


def _key(before: bytes) -> str:
    """The key of what stands behind this text."""
    found = _LAST_KEY.search(before)
    return _shown(found[1]) if found else "a value"


def _word(word: bytes, before: bytes, mends: list[Mend]) -> bytes:
    if _NUMBER.fullmatch(word):
        if abs(float(word)) != float("inf"):
            return word
    elif word in _JSON_WORDS:
        return word
    else:
        loose = _LOOSE_NUMBER.fullmatch(word)
        meant = _WORDS.get(word.lower())
        if loose:
            sign = b"-" if loose[1] == b"-" else b""
            whole, part, exponent = (loose[number] or b"" for number in (2, 3, 4))
            meant = sign + (whole or b"0") + (b"." + part if part else b"") + exponent
        if meant is not None:
            mends.append((rules.LOOSE_JSON, f"{_key(before)} is {_word_shown(word)}"))
            return meant
        if not _NO_NUMBER.fullmatch(word):
            raise Hopeless
    mends.append((rules.NOT_A_NUMBER, f"{_key(before)} is {_word_shown(word)}: read as null"))
    return b"null"


def _word_shown(word: bytes) -> str:
    return word[:40].decode("ascii", "backslashreplace")


def _string(text: bytes, _: bytes, mends: list[Mend]) -> bytes:
    """A string with its quotes, as JSON has it."""
    original = text
    if not text.isascii():
        text = _utf8(text)
        if text != original:
            mends.append((rules.NOT_UTF8, f"{_shown(text)}: bytes read as Latin-1"))
    if b"\\" in text:
        told = len(mends)
        text = _ESCAPE.sub(lambda match: _escape(match, mends, told), text)
    if _CONTROL.search(text):
        mends.append((rules.CONTROL_CHARACTER, _shown(original)))
        text = _CONTROL.sub(lambda match: b"\\u%04x" % match[0][0], text)
    return text


def _escape(match: re.Match[bytes], mends: list[Mend], told: int) -> bytes:
    """The escape as JSON has it. The first of a string is told, others are not."""
    code, of_c, other = match.groups()
    if code is not None and code[:1] in b"dD" and code[1:2] in b"89abcdefABCDEF":
        rule, meant = rules.SURROGATES, b"\\ufffd"
    elif of_c is not None:
        rule, meant = rules.BAD_ESCAPE, b"\\u00" + of_c
    elif other is not None:
        rule, meant = rules.BAD_ESCAPE, other if other == b"'" else b"\\\\" + other
    else:
        return match[0]
    if len(mends) == told:
        mends.append((rule, f"{_word_shown(match[0])} is read as {_word_shown(meant)}"))
    return meant


def _utf8(text: bytes) -> bytes:
    """The text in UTF-8: bytes that are none are Latin-1 as Windows has it (code page 1252), and
    surrogates in three bytes each (of Java) are put together.
    """
    try:
        text.decode()
        return text
    except UnicodeDecodeError:
        pass
    try:
        pairs = text.decode("utf-8", "surrogatepass")
        return pairs.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    except UnicodeDecodeError:
        return text.decode("utf-8", _LATIN).encode()


def _as_latin(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    run = _NO_ASCII.match(error.object, error.start)
    assert run is not None
    return "".join(_CP1252[byte] for byte in run[0]), run.end()


_CP1252 = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]
_LATIN = "tilelang_trace.latin"
codecs.register_error(_LATIN, _as_latin)
