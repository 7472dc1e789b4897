"""What was replaced where: what `bundle --dry-run` lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilelang_trace.sharing.redaction.replace import Replacer


@dataclass(frozen=True)
class Change:
    """One thing that was replaced, wherever it stood. It shows the secret: for its owner only."""

    kind: str
    """A kind of Secret, `project` (a folder in a home) or `variable` (of the environment)."""
    old: str
    new: str
    """What stands there now; empty if it was left out."""
    count: int
    """How often."""
    places: tuple[str, ...]
    """Where, sorted: `argument file of Simplify`, `metadata command`, `name of a thread`."""


class Changes:
    """Rewrites texts (as `walk.Texts`) and keeps count."""

    def __init__(self, replacer: Replacer) -> None:
        self.replacer = replacer
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._places: dict[tuple[str, str, str], set[str]] = {}

    def shown(self, text: str, key: str) -> str:
        """What stands for a text."""
        return self.replacer.replaced(text, key).text

    def counted(self, text: str, key: str, place: str, count: int) -> None:
        """That a text of which something else became stands there so many times."""
        for replacement in self.replacer.replaced(text, key).replacements:
            self._take(replacement, place, count)

    def left_out(self, variable: str, value: str, place: str) -> None:
        """That a variable of an environment is not shown."""
        self._take(("variable", f"{variable}={value}", ""), place, 1)

    def _take(self, replacement: tuple[str, str, str], place: str, count: int) -> None:
        self._counts[replacement] += count
        self._places.setdefault(replacement, set()).add(place)

    def all(self) -> tuple[Change, ...]:
        """All changes, sorted."""
        return tuple(
            Change(*what, count, tuple(sorted(self._places[what])))
            for what, count in sorted(self._counts.items())
        )
