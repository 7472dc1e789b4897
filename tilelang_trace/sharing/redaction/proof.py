"""The proof: a finished archive is searched for everything that it was to hide.

Members are searched as bytes, whatever they hold, because that is what other people get. Each
content is looked at several times: as it is, without NULs (UTF-16), and with the escapes of JSON,
of addresses and of HTML undone; base64 is searched for as what it makes of the secret. Where a
short name is one, such as that of the user `a`, the expressions say by which it was replaced.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote_to_bytes

from tilelang_trace.sharing.redaction import names
from tilelang_trace.sharing.redaction.search import Finder
from tilelang_trace.sharing.redaction.secret import Secret

_DEEPEST = 4
_ESCAPED = re.compile(rb"\\u00([0-7][0-9a-fA-F])|\\([\"'\\/])")
_SLASHES = re.compile(rb"\\*/|\\+")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(rb"&(?:#\d+|#[xX][0-9A-Fa-f]+|lt|gt|amp|quot|apos);")
_WORDY = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True)
class Leak:
    """A secret that is in an archive."""

    member: str
    """Name of the archive's member; of what is packed in it, `trace.json.gz: content`."""
    secret: Secret
    place: str
    """`its name`, or where in the content (with the escapes undone): `byte 1234`."""
    form: str
    """As what it stands there: `text`, `JSON`, `percent`, `HTML`, `UTF-16`, `base64`."""


def leaks(members: Iterable[tuple[str, bytes]], secrets: Iterable[Secret]) -> list[Leak]:
    """What is found of the secrets in the names and contents of an archive's members, at most one
    Leak for each secret and member. Packed members (.gz, .zip) are unpacked.
    """
    searched = _Searches([_Search(secret) for secret in sorted(secrets) if secret.text])
    found: list[Leak] = []
    for member, content in members:
        named = [("text", content_) for _, content_ in _views(member.encode())]
        found += _found(member, named, searched, in_name=True)
        for inner, data in _unpacked(member, content, 0):
            found += _found(inner, _views(data), searched)
    return found


def _found(
    member: str, views: Iterable[tuple[str, bytes]], searched: _Searches, in_name: bool = False
) -> Iterator[Leak]:
    seen: set[Secret] = set()
    for form, view in views:
        lower = view.lower()
        text: str | None = None
        for search in searched.worth_a_look(lower):
            if search.secret in seen:
                continue
            if text is None:
                text = view.decode("latin-1")  # a character a byte: places are places of bytes
            hit = search.first(text, lower)
            if hit is not None:
                position, coded = hit
                seen.add(search.secret)
                place = "its name" if in_name else f"byte {position}"
                yield Leak(member, search.secret, place, coded or form)


def _unpacked(member: str, data: bytes, level: int) -> Iterator[tuple[str, bytes]]:
    """A content, and what is packed in it."""
    yield member, data
    if level >= _DEEPEST:
        return
    if data[:2] == b"\x1f\x8b":
        try:
            inner = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):  # not gzip, or cut: searched as it is
            return
        yield from _unpacked(f"{member}: content", inner, level + 1)
    elif data[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error):
            return
        for name, inner in entries:
            yield f"{member}: {name} (its name)", name.encode()
            yield from _unpacked(f"{member}: {name}", inner, level + 1)


def _views(data: bytes) -> Iterator[tuple[str, bytes]]:
    """A content as it is, and with escapes undone."""
    yield "text", data
    if b"\\" in data:
        once = _ESCAPED.sub(_unescaped, data)
        yield "JSON", once
        if b"\\" in once:
            yield "JSON", _ESCAPED.sub(_unescaped, once)
    if _PERCENT.search(data):
        once = unquote_to_bytes(data)
        yield "percent", once
        if _PERCENT.search(once):
            yield "percent", unquote_to_bytes(once)
    if _ENTITY.search(data):
        yield "HTML", _ENTITY.sub(_character, data)
    if b"\0" in data and (b"\0a\0" in data or b"\0e\0" in data or b"/\0" in data):
        yield "UTF-16", data.replace(b"\0", b"")


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)]) if match[1] else match[2]


def _character(match: re.Match[bytes]) -> bytes:
    return html.unescape(match[0].decode()).encode()


