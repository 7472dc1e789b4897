"""What fits into an issue: GitHub refuses a text of more than 65,536 characters.

The parts that matter are short, whatever the trace. The long ones are folded, and take what room is
left, each at most half of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tilelang_trace.reports.as_markdown import fenced, folded
from tilelang_trace.reports.text import lines_of, middle_cut, plural

LIMIT = 60_000
"""Below GitHub's limit, for what a person adds, and for line ends if they count as two."""

_LINE = 400
"""Characters of one line; longer ones lose their middle."""
_LEAST = 300
"""What less room holds says nothing."""
_AROUND = 200
"""The lines that make a text a folded block of code."""


@dataclass(frozen=True)
class Fold:
    """A long text that shows on a click."""

    title: str
    """Plain words, none of them from a trace."""
    lines: tuple[str, ...]
    """Safe to print, each on its line."""


def size(lines: Iterable[str]) -> int:
    """How long GitHub may take lines to be: in UTF-16, with line ends of two characters."""
    return sum(len(line.encode("utf-16-le")) // 2 + 2 for line in lines)


def safe_lines(text: str) -> tuple[str, ...]:
    """The lines of a text of a trace, none of them very long."""
    return tuple(middle_cut(line, _LINE) for line in lines_of(text))


def shown(folds: Iterable[Fold], room: int) -> Iterator[str]:
    """The lines of folds that fit; the most useful ones come first. What is cut is told."""
    dropped = []
    for fold in folds:
        share = room // 2 - _AROUND
        if share < _LEAST:
            dropped.append(fold.title)
            continue
        lines, left_out = fitting(fold.lines, share)
        told = f" ({plural(left_out, 'line')} of {len(fold.lines)} left out)" if left_out else ""
        block = ["", *folded(f"{fold.title}{told}", fenced(lines))]
        room -= size(block)
        yield from block
    if dropped:
        yield ""
        yield f"Left out, as an issue has no room for it: {', '.join(dropped)}."


def fitting(lines: tuple[str, ...], room: int) -> tuple[list[str], int]:
    """The lines that fit, those in the middle left out first, and how many are left out."""
    if size(lines) <= room:
        return list(lines), 0
    # An error's text often ends with what matters most, after a long traceback or program.
    head = _first_fitting(lines, room * 3 // 4)
    tail = _first_fitting(lines[:head:-1], room // 4)
    left_out = len(lines) - head - tail
    told = f"... {plural(left_out, 'line')} left out ..."
    return [*lines[:head], told, *lines[len(lines) - tail :]], left_out


def cut(lines: list[str], room: int) -> list[str]:
    """The first lines of Markdown, in so much room; a block of code that is open is closed."""
    end = "The rest has no room in an issue; `tilelang-trace compare` shows it."
    room -= size(["", end]) + _AROUND
    kept, fence = [], ""
    for line in lines:
        opening = re.fullmatch("(`{3,})[a-z]*", line)
        opened = opening[1] if opening and not fence else fence
        room -= size([line])
        if room < size([opened]):
            break
        kept.append(line)
        fence = "" if fence and line == fence else opened
    return [*kept, *([fence] if fence else []), "", end]


def _first_fitting(lines: tuple[str, ...], room: int) -> int:
    for number, line in enumerate(lines):
        room -= size([line])
        if room < 0:
            return number
    return len(lines)
