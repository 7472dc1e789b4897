"""Comparisons made by hand for tests: each side of a pass is given by its self times, one a run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tilelang_trace.analysis.compare.compared_pass import (
    Change,
    ComparedPass,
    Ns,
    OneSide,
    Verdict,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
    Side,
    Totals,
)

MS = 1_000_000

Runs = int | tuple[int, ...] | None
"""Nanoseconds of one run or of each of several; None where the side has no such pass."""


def mean(runs: tuple[int, ...]) -> Ns:
    """The exact mean, an int if it is whole."""
    exact = Fraction(sum(runs), len(runs))
    return exact.numerator if exact.denominator == 1 else exact


def one_side(
    name: str, self_ns: Runs, inclusive_ns: Runs = None, status: str = "ok", row: int = 0
) -> OneSide | None:
    """A pass on one side; its inclusive time is its self time unless it is given."""
    if self_ns is None:
        return None
    own = _runs(self_ns)
    whole = own if inclusive_ns is None else _runs(inclusive_ns)
    return OneSide(
        name=name,
        rows=(row,) * len(own),
        status=status,
        inclusive_ns=mean(whole),
        self_ns=mean(own),
        inclusive_runs=whole,
        self_runs=own,
    )


def compared(
    *path: str,
    base: Runs = None,
    new: Runs = None,
    inclusive: tuple[Runs, Runs] = (None, None),
    status: tuple[str, str] = ("ok", "ok"),
    rows: tuple[int, int] = (0, 0),
    change: Change | None = None,
    base_name: str | None = None,
    phase: str = "",
    kernel: str = "",
    verdict: Verdict = "unknown",
) -> ComparedPass:
    """A pass on both sides: pairs are (base, new); `base_name` for one that was renamed."""
    old = one_side(base_name or path[-1], base, inclusive[0], status[0], rows[0])
    late = one_side(path[-1], new, inclusive[1], status[1], rows[1])
    usual: Change = "added" if old is None else "removed" if late is None else "matched"
    if base_name is not None:
        usual = "renamed"
    return ComparedPass(change or usual, path, phase, kernel, old, late, verdict)


def comparison(
    *passes: ComparedPass, between: tuple[Runs, Runs] = (0, 0), **fields: Any
) -> Comparison:
    """A Comparison of these passes whose totals are their self times and the time between them."""
    old, late = (mean(_runs(ns)) if ns is not None else 0 for ns in between)
    old_side = [entry.base for entry in passes if entry.base is not None]
    new_side = [entry.new for entry in passes if entry.new is not None]
    total = Totals(
        base_ns=sum((side.self_ns for side in old_side), old),
        new_ns=sum((side.self_ns for side in new_side), late),
        base_between_ns=old,
        new_between_ns=late,
        between_by_kind={"context": late - old} if late != old else {},
        base_runs=_whole_runs(old_side, between[0]),
        new_runs=_whole_runs(new_side, between[1]),
    )
    given: dict[str, Any] = {
        "base": _side("base.pftrace", old_side),
        "new": _side("new.pftrace", new_side),
        "total": total,
        "passes": passes,
        "kernels": (),
        "context_changes": (),
        "first_divergence": None,
    }
    return Comparison(**{**given, **fields})


def _whole_runs(passes: list[OneSide], between: Runs) -> tuple[int, ...]:
    """The whole of each run."""
    between = _runs(between)
    number = max((len(side.rows) for side in passes), default=1)
    return tuple(
        sum(side.self_runs[run] for side in passes) + between[run % len(between)]
        for run in range(number)
    )


def _side(name: str, passes: list[OneSide]) -> Side:
    runs = max((len(side.rows) for side in passes), default=1)
    stem, _, ending = name.partition(".")
    names = (name,) if runs == 1 else tuple(f"{stem}{n + 1}.{ending}" for n in range(runs))
    failed = tuple(side.name for side in passes if side.status == "failed")
    return Side(names, len(passes), failed)


def _runs(ns: Runs) -> tuple[int, ...]:
    return ns if isinstance(ns, tuple) else (ns or 0,)
