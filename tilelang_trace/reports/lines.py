"""Lines and tables for a terminal or a pipe.

rich knows the styles, and how wide a character is. Its own tables take half a millisecond a row,
5 s for the 10,000 kernels of a long autotune.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import zip_longest
from typing import TypeAlias

from rich.cells import cell_len

Line: TypeAlias = "tuple[tuple[str, str], ...]"
"""Texts in a row, each with its style as rich calls it, such as `bold red`."""

_BETWEEN = " " * 3


def line(text: str, style: str = "") -> Line:
    """A line of one style."""
    return ((text, style),)


def heading(text: str) -> Line:
    """A heading with an empty line before it."""
    return ("\n", ""), (text, "bold")


def printed(lines: Iterable[Line], color: bool) -> str:
    """Lines as text, without spaces at their ends."""
    paint = _painter() if color else lambda text, style: text
    return "".join(f"{''.join(_painted(parts, paint))}\n" for parts in lines)


def _painted(parts: Line, paint: Callable[[str, str], str]) -> Iterator[str]:
    *before, (last, style) = parts
    if not last.strip(" ") and len(parts) > 1:
        yield from _painted(tuple(before), paint)
        return
    for text, its_style in before:
        yield paint(text, its_style)
    yield paint(last.rstrip(" "), style)


def _painter() -> Callable[[str, str], str]:
    """What puts the codes of a style around a text, as far as this terminal knows colours."""
    from rich.console import COLOR_SYSTEMS, Console

    console = Console(file=StringIO(), force_terminal=True, force_jupyter=False)
    system = COLOR_SYSTEMS.get(console.color_system or "")

    def paint(text: str, style: str) -> str:
        if not style or not text:
            return text
        known = console.get_style(style)
        return (known.without_color if console.no_color else known).render(
            text, color_system=system
        )

    return paint


class Table:
    """A table whose first columns are numbers."""

    def __init__(self, columns: Sequence[str], numbers: int) -> None:
        self._columns = tuple(columns)
        self._numbers = numbers
        self._rows: list[tuple[Sequence[str], str]] = []
        self._closing: list[Sequence[str]] = []

    def add(self, cells: Sequence[str], style: str = "") -> None:
        """Add a row; the style is that of its texts."""
        self._rows.append((cells, style))

    def close(self, cells: Sequence[str]) -> None:
        """Add a row below all others, behind an empty line. Texts may be missing."""
        self._closing.append(cells)

    def lines(self) -> Iterator[Line]:
        """The table, with the titles of its columns."""
        rows = [self._columns, *(cells for cells, _ in self._rows), *self._closing]
        widths = [max(map(_width, column)) for column in zip_longest(*rows, fillvalue="")]
        yield self._line(self._columns, widths, "bold", "bold")
        yield line("─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1)))
        for cells, style in self._rows:
            yield self._line(cells, widths, "", style)
        if self._rows and self._closing:
            yield line("")
        for cells in self._closing:
            yield self._line(cells, widths, "dim", "dim")

    def _line(self, cells: Sequence[str], widths: list[int], style: str, of_texts: str) -> Line:
        shown = [
            padding + cell if at < self._numbers else cell + padding
            for at, (cell, width) in enumerate(zip(cells, widths))
            for padding in [" " * (width - _width(cell))]
        ]
        numbers, texts = shown[: self._numbers], shown[self._numbers :]
        if style == of_texts or not texts:
            return line(_BETWEEN.join(shown), style)
        start = _BETWEEN.join(numbers) + _BETWEEN * bool(numbers)
        return (start, style), (_BETWEEN.join(texts).rstrip(), of_texts)


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