class _Search:
    """How one secret is looked for."""

    def __init__(self, secret: Secret) -> None:
        self.secret = secret
        text = secret.text
        self._texts = [text.encode()]
        escaped = json.dumps(text)[1:-1].encode()  # other than ASCII letters as \u00fc
        if not text.isascii():
            self._texts += [escaped, text.encode("utf-16-le"), text.encode("utf-16-be")]
        self._coded = list(_in_base64(text.encode())) if secret.search == "anywhere" else []
        if secret.search in ("word", "path"):
            self._coded = list(_in_base64(text.encode()))
        self._cues = [cue.encode().lower() for cue in _cues(secret)]

    def cues(self) -> list[bytes]:
        """Of which one is in every content, in lower case, that may hold it."""
        texts = self._texts if not self.secret.text.isascii() else []
        return [*self._cues, *(text.lower() for text in (*texts, *self._coded))]

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return _pattern(self.secret)

    def first(self, text: str, lower: bytes) -> tuple[int, str] | None:
        """Where it stands first in a text (latin-1), and `base64` if it does so in that form."""
        for position in self._plain(text, lower):
            return position, ""
        for coded in self._coded:
            position = text.find(coded.decode())
            if position >= 0:
                return position, "base64"
        return None

    def _plain(self, text: str, lower: bytes) -> Iterator[int]:
        for plain in self._texts if self._pattern is None else self._texts[1:]:
            position = text.find(plain.decode("latin-1"))
            if position >= 0:
                yield position
        if self._pattern is None:
            return
        # An expression takes long to get through a large content: it looks around each cue only.
        around = len(self.secret.text) * 4 + 60
        for cue in self._cues:
            position = lower.find(cue)
            while position >= 0:
                begin, end = max(0, position - around), position + around
                for match in self._pattern.finditer(text, begin, end):
                    if self.secret.search == "name" or _begins(text, match.start()):
                        yield match.start()
                # What begins at a cue in the first half of what was searched ends in it.
                position = lower.find(cue, position + around // 2)


class _Searches:
    """All of them."""

    def __init__(self, searches: Sequence[_Search]) -> None:
        self._by_cue: dict[bytes, list[int]] = {}
        for number, search in enumerate(searches):
            for cue in search.cues():
                self._by_cue.setdefault(cue, []).append(number)
        self._searches = searches
        self._finder = Finder(self._by_cue)

    def worth_a_look(self, lower: bytes) -> list[_Search]:
        """Those of what may be in a content, which is given in lower case."""
        found = {n for cue in self._finder.found_in(lower) for n in self._by_cue[cue]}
        return [self._searches[number] for number in sorted(found)]


def _cues(secret: Secret) -> list[str]:
    """Texts of which one is in every place where the secret is found."""
    text = secret.text
    if secret.search == "path":
        return [re.split(r"[\\/]", text)[-1]]
    if secret.search != "name":
        return [text]
    if secret.kind in ("kernel", "buffer"):
        return [f"def {text}("]
    assigned = [f"{sign}{text}" for sign in ("=", ":", ": ", "= ", '"', "'", "%3d")]
    if secret.kind == "host":
        return [*assigned, f"@{text}", f"//{text}"]
    return [*assigned, f"user {text}", f"username {text}", f"~{text}", f"{text}@"]


def _pattern(secret: Secret) -> re.Pattern[str] | None:
    """An expression for a content that is decoded as latin-1; None: any place counts."""
    text = secret.text.encode().decode("latin-1")
    if secret.kind in ("kernel", "buffer") and secret.search == "word":
        return re.compile(rf"(?<![_.]){re.escape(text)}(?![A-Za-z0-9])")
    if secret.search == "word":
        return re.compile(rf"(?<![TRI]\.){re.escape(text)}(?![A-Za-z0-9])", re.IGNORECASE)
    if secret.search == "path":
        parts = (re.escape(part) for part in text.split("/"))
        flags = re.IGNORECASE if re.match(r"[A-Za-z]:|//", text) else 0
        return re.compile(r"(?:\\*/+|\\+)".join(parts) + r"(?![\w-]|\.\w)", flags)
    if secret.search == "name":
        if secret.kind == "user":
            return names.user_pattern(text)
        if secret.kind == "host":
            return names.host_pattern(text)
        if secret.kind == "token":
            return re.compile(
                rf"(?i:token|password|passwd|secret|key|passphrase|credential|auth)\w*"
                rf"\\*[\"']?\s*[=:]\s*\\*[\"']?{re.escape(text)}(?![\w(.-])"
            )
        return re.compile(rf"\bdef {re.escape(text)}\(")
    return None


def _begins(text: str, position: int) -> bool:
    """Whether a word or path may begin here: behind a letter or digit it does not, unless that is
    the length of a text in a protobuf, which stands behind the number of a field.
    """
    before = text[position - 1 : position]
    if not before or not _WORDY.match(before):
        return before not in (")", "]", "}") or text[position] != "/"
    if text[position - 2 : position - 1] == "-" and text[position] == "/":  # -I/home/jdoe
        return True
    if re.match(r"/(?:home|Users)/", text[position : position + 7]):
        return True
    field, inner = text[position - 2 : position - 1], text[position : position + ord(before)]
    return bool(field) and ord(field) % 8 == 2 and len(inner) == ord(before) and inner.isprintable()


def _in_base64(data: bytes) -> Iterator[bytes]:
    """What base64 makes of a secret that stands anywhere in something longer: at each of the three
    places modulo 3, without the characters that depend on what is around it.
    """
    if len(data) < 8:
        return
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + data)
        begin = (0, 2, 3)[shift]
        whole = (shift + len(data)) // 3 * 4
        yield coded[begin:whole]
        yield coded[begin:whole].translate(_URL_SAFE)


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
