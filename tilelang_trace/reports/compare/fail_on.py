"""`compare --fail-on slower`: whether a build should stop, and why, in a line.

What counts is a verdict `slower`, on a pass or on the total; the threshold and the shortest time
are already in it (see `analysis.compare.noise`). A pass that was added counts by what it adds to
the total. A failure on the new side only counts too: a compile that broke off early is not faster.
What can't be known stops nobody; but where nothing at all can be, asking is a mistake.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tilelang_trace.analysis.compare.compared_pass import (
    Ns,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.errors import UserError
from tilelang_trace.reports.compare.wording import signed
from tilelang_trace.reports.text import visible

_TOLD = 3


def check(comparison: Comparison, threshold: float | None) -> None:
    """Raises UserError if without a threshold nothing of this comparison can be judged."""
    if threshold is None and min(map(len, (comparison.base.names, comparison.new.names))) == 1:
        raise UserError(
            "compare: --fail-on with one run on a side needs --threshold: what is noise is unknown"
        )


def slower(comparison: Comparison) -> str | None:
    """Why `--fail-on slower` is met by a judged Comparison; None if it is not."""
    broken = Counter(comparison.new.failed) - Counter(comparison.base.failed)
    if broken:
        return f"failed in new only, so its times say nothing: {_listed([*map(visible, broken)])}"
    total = comparison.total
    parts = []
    if total.verdict == "slower":
        parts.append(f"the total {_change(total.base_ns, total.new_ns)}")
    found = list(comparison.columns[comparison.columns.is_verdict("slower")])
    found.sort(key=lambda entry: -entry.self_delta_ns)
    parts += [
        f"{visible(entry.name)} {_change(entry.base.self_ns, entry.new.self_ns)}"
        for entry in found
        if entry.base is not None and entry.new is not None
    ]
    return f"slower: {_listed(parts)}" if parts else None


def _listed(parts: list[str]) -> str:
    more = [f"{len(parts) - _TOLD} more"] if len(parts) > _TOLD else []
    return ", ".join([*parts[:_TOLD], *more])


def _change(base: Ns, new: Ns) -> str:
    delta = signed(new - base)
    return f"{delta} ({100 * float(Fraction(new - base) / base):+.1f} %)" if base else delta
