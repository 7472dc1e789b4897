"""Which changes between repeated compiles are more than noise: the verdicts of a Comparison.

A pass is judged by its self time, for that is where a change was made: around a pass that is slower
all others are slower too. The total is judged with the passes.

- With enough runs a pass is `slower` or `faster` by the test of `permutation`, else `same`. At most
  5 % of the comparisons of two equal compiles have any verdict but `same`, however many passes.
- With fewer, noise can't be known. `slower` and `faster` then are guesses: the change exceeds twice
  the spread of the runs (of this pass, or that of three quarters of the passes if it is larger);
  with one run on a side, a threshold must be given too. All else is `unknown`.
- `threshold`: a change that is not larger, as a part of the base time, gives no verdict either.
- `min_ns`: passes that take less than this on both sides can't differ by as much and are `same`;
  those that no run takes as long for are left out before the test, which then finds more.
- A pass that only one side has, or that ended otherwise on one side, is `unknown`: it is told as
  such. So is the total if other passes failed on one side than on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tilelang_trace.analysis.compare import common_factor, permutation
from tilelang_trace.analysis.compare.comparison import ComparedPass, Comparison, Ns, Side, Verdict
from tilelang_trace.analysis.compare.permutation import Floats

_TYPICAL = 0.75
_SPREADS = 2.0
"""By simulation of 80 passes without a change: none of them gets a wrong verdict in 99 % of
comparisons of 3 runs against 3, in 84 to 95 % of those of 2 against 2.
"""


@dataclass(frozen=True)
class _Judged:
    """The times of a pass, or the whole, by run, and what they are on average."""

    base_runs: tuple[int, ...]
    new_runs: tuple[int, ...]
    base_ns: Ns
    new_ns: Ns

    @property
    def longest_run(self) -> int:
        return max(*self.base_runs, *self.new_runs)


@dataclass(frozen=True)
class _Rules:
    base: int
    """Runs of base."""
    new: int
    threshold: float | None
    min_ns: int

    @property
    def can_tell(self) -> bool:
        return permutation.can_tell(self.base, self.new)

    def differing(self, logs: Floats) -> Floats:
        """For each column 1 if it is slower in new, -1 if faster, 0 if that can't be told."""
        if self.can_tell:
            return permutation.differing(logs, self.base)
        if min(self.base, self.new) == 1 and self.threshold is None:
            return np.zeros(logs.shape[1])
        base, new = logs[: self.base], logs[self.base :]
        spread = np.maximum(np.ptp(base, axis=0), np.ptp(new, axis=0))
        delta = new.mean(axis=0) - base.mean(axis=0)
        beyond = np.abs(delta) > _SPREADS * np.maximum(spread, np.quantile(spread, _TYPICAL))
        return np.where(beyond, np.sign(delta), 0.0)

    def verdict(self, judged: _Judged, sign: float) -> Verdict:
        """For what has changed in this direction."""
        change = float(judged.new_ns - judged.base_ns) * sign
        if max(judged.base_ns, judged.new_ns) < self.min_ns:
            return "same"
        # The means are what is shown: a single run may have turned them the other way.
        if change > (self.threshold or 0.0) * float(judged.base_ns):
            return "slower" if sign > 0 else "faster"
        return "same" if self.can_tell else "unknown"


def judged(
    comparison: Comparison, *, threshold: float | None = None, min_ns: int = 0
) -> Comparison:
    """The Comparison with a verdict on each pass and on the total, and with notes on how sure they
    are.

    A verdict `slower` or `faster` needs a change by more than `threshold` (0.1: by 10 %) of the
    base time; passes that take less than `min_ns` are not judged.
    """
    rules = _Rules(len(comparison.base.names), len(comparison.new.names), threshold, min_ns)
    total = comparison.total
    known = [_of_pass(entry) for entry in comparison.passes]
    if total.base_runs and total.new_runs and comparison.base.failed == comparison.new.failed:
        known.append(_Judged(total.base_runs, total.new_runs, total.base_ns, total.new_ns))
    else:
        known.append(None)
    verdicts: list[Verdict] = ["unknown" if entry is None else "same" for entry in known]
    rows = [
        (row, entry)
        for row, entry in enumerate(known)
        if entry is not None and entry.longest_run >= min_ns
    ]
    if rows:
        signs = rules.differing(_logarithms([entry for _, entry in rows]))
        for (row, entry), sign in zip(rows, signs.tolist()):
            verdicts[row] = rules.verdict(entry, sign)
    found = replace(
        comparison,
        passes=tuple(
            replace(entry, verdict=verdict) for entry, verdict in zip(comparison.passes, verdicts)
        ),
        total=replace(total, verdict=verdicts[-1]),
    )
    passes_known = [entry for entry in known[:-1] if entry is not None]
    notes = (_how_sure(rules), *_common_factors(found, passes_known))
    return replace(found, notes=(*comparison.notes, *notes))


def _of_pass(entry: ComparedPass) -> _Judged | None:
    base, new = entry.base, entry.new
    if base is None or new is None or base.status != new.status:
        return None
    return _Judged(base.self_runs, new.self_runs, base.self_ns, new.self_ns)


def _logarithms(columns: list[_Judged]) -> Floats:
    """Runs (base, then new) x columns."""
    return permutation.logarithms(np.array([(*c.base_runs, *c.new_runs) for c in columns]).T)


# ----------------------------------------------------------------------------------------- notes


def _how_sure(rules: _Rules) -> str:
    """What the verdicts are worth, and how many runs it takes."""
    least = permutation.least_runs()
    level = f"{float(permutation.LEVEL):.0%}".replace("%", " %")
    runs = f"{rules.base} {'run' if rules.base == 1 else 'runs'} against {rules.new}"
    if rules.can_tell:
        return (
            f"verdicts: self times of {runs}, permutation test at the {level} level for all passes "
            f"together; that takes at least {least} runs a side"
        )
    more = f"a verdict at the {level} level takes at least {least} runs a side (run --repeat)"
    threshold = None if rules.threshold is None else f"{100 * rules.threshold:g} %"
    if max(rules.base, rules.new) == 1:
        limits = threshold and f"more than {threshold}"
    elif min(rules.base, rules.new) == 1:
        limits = threshold and f"more than {threshold} and twice the spread of the runs"
    else:
        limits = "more than " + (f"{threshold} and " if threshold else "") + "twice their spread"
    guess = f"slower and faster are changes by {limits}" if limits else "no pass is judged"
    return f"{runs}: what is noise can't be known; {guess}; {more}"


def _common_factors(comparison: Comparison, passes: list[_Judged]) -> Iterator[str]:
    if not passes:
        return
    logs = _logarithms(passes)
    # The short ones are more jitter than anything else.
    longer = np.argsort(-np.median(logs, axis=0), kind="stable")[: max(10, len(passes) // 2)]
    base, new = np.split(logs[:, longer], [len(comparison.base.names)])
    yield from _cold_start("base", comparison.base, base)
    yield from _cold_start("new", comparison.new, new)
    factor = common_factor.between_sides(base, new)
    if factor is not None and comparison.total.verdict != "same":
        yield (
            f"nearly all passes of new took {factor:.2f} times as long as in base: perhaps that is "
            "the machine; to know, record base and new in turns"
        )


def _cold_start(label: str, side: Side, runs: Floats) -> Iterator[str]:
    factor = common_factor.cold_start(runs)
    if factor is not None:
        yield (
            f"the first run of {label} was cold: nearly all its passes took {factor:.2f} times as "
            f"long as in the others; better leave {side.names[0]} out"
        )
