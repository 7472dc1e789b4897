"""Columns of numbers: which ones there are, and which are the largest, without sorting all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.model import Ints


def numbered(keys: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The different keys (not negative), ascending, and for each row which of them it has.

    As `np.unique`, which sorts; a table is many times as fast where keys are small.
    """
    largest = int(keys.max()) if len(keys) else 0
    if largest > 4 * len(keys) + 1000:
        different, places = np.unique(keys, return_inverse=True)
        return different.astype(np.int64), places.reshape(-1)
    there = np.zeros(largest + 1, np.bool_)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def largest(values: npt.NDArray[Any], count: int) -> Ints:
    """The places of so many of the largest values, the largest first; of equal ones the first."""
    rest = len(values) - count
    at_least = np.partition(values, rest)[rest] if 0 < rest < len(values) else values.min(initial=0)
    places = np.flatnonzero(values >= at_least)
    places = places[np.argsort(-values[places], kind="stable")]
    return places[: max(count, 0)]
