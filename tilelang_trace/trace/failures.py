"""The failures of a Trace, as the row "Failures" shows them: derived when writing, dropped when
reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.arguments import ERROR_CATEGORY, ERROR_STATUSES, FAILED, kind_of
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Mask, Trace

ROW_NAME = "Failures"
CATEGORY = "failure"


@dataclass(frozen=True)
class Failure:
    """One `failed` slice: the frame nearest to the failure."""

    row: int
    time: int
    """When it failed: the end of the slice, ns."""
    name: str
    """`<pass> failed: <first line of the error>`."""
    slice_name: str


def first_line(error: Json) -> str:
    """The first line of an `error` argument, its type where it has no text."""
    if not isinstance(error, dict):
        return ""
    return str(error.get("message") or error.get("type") or "")


def failures(trace: Trace) -> list[Failure]:
    """The failed slices, by time."""
    rows = np.flatnonzero(with_status(trace, (FAILED,))).tolist()
    errors = trace.arguments.values("error") if rows else {}
    found = []
    for row in rows:
        if kind_of(trace.category(row)) is not None:
            line = first_line(errors.get(row))
            name = f"{trace.name(row)} failed: {line}" if line else f"{trace.name(row)} failed"
            found.append(Failure(row, int(trace.slices.end[row]), name, trace.name(row)))
    return sorted(found, key=lambda failure: (failure.time, failure.row))


def main_failure(trace: Trace, found: Sequence[Failure]) -> Failure | None:
    """Of the failures the one to show first: the first that ended all that was around it, else the
    first. One that the compile has caught, and gone on, is rarely what a person looks for.
    """
    if not found:
        return None
    flagged = with_status(trace, ERROR_STATUSES)
    # By row, whether a slice or one around it went on; each is asked once, however deep they are.
    went_on: dict[int, bool] = {-1: False}

    def was_caught(failure: Failure) -> bool:
        way = []
        row = int(trace.slices.parent[failure.row])
        while row not in went_on and flagged[row]:
            way.append(row)
            row = int(trace.slices.parent[row])
        caught = went_on.get(row, True)
        went_on.update(dict.fromkeys(way, caught))
        return caught

    return next((f for f in found if not was_caught(f)), found[0])


def with_status(trace: Trace, statuses: Sequence[str]) -> Mask:
    """Which slices have one of these statuses."""
    has_status = np.array([*(text in statuses for text in trace.strings), False])
    mask: Mask = has_status[trace.arguments.strings("status", len(trace.slices))]
    return mask


def written_category(category: str, status: Json) -> str:
    """The category text that a file has: `pass,error` for a failed or incomplete pass."""
    return f"{category},{ERROR_CATEGORY}" if _is_flagged(category, status) else category


def read_category(category: str, status: Json) -> str:
    """The category of a slice without the derived `error`."""
    return (
        category.removesuffix(f",{ERROR_CATEGORY}") if _is_flagged(category, status) else category
    )


def _is_flagged(category: str, status: Json) -> bool:
    # Slices of other tools may have a `status` too; what it means is not ours to say.
    return status in ERROR_STATUSES and kind_of(category) is not None
