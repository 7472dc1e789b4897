"""What was not as it should be in an input, and what the reader did about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

from tilelang_trace.trace.rules import Rule

Tell: TypeAlias = "Callable[[int, Rule, str], None]"
"""Takes a finding while a file is read: the number of the event or packet (or the byte) that it is
about, the rule, and what was done.
"""

KEPT = 1000
"""So many findings of a rule are kept, the others only counted: a file may have millions."""


@dataclass(frozen=True)
class Finding:
    """Something in an input that was not as it should be, and what was done about it."""

    place: str
    """Where: `line 12`, `byte 3456`, or a slice in words."""
    rule: str
    """The name of the rule that it breaks, a key of `RULES`."""
    done: str
    """What the reader did about it, one line."""

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.done}"


class Findings(Sequence[Finding]):
    """Findings in the order in which they came. All are counted; the first `KEPT` of each rule are
    kept, and are the items.
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._kept = list(findings)
        self.counts = Counter(finding.rule for finding in self._kept)
        """How many there are of each rule, kept or not."""

    @property
    def total(self) -> int:
        """How many there are, kept or not."""
        return self.counts.total()

    def add(self, place: str | Callable[[], str], rule: Rule, done: str) -> None:
        """Tell of one more. A place that takes time to name is a function, called if it is kept."""
        self.counts[rule.name] += 1
        if self.counts[rule.name] <= KEPT:
            name = place if isinstance(place, str) else place()
            self._kept.append(Finding(name, rule.name, done))

    def extend(self, others: Findings) -> None:
        """Tell of all that others tell of, behind these."""
        for finding in others:
            self.counts[finding.rule] += 1
            if self.counts[finding.rule] <= KEPT:
                self._kept.append(finding)
        told = Counter(finding.rule for finding in others)
        self.counts.update(others.counts - told)  # those that are only counted

    def changed(self, change: Callable[[Finding], Finding]) -> Findings:
        """The same, with each one that is kept changed."""
        findings = Findings(map(change, self._kept))
        findings.counts = self.counts.copy()
        return findings

    def copy(self) -> Findings:
        """The same, to which more can be added."""
        return self.changed(lambda finding: finding)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self._kept[index]

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Findings):
            return NotImplemented
        return self._kept == other._kept and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Findings({self._kept!r})"
