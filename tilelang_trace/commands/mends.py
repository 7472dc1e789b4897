"""Says on stderr what was mended when a file was read, and what it does not hold any more."""

from __future__ import annotations

import sys
from shlex import quote

from tilelang_trace.reports.text import plural, visible
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.rules import RULES


def tell_of_mends(path: str, findings: Findings, what: str = "mended") -> None:
    """A line for what was mended (or is otherwise, in other words), and one for what is lost; for a
    sound file none.
    """
    for is_loss, words in ((False, what), (True, "at which something is lost")):
        count = sum(n for rule, n in findings.counts.items() if RULES[rule].is_loss is is_loss)
        if not count:
            continue
        first = next(each for each in findings if RULES[each.rule].is_loss is is_loss)
        which = ", the first" if count > 1 else ""
        print(
            f"tilelang-trace: {visible(path)}: {plural(count, 'place')} {words}{which}: "
            f"{visible(str(first))}; to list them: tilelang-trace check {visible(quote(path))}",
            file=sys.stderr,
        )
