"""Which of many texts stand in another one, in a time that does not grow with their number.

One after the other is fastest where they are few. Where they are many, each is looked for by one
short piece of it, the one that fewest of the others have: those pieces of the other text that are
such a piece, which few are, tell which of them are worth a look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import AnyStr, Generic

_FEW = 32
_PIECE = 6
_CHUNK = 1 << 16


class Finder(Generic[AnyStr]):
    """Finds some texts (all str or all bytes, none empty) in others."""

    def __init__(self, texts: Iterable[AnyStr]) -> None:
        self._texts: list[AnyStr] = list(dict.fromkeys(texts))
        self._by_piece: dict[int, dict[AnyStr, list[AnyStr]]] = {}
        """By the length of the pieces, what has a piece."""
        if len(self._texts) <= _FEW:
            return
        counts = Counter(piece for text in self._texts for piece in _pieces(text, _size(text)))
        for text in self._texts:
            rarest = min(_pieces(text, _size(text)), key=counts.__getitem__)
            self._by_piece.setdefault(_size(text), {}).setdefault(rarest, []).append(text)

    def found_in(self, text: AnyStr) -> list[AnyStr]:
        """Those that stand somewhere in the text."""
        if not self._by_piece:
            return [one for one in self._texts if one in text]
        found = []
        for size, by_piece in self._by_piece.items():
            known = by_piece.keys()
            there = set()
            for start in range(0, len(text), _CHUNK):
                there |= known & _pieces(text[start : start + _CHUNK + size - 1], size)
            found += [one for piece in there for one in by_piece[piece] if one in text]
        return found


def _size(text: AnyStr) -> int:
    return min(len(text), _PIECE)


def _pieces(text: AnyStr, size: int) -> set[AnyStr]:
    return {text[place : place + size] for place in range(len(text) - size + 1)}
