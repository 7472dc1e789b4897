"""What benches share: figures, times of several ways to do one thing, peak memory of a process.

A bench is a module with a docstring, the constants `SIZE` and `REPEATS`, and

    def run(size: int, repeats: int) -> Iterable[Figure]: ...
"""

from __future__ import annotations

import gc
import operator
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

_RELATIONS = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True)
class Figure:
    """One measured value; `asked` is what it has to be, such as `>= 10`, if anything is asked."""

    what: str
    value: float
    unit: str = ""
    asked: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the value is what is asked for; None if nothing is."""
        if not self.asked:
            return None
        relation, limit = self.asked.split()
        return bool(_RELATIONS[relation](self.value, float(limit)))


@dataclass(frozen=True)
class Times:
    """What each round of one way took, s."""

    rounds: tuple[float, ...]

    @property
    def least(self) -> float:
        """The round that was disturbed least: for work that is the same each time."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The middle one: for work that varies by itself."""
        return median(self.rounds)


def interleaved(
    ways: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Times]:
    """The times of several ways to do something, each once a round, so that what disturbs the
    machine for a while disturbs all of them. By default this process's CPU time.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            gc.collect()
            start = clock()
            result = way()
            taken[name].append(clock() - start)
            del result  # freed outside of the measured time, and before the next way runs
    return {name: Times(tuple(rounds)) for name, rounds in taken.items()}


_PEAK = """
import json, sys
def resident():
    status = open("/proc/self/status").read().split()
    return [int(status[status.index(key) + 1]) << 10 for key in ("VmRSS:", "VmHWM:")]
"""


def peak_bytes(setup: str, work: str, *arguments: str) -> int:
    """By how much the resident memory of a fresh Python rises at most while it does `work`, after
    `setup` (imports and input; both are source text, with the arguments in `sys.argv`). Linux only.
    """
    code = f"{_PEAK}\n{setup}\nbefore = resident()[0]\n{work}\nprint(resident()[1] - before)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, check=True, text=True
    )
    return int(done.stdout.split()[-1])
