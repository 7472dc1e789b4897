"""Other names for kernels, functions and buffers, the same wherever and whenever they stand.

A pseudonym comes from a hash of the name, so that two Traces still compare. Somebody who guesses a
name can check the guess; nobody can read it. Names of passes are the compiler's, also those of
passes that a person wrote: comparing goes by them, so they stay. So does `main`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2s

from tilelang_trace.sharing.redaction.names import COMMON

_FUNCTION = re.compile(r"^[ \t]*def (\w+)\(", re.MULTILINE)
_BUFFER = re.compile(
    r"\b(\w+)(?:: (?:T\.Buffer|T\.handle|R\.Tensor|R\.Object|R\.Tuple|T\.Tensor)\b"
    r"| = T\.(?:match_buffer|(?:sblock_)?alloc_(?:buffer|shared|fragment|local|var)|decl_buffer"
    r"|Buffer|allocate|allocate_const|alias_buffer)\()"
)
_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w|=(?!=))|(?<=\bcls\.)\w+|(?<=\bModule\.)\w+")
_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_]\w*")
_DONE = re.compile(r"(?:kernel|buffer)_[0-9a-f]{8}")
_KEPT = frozenset(
    ["main", "T", "R", "I", "ir", "tir", "relax", "cls", "self", "Module", "lv", "gv", "n", "m"]
)
_TAILS = 32
"""So many are taken off a name in search of one that is known."""
_LABEL = re.compile(r"(?P<name>.*?)(?: \+\d+ more)?")


@dataclass
class Pseudonyms:
    """The names that are replaced."""

    kernels: set[str] = field(default_factory=set)
    """Kernels and functions."""
    buffers: set[str] = field(default_factory=set)

    def learn_program(self, text: str) -> None:
        """Take the functions and buffers of a printed module."""
        self.kernels.update(filter(_is_own, _FUNCTION.findall(text)))
        self.buffers.update(filter(_is_own, _BUFFER.findall(text)))

    def learn_kernel(self, label: str) -> None:
        """Take a kernel by its label, `attention +2 more`."""
        match = _LABEL.fullmatch(label)
        if match is not None and _is_own(match["name"]):
            self.kernels.add(match["name"])

    def in_program(self, text: str, show: Callable[[str, str], str]) -> str:
        """A printed module with other names; attributes (`T.add`) are the language's."""
        return _IDENTIFIER.sub(lambda match: self._shown(match[0], show), text)

    def in_text(self, text: str, show: Callable[[str, str], str]) -> str:
        """Any other text: a name such as `add` may be a word of English there, and stays."""
        return _WORD.sub(lambda match: self._shown(match[0], show, telling_only=True), text)

    def _shown(
        self, name: str, show: Callable[[str, str], str], *, telling_only: bool = False
    ) -> str:
        known = self._kind(name)
        if known:
            return name if telling_only and not is_telling(name) else show(known, name)
        stem = name
        for _ in range(
            _TAILS
        ):  # `attention_ptr` and `attention_1` are made of a name by the compiler
            stem = stem.rpartition("_")[0]
            known = self._kind(stem)
            if known and is_telling(stem):
                return show(known, stem) + name[len(stem) :]
        return name

    def _kind(self, name: str) -> str:
        return "kernel" if name in self.kernels else "buffer" if name in self.buffers else ""


def pseudonym(kind: str, name: str) -> str:
    """The name that stands for another one, an identifier."""
    digest = blake2s(name.encode(), digest_size=4, person=b"tltrace").hexdigest()
    return f"{kind}_{digest}"


def is_telling(name: str) -> bool:
    """Whether a name is no word of English: a digit, an underscore or a capital is in it."""
    return (len(name) >= 4 and name.lower() not in COMMON and not name.isalpha()) or (
        len(name) >= 6 and name[1:].lower() != name[1:]
    )


def _is_own(name: str) -> bool:
    return bool(name) and name not in _KEPT and not _DONE.fullmatch(name)
