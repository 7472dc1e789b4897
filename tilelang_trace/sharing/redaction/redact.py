"""Trace -> the same without what is private.

A Trace is read twice before it is rewritten: what a path or `USER=` in one place tells is hidden in
all others, and the numbers in `<token 2>` go by the sorted texts, not by where they stand first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tilelang_trace.sharing.redaction.changes import Change, Changes
from tilelang_trace.sharing.redaction.choice import Machine, Redaction, this_machine
from tilelang_trace.sharing.redaction.learn import learn
from tilelang_trace.sharing.redaction.replace import Replacer
from tilelang_trace.sharing.redaction.secret import Secret
from tilelang_trace.sharing.redaction.walk import IR, rewritten
from tilelang_trace.trace.model import Trace


@dataclass(frozen=True)
class Redacted:
    """A Trace without what is private."""

    trace: Trace
    changes: tuple[Change, ...]
    """What was replaced in the Trace, by kind and text."""
    _replacer: Replacer = field(repr=False, compare=False)

    @property
    def secrets(self) -> frozenset[Secret]:
        """All that was hidden, also by `text` until now: what `leaks` searches an archive for."""
        return self._replacer.secrets()

    def text(self, text: str, *, code: bool = False) -> str:
        """Another text (IR, Markdown, the name of a file) with the same replacements.

        `code` says that it is a program (printed IR), where replacements outside of its strings
        have to be identifiers. Texts may hold secrets of their own, which are hidden too: their
        numbers (`<token 3>`) go by the order of the calls.
        """
        return self._replacer.other(text, IR if code else "")


def redact(
    trace: Trace,
    choice: Redaction | None = None,
    machine: Machine | None = None,
    *,
    with_texts: Iterable[str] = (),
) -> Redacted:
    """The Trace without what is private; the given one stays as it is.

    `machine` is what to look for besides what the Trace tells, by default of the machine that this
    runs on. `with_texts` are other texts that are shared with it: what they tell is private is
    hidden in the Trace too. The same input gives the same output; what is redacted already stays
    as it is.
    """
    return redact_all([trace], choice, machine, with_texts=with_texts)[0]


def redact_all(
    traces: Sequence[Trace],
    choice: Redaction | None = None,
    machine: Machine | None = None,
    *,
    with_texts: Iterable[str] = (),
) -> list[Redacted]:
    """Traces that are shared together: the same secret is `<token 1>` in all of them, and each of
    the results has the secrets of all.
    """
    machine = this_machine() if machine is None else machine
    known = learn(traces, dict.fromkeys(with_texts, ""), choice or Redaction(), machine)
    replacer = Replacer(known)
    done = []
    for trace in traces:
        changes = Changes(replacer)
        done.append(Redacted(rewritten(trace, changes), changes.all(), replacer))
    return done
