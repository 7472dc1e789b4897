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
import numpy.typing as npt

from tilelang_trace.analysis.compare import common_factor, permutation
from tilelang_trace.analysis.compare.compared_pass import VERDICTS, Verdict
from tilelang_trace.analysis.compare.comparison import Comparison, Side
from tilelang_trace.analysis.compare.permutation import Floats
from tilelang_trace.trace.model import Ints

_TYPICAL = 0.75
_SPREADS = 2.0
"""By simulation of 80 passes without a change: none of them gets a wrong verdict in 99 % of
comparisons of 3 runs against 3, in 84 to 95 % of those of 2 against 2.
"""


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

    def verdicts(self, times: Ints, signs: Floats) -> npt.NDArray[np.int8]:
        """For what has changed in these directions; times are runs x columns."""
        base, new = times[: self.base].sum(axis=0), times[self.base :].sum(axis=0)
        change = (new * self.base - base * self.new) / (self.base * self.new) * signs
        # The means are what is shown: a single run may have turned them the other way.
        beyond = change > (self.threshold or 0.0) * (base / self.base)
        found = np.where(signs > 0, _code("slower"), _code("faster"))
        found[~beyond] = _code("same" if self.can_tell else "unknown")
        short = (base < self.min_ns * self.base) & (new < self.min_ns * self.new)
        found[short] = _code("same")
        return found.astype(np.int8)


def _code(verdict: Verdict) -> int:
    return VERDICTS.index(verdict)


def judged(
    comparison: Comparison, *, threshold: float | None = None, min_ns: int = 0
) -> Comparison:
    """The Comparison with a verdict on each pass and on the total, and with notes on how sure they
    are.

    A verdict `slower` or `faster` needs a change by more than `threshold` (0.1: by 10 %) of the
    base time; passes that take less than `min_ns` are not judged.
    """
    rules = _Rules(len(comparison.base.names), len(comparison.new.names), threshold, min_ns)
    total, passes = comparison.total, comparison.columns
    known = passes.base.there & passes.new.there & passes.ended_alike()
    of_passes = np.concatenate([passes.base.own, passes.new.own])[:, known]
    verdicts = np.full(len(passes) + 1, _code("unknown"), np.int8)
    rows, times = np.flatnonzero(known), of_passes
    if total.base_runs and total.new_runs and comparison.base.failed == comparison.new.failed:
        whole = np.array([[*total.base_runs, *total.new_runs]]).T
        rows = np.append(rows, len(passes))
        times = np.concatenate([times, whole], axis=1) if len(passes) else whole
    verdicts[rows] = _code("same")
    longer = times.max(axis=0, initial=0) >= min_ns
    if longer.any():
        signs = rules.differing(permutation.logarithms(times[:, longer]))
        verdicts[rows[longer]] = rules.verdicts(times[:, longer], signs)
    found = replace(
        comparison,
        passes=replace(passes, verdict=verdicts[:-1]),
        total=replace(total, verdict=VERDICTS[verdicts[-1]]),
    )
    notes = (_how_sure(rules, *comparison.nouns), *_common_factors(found, of_passes))
    return replace(found, notes=(*comparison.notes, *notes))


# ----------------------------------------------------------------------------------------- notes


def _how_sure(rules: _Rules, noun: str, nouns: str) -> str:
    """What the verdicts are worth, and how many runs it takes."""
    least = permutation.least_runs()
    level = f"{float(permutation.LEVEL):.0%}".replace("%", " %")
    runs = f"{rules.base} {'run' if rules.base == 1 else 'runs'} against {rules.new}"
    if rules.can_tell:
        return (
            f"verdicts: self times of {runs}, permutation test at the {level} level for all "
            f"{nouns} together; that takes at least {least} runs a side"
        )
    more = f"a verdict at the {level} level takes at least {least} runs a side (run --repeat)"
    threshold = None if rules.threshold is None else f"{100 * rules.threshold:g} %"
    if max(rules.base, rules.new) == 1:
        limits = threshold and f"more than {threshold}"
    elif min(rules.base, rules.new) == 1:
        limits = threshold and f"more than {threshold} and twice the spread of the runs"
    else:
        limits = "more than " + (f"{threshold} and " if threshold else "") + "twice their spread"
    guess = f"slower and faster are changes by {limits}" if limits else f"no {noun} is judged"
    return f"{runs}: what is noise can't be known; {guess}; {more}"


def _common_factors(comparison: Comparison, times: Ints) -> Iterator[str]:
    logs = permutation.logarithms(times)
    count = logs.shape[1]
    if not count:
        return
    # The short ones are more jitter than anything else.
    longer = np.argsort(-common_factor.medians(logs), kind="stable")[: max(10, count // 2)]
    base, new = np.split(logs[:, longer], [len(comparison.base.names)])
    nouns = comparison.nouns[1]
    yield from _cold_start("base", comparison.base, base, nouns)
    yield from _cold_start("new", comparison.new, new, nouns)
    factor = common_factor.between_sides(base, new)
    if factor is not None and comparison.total.verdict != "same":
        yield (
            f"nearly all {nouns} of new took {factor:.2f} times as long as in base: perhaps that "
            "is the machine; to know, record base and new in turns"
        )


def _cold_start(label: str, side: Side, runs: Floats, nouns: str) -> Iterator[str]:
    factor = common_factor.cold_start(runs)
    if factor is not None:
        yield (
            f"the first run of {label} was cold: nearly all its {nouns} took {factor:.2f} times as "
            f"long as in the others; better leave {side.names[0]} out"
        )
