"""Passes that all took longer by about one factor: that is the machine or a cold start, not a pass.

Times are logarithms here, of runs (rows) and passes (columns).
"""

from __future__ import annotations

import math

import numpy as np

from tilelang_trace.analysis.compare.permutation import Floats

_LEAST = math.log(1.15)
_NEARLY_ALL = 0.9
_LEAST_PASSES = 5
_LEAST_RUNS = 3


def cold_start(runs: Floats) -> float | None:
    """By which factor the first of the runs was slower than the others, if that is what makes it
    stand out; None if it is not, or there are too few to know.
    """
    if len(runs) < _LEAST_RUNS:
        return None
    usual = medians(runs[1:])
    factor = _of_all(runs[0] - usual)
    if factor is None:
        return None
    others = np.median(runs[1:] - usual, axis=1)
    above = factor - float(others.max())
    return math.exp(factor) if above > max(_LEAST, float(np.ptp(others))) else None


def medians(runs: Floats) -> Floats:
    """The median of each column. (That of two is their mean, without sorting a million pairs.)"""
    found: Floats = runs.mean(axis=0) if len(runs) <= 2 else np.median(runs, axis=0)
    return found


def between_sides(base: Floats, new: Floats) -> float | None:
    """By which factor all passes of `new` were slower than those of `base` (faster, if below 1)."""
    factor = _of_all(medians(new) - medians(base))
    return math.exp(factor) if factor is not None else None


def _of_all(leads: Floats) -> float | None:
    """The logarithm of the factor by which nearly all have changed, if they have."""
    if len(leads) < _LEAST_PASSES:
        return None
    factor = float(np.median(leads))
    is_common = np.mean(leads * factor > 0) >= _NEARLY_ALL
    return factor if is_common and abs(factor) >= _LEAST else None
