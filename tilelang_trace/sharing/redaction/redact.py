"""Trace -> the same without what is private."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_trace.sharing.redaction.choice import Machine, Redaction
from tilelang_trace.sharing.redaction.secret import Kind, Secret
from tilelang_trace.trace.model import Trace


@dataclass(frozen=True)
class Change:
    """One thing that was replaced, wherever it stood. It shows the secret: for its owner only."""

    kind: Kind | str
    old: str
    new: str
    """What stands there now; empty if it was left out (a variable of the environment)."""
    count: int
    """How often."""
    places: tuple[str, ...]
    """Where, sorted: `argument file of Simplify`, `metadata command`, `name of a thread`."""


@dataclass(frozen=True)
class Redacted:
    """A Trace without what is private."""

    trace: Trace
    changes: tuple[Change, ...]
    """What was replaced in the Trace, by kind and text."""

    @property
    def secrets(self) -> frozenset[Secret]:
        """All that was hidden, also by `text` until now: what `leaks` searches an archive for."""
        raise NotImplementedError

    def text(self, text: str, *, code: bool = False) -> str:
        """Another text (IR, Markdown, the name of a file) with the same replacements.

        `code` says that it is a program (printed IR), where replacements outside of its strings
        have to be identifiers. Texts may hold secrets of their own, which are hidden too: their
        numbers (`<token 3>`) go by the order of the calls.
        """
        raise NotImplementedError


def redact(trace: Trace, choice: Redaction | None = None, machine: Machine | None = None) -> Redacted:
    """The Trace without what is private; the given one stays as it is.

    `machine` is what to look for besides what the Trace tells, by default of the machine that this
    runs on. The same input gives the same output; what is redacted already stays as it is.
    """
    raise NotImplementedError
