"""Columns of texts: a number for each text, and the texts that the numbers stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.columns import numbered
from tilelang_trace.trace.model import Ids, Ints


class Texts(Sequence[str]):
    """A text for each row. Two numbers may stand for one text; see `in_common`."""

    __slots__ = ("ids", "strings")

    def __init__(self, ids: Ids, strings: Sequence[str]) -> None:
        self.ids = ids
        self.strings = strings

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """These texts; a column of texts as it is."""
        if isinstance(texts, Texts):
            return texts
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(np.array(ids, np.int32), tuple(numbers))

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice | Ints | Ids) -> Texts: ...
    def __getitem__(self, row: int | slice | Ints | Ids) -> str | Texts:
        if isinstance(row, (slice, np.ndarray)):
            return Texts(self.ids[row], self.strings)
        return self.strings[int(self.ids[row])]

    def __iter__(self) -> Iterator[str]:
        return map(self.strings.__getitem__, self.ids.tolist())

    def __len__(self) -> int:
        return len(self.ids)

    def used(self) -> list[str]:
        """The texts that occur, each number's once."""
        return [self.strings[number] for number in numbered(self.ids)[0].tolist()]

    def are(self, text: str) -> npt.NDArray[np.bool_]:
        """Which rows have this text."""
        same = np.array([string == text for string in self.strings], np.bool_)
        return same[self.ids] if len(same) else np.zeros(len(self.ids), np.bool_)


def in_common(*columns: Texts) -> tuple[list[Ids], list[str]]:
    """The rows of all columns by common numbers, one for each different text, and the texts."""
    numbers: dict[str, int] = {}
    found = []
    for column in columns:
        used, places = numbered(column.ids)
        own = [numbers.setdefault(column.strings[i], len(numbers)) for i in used.tolist()]
        found.append(np.array(own, np.int32)[places])
    return found, list(numbers)
