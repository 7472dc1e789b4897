"""A text without the secrets that are known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tilelang_trace.secret_values import is_secret, spans
from tilelang_trace.sharing.redaction import names, paths, pseudonyms
from tilelang_trace.sharing.redaction.learn import EMAIL, Known, Learner, is_mere_name
from tilelang_trace.sharing.redaction.search import Finder
from tilelang_trace.sharing.redaction.secret import Kind, Secret
from tilelang_trace.sharing.redaction.walk import COMPILERS, IR, KERNEL

_LONG_ENOUGH = 6
"""A token shorter than this, or a mere word, is hidden behind its name only."""


@dataclass(frozen=True)
class Result:
    """What became of a text."""

    text: str
    replacements: tuple[tuple[str, str, str], ...]
    """Kind, old and new of each, in no order."""


class Replacer:
    """Replaces what is known; remembers what it hid."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._results: dict[tuple[str, str], Result] = {}
        self._hidden: set[tuple[str, str]] = set()
        self._said: list[tuple[str, str, str]] = []
        self._look_for()

    def _look_for(self) -> None:
        """Get ready to find what is known now."""
        self._values = Finder(filter(is_found_anywhere, self.known.values))
        self._names = [
            (kind, _Names(names))
            for kind, names in (("host", self.known.hosts), ("user", self.known.users))
        ]

    def replaced(self, text: str, key: str) -> Result:
        """A text that is the value of `key` without what is private."""
        result = self._results.get((text, key))
        if result is None:
            self._said = []
            result = Result(self._replaced(text, key), tuple(self._said))
            self._results[text, key] = result
        return result

    def other(self, text: str, key: str) -> str:
        """The same for a text from elsewhere, which may hold secrets of its own."""
        before = self.known.size()
        for from_paths in (False, True):
            Learner(self.known, from_paths).shown(text, key)
        if self.known.size() != before:
            self.known.number()
            self._results.clear()
            self._look_for()
        return self.replaced(text, key).text

    def _replaced(self, text: str, key: str) -> str:
        if not text:
            return text
        if is_secret(key, text):
            return self._token(text)
        if key and text in self.known.users and names.is_user_key(key):
            return self._say("user", text, "<user>")
        if key and text in self.known.hosts and names.is_host_key(key):
            return self._say("host", text, "<host>")
        code = key == IR
        if not is_mere_name(text) or text in self.known.values:
            text = self._without_values(text)
            if "@" in text or "%40" in text:
                text = EMAIL.sub(self._email, text)
            text = paths.rewrite(text, self.known.places, self._path)
        lower = text.lower()
        for kind, known in self._names:
            for name in known.found_in(lower):
                text = self._without_name(text, name, kind, code)
        if self.known.pseudonyms is not None and key != COMPILERS:
            if code or key == KERNEL:
                text = self.known.pseudonyms.in_program(text, self._pseudonym)
            else:
                text = self.known.pseudonyms.in_text(text, self._pseudonym)
        return text

    def _say(self, kind: str, old: str, new: str) -> str:
        self._said.append((kind, old, new))
        return new

    def _token(self, value: str) -> str:
        self._hidden.add(("token", value))
        number = self.known.numbers.get(("token", value))
        return self._say("token", value, f"<token {number}>")

    def _without_values(self, text: str) -> str:
        shown, position = [], 0
        for begin, end in spans(text):
            shown += [text[position:begin], self._token(text[begin:end])]
            position = end
        text = "".join([*shown, text[position:]]) if shown else text
        for value in sorted(self._values.found_in(text), key=_longest_first):
            text = text.replace(value, self._token(value))
        return text

    def _email(self, match: re.Match[str]) -> str:
        address = match[0].replace("%40", "@")
        number = self.known.numbers.get(("email", address))
        if number is None:
            return match[0]
        self._hidden.add(("e-mail", address))
        return self._say("e-mail", match[0], f"<email {number}>")

    def _path(self, kind: str, old: str, value: str) -> str:
        if kind == "user part":
            return self._say("user", old, "<user>") if value in self.known.users else old
        if kind == "temporary part":
            return self._temporary_part(old)
        if kind == "home":
            self._hidden.add(("home", value))
            return self._say("home", old, "<home>")
        if kind == "folder":
            self._hidden.add(("folder", value))
            return self._say("folder", old, "<cwd>")
        if kind == "temporary folder":
            self._hidden.add(("temporary folder", value))
            return self._say("temporary folder", old, "<temp>")
        if kind == "share":
            self._hidden.add(("share", value))
            return self._say("share", old, "<share>")
        number = self.known.numbers.get(("project", value))
        if number is None:
            return old
        if value in self.known.places.roots:
            self._hidden.add(("folder", value))
        return self._say("project", old, f"<project {number}>")

    def _temporary_part(self, part: str) -> str:
        """`pytest-of-jdoe` without the user."""
        pieces = re.split(r"([-_])", part)
        if len(pieces) > 1:
            for index, piece in enumerate(pieces):
                if piece in self.known.users:
                    pieces[index] = self._say("user", piece, "<user>")
        return "".join(pieces)

    def _without_name(self, text: str, name: str, kind: str, code: bool) -> str:
        def shown(match: re.Match[str]) -> str:
            begin, end = match.span()
            beside = text[begin - 1 : begin] + text[end : end + 1]
            new = kind if "_" in beside or (code and not _in_string(text, begin)) else f"<{kind}>"
            old = match[0]
            prefix = old[: len(old) - len(name)]
            return prefix + self._say(kind, old[len(prefix) :], new)

        if self.known.is_telling(name):
            return names.word_pattern(name).sub(shown, text)
        if not code:
            pattern = names.user_pattern if kind == "user" else names.host_pattern
            return pattern(name).sub(shown, text)
        return text

    def _pseudonym(self, kind: str, name: str) -> str:
        return self._say(kind, name, pseudonyms.pseudonym(kind, name))

    def secrets(self) -> frozenset[Secret]:
        """All that was to be hidden until now."""
        found = set()

        def add(kind: Kind, text: str, anywhere: bool) -> None:
            found.add(Secret(kind, text, "word" if anywhere else "name"))

        for user in self.known.users:
            add("user", user, self.known.is_telling(user))
        for host in self.known.hosts:
            add("host", host, self.known.is_telling(host))
        for value in self.known.values:
            found.add(Secret("token", value, "anywhere" if is_found_anywhere(value) else "name"))
        for email in self.known.emails:
            found.add(Secret("e-mail", email, "anywhere"))
        for home in self.known.places.homes:
            found.add(Secret("home", home, "path"))
        for folder in self.known.places.folders | self.known.places.roots:
            found.add(Secret("folder", folder, "path"))
        for kind, text in self._hidden:
            if kind in ("home", "temporary folder", "share") and text[0] not in "~$":
                found.add(Secret("folder" if kind == "share" else kind, text, "path"))  # type: ignore[arg-type]
        if self.known.pseudonyms is not None:
            for name in self.known.pseudonyms.kernels:
                add("kernel", name, pseudonyms.is_telling(name))
            for name in self.known.pseudonyms.buffers:
                add("buffer", name, pseudonyms.is_telling(name))
        return frozenset(found)


class _Names:
    """Users or hosts, found whatever their case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_lower: dict[str, list[str]] = {}
        for name in names:
            self._by_lower.setdefault(name.lower(), []).append(name)
        self._finder = Finder(self._by_lower)

    def found_in(self, lower: str) -> list[str]:
        """Those in a text, which is given in lower case, the longest first."""
        found = (name for key in self._finder.found_in(lower) for name in self._by_lower[key])
        return sorted(found, key=_longest_first)


def _longest_first(text: str) -> tuple[int, str]:
    return -len(text), text


def is_found_anywhere(value: str) -> bool:
    """Whether a value is so much of its own that it is hidden wherever it stands."""
    return len(value) >= _LONG_ENOUGH and not value.isalpha() and not value.isdigit()


def _in_string(text: str, position: int) -> bool:
    """Whether a place in a printed module is in a string: by the quotes before it on its line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
