"""Runs a Reproducer in a new process and says whether it ended in the same error."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tilelang_trace.sharing.reproducer.reproducer import Reproducer


@dataclass(frozen=True)
class Verdict:
    """What came of running a Reproducer."""

    same: bool
    """Whether it ended in the same error: type and first line, or signal."""
    words: str
    """One line: what it ended in, and what else was expected."""
    output: str = ""
    """The last of what it printed, if it ended otherwise."""


def verify(
    reproducer: Reproducer, *, python: str = sys.executable, timeout: float = 300.0
) -> Verdict:
    """Write it to a temporary folder and run its script, with this Python, for at most `timeout`
    seconds. If there is no script, nothing is run, and the verdict says why.
    """
    raise NotImplementedError
