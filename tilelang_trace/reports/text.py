"""Texts for people: times, shares, and texts from a trace made safe to print.

A trace may come from anybody, and a name in it may hold anything: no text of it may act on the
terminal, and no two names may look the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

ELLIPSIS = "…"
_EXPLAINED_FROM_NS = 10 * 10**9
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def ms(ns: int) -> str:
    """Nanoseconds as milliseconds with three decimals, rounded exactly."""
    us = (ns + 500) // 1000
    return f"{us // 1000}.{us % 1000:03d}"


def duration(ns: int) -> str:
    """A time with its unit, for running text; long ones in seconds too."""
    seconds = f" ({ns / 10**9:.1f} s)" if ns >= _EXPLAINED_FROM_NS else ""
    return f"{ms(ns)} ms{seconds}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def plural(count: int, noun: str) -> str:
    """`1 pass`, `2 passes`, `3 runs`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('s') else 's'}"


def visible(text: str) -> str:
    """A text on one line in which nothing acts or hides.

    What is not printable shows as an escape, and so do outer spaces.
    """
    if not text:
        return "''"
    shown = text if text.isprintable() else "".join(map(_visible_character, text))
    if shown[0] == " ":
        shown = f"\\x20{shown[1:]}"
    if shown[-1] == " ":
        shown = f"{shown[:-1]}\\x20"
    return shown


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def harmless(text: str) -> str:
    """A text for a file that may be shown on a terminal: controls but newline and tab escaped."""
    return _CONTROLS.sub(lambda match: _visible_character(match[0]), text)


def lines_of(text: str) -> list[str]:
    """The lines of a text, safe to print."""
    lines = text.expandtabs().splitlines()
    return ["".join(map(_visible_character, line.rstrip())) for line in lines]


def without_middle(lines: list[str], limit: int) -> list[str]:
    """At most `limit` of the lines, and one in place of the others that says how many they were."""
    if len(lines) <= limit:
        return lines
    # An error's text often ends with what matters most, after a long traceback or program.
    tail = limit // 4
    left_out = f"... {len(lines) - limit} lines left out ..."
    return [*lines[: limit - tail], left_out, *lines[-tail:]]


def short_names(names: Iterable[str], width: int) -> dict[str, str]:
    """How to show each name in about `width` characters: no two of them look the same.

    A long name loses its middle. Names that would look the same then show where they begin to
    differ, and those that still do get a number.
    """
    full = {name: visible(name) for name in sorted(set(names))}
    shown = {name: middle_cut(text, width) for name, text in full.items()}
    for alike in _groups(shown):
        start = _first_difference([full[name] for name in alike])
        for name in alike:
            shown[name] = _around(full[name], start, width)
    taken = set(shown.values())
    for alike in _groups(shown):
        number = 1
        for name in alike[1:]:
            while (numbered := f"{shown[name]} #{number + 1}") in taken:
                number += 1
            taken.add(numbered)
            shown[name] = numbered
    return shown


def _first_difference(texts: list[str]) -> int:
    """Where the texts begin to differ."""
    first, last = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(first, last)) if a != b), len(first))


def _groups(shown: dict[str, str]) -> list[list[str]]:
    """The names that look the same, where there are several."""
    groups = defaultdict(list)
    for name, text in shown.items():
        groups[text].append(name)
    return [names for names in groups.values() if len(names) > 1]


def middle_cut(text: str, width: int) -> str:
    """The text, without its middle if it is longer than that."""
    if len(text) <= width:
        return text
    head = width // 2
    return text[:head] + ELLIPSIS + text[head + 1 - width :]


def _around(text: str, start: int, width: int) -> str:
    """The beginning of a text, and what stands at `start`."""
    head = width // 3
    window = width - head - 2
    if len(text) <= width or start < head:
        return middle_cut(text, width)
    rest = text[start : start + window]
    return text[:head] + ELLIPSIS + rest + (ELLIPSIS if start + window < len(text) else "")
