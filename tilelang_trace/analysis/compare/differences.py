"""The passes that changed, as a timeline shows them: which ones, their text and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tilelang_trace.analysis.compare.compared_pass import (
    ComparedPass,
    Ns,
    OneSide,
)
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.analysis.compare.texts import in_common
from tilelang_trace.trace.arguments import (
    DIFFERENCE,
    ERROR_STATUSES,
    FAILED,
    INCOMPLETE,
    OK,
)
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids, Mask, Trace

_FLOOR = 1000
"""One through this part of the longer compile is what a change takes to be shown."""


@dataclass(frozen=True)
class Difference:
    """One slice of the row of differences."""

    name: str
    """The name of the pass, what became of it, and how much its inclusive time changed."""
    category: str
    entry: ComparedPass


def smallest_shown(comparison: Comparison) -> int:
    """The change of a pass's time, ns, from which it is shown if nothing else is asked for."""
    total = comparison.total
    return max(1, round(max(Fraction(total.base_ns), Fraction(total.new_ns)) / _FLOOR))


def differences(comparison: Comparison, base: Trace, new: Trace, min_ns: int) -> list[Difference]:
    """The passes that changed, in the order of the comparison.

    Passes that are there on one side only, or ended in another way, always count. Of the others
    those that are judged slower or faster; those without a verdict whose inclusive time changed by
    `min_ns` or more; and those whose own work is the same, but in which others changed, if together
    that is as much.
    """
    passes = comparison.columns
    deltas, parts = passes.deltas("inclusive")
    is_large = np.abs(deltas) >= min_ns * parts
    changed = ~passes.is_change("matched") | ~_ended_alike(passes)
    changed |= passes.is_verdict("slower", "faster") | (passes.is_verdict("unknown") & is_large)
    around = _around(passes.new.rows[0, changed], new)
    around_in_base = _around(passes.base.rows[0, changed & ~passes.new.there], base)
    inner = passes.base.there & passes.new.there & is_large
    inner &= around[passes.new.rows[0]] | around_in_base[passes.base.rows[0]]
    return [
        Difference(_name(entry, min_ns), f"{DIFFERENCE},{_what(entry)}", entry)
        for entry in passes[changed | inner]
    ]


def _ended_alike(passes: ComparedPasses) -> Mask:
    """Which passes have no status to tell of, as `_statuses` says it."""
    (base, new), texts = in_common(passes.base.status, passes.new.status)
    # A side that has no such pass has not ended badly.
    well = np.array([text in ("", OK) for text in texts], np.bool_)
    alike: Mask = (base == new) | (well[base] & well[new])
    return alike


def _around(rows: Ids, trace: Trace) -> Mask:
    """Which slices are around these; the last place stands for a pass without a row."""
    found = np.zeros(len(trace.slices) + 1, np.bool_)
    rows = rows[rows >= 0]
    while len(rows):
        rows = trace.slices.parent[rows]
        rows = np.unique(rows[(rows >= 0) & ~found[rows]])
        found[rows] = True
    return found


def numbers(entry: ComparedPass) -> dict[str, Json]:
    """The argument `compare` of a pass."""
    value: dict[str, Json] = {
        "change": entry.change,
        "delta_ns": round(entry.delta_ns),
        "self_delta_ns": round(entry.self_delta_ns),
        "verdict": entry.verdict,
    }
    for label, side in (("base", entry.base), ("new", entry.new)):
        if side is not None:
            value[f"{label}_ns"] = round(side.inclusive_ns)
            value[f"{label}_status"] = side.status
    if entry.change == "renamed" and entry.base is not None:
        value["base_name"] = entry.base.name
    return value


def _statuses(entry: ComparedPass) -> list[str]:
    """How it ended on each side, in words, if it did not end alike; empty else."""
    base, new = _status(entry.base), _status(entry.new)
    if base == new:
        return []
    return [f"{status} in {side}" for side, status in (("base", base), ("new", new)) if status]


def _status(side: OneSide | None) -> str:
    """The status of a pass that did not end well; empty for one that did, or is not there."""
    return "" if side is None or side.status == OK else side.status


def _what(entry: ComparedPass) -> str:
    """The second category of a difference; viewers that can colour it take it from there."""
    ended = {_status(entry.base), _status(entry.new)}
    if _statuses(entry) and ended.intersection(ERROR_STATUSES):
        return FAILED if FAILED in ended else INCOMPLETE
    if entry.change != "matched":
        return entry.change
    if entry.verdict in ("slower", "faster"):
        return entry.verdict
    return "slower" if entry.delta_ns > 0 else "faster"


def _name(entry: ComparedPass, min_ns: int) -> str:
    words = _statuses(entry)
    if entry.change == "renamed" and entry.base is not None:
        words.insert(0, f"renamed? was {entry.base.name}")
    elif entry.change == "not_reached":
        words.insert(0, f"not reached in {'base' if entry.base is None else 'new'}")
    elif entry.change != "matched":
        words.insert(0, entry.change)
    # A side that a failure cut short has not won time by it.
    change = "" if entry.change == "not_reached" or _statuses(entry) else _change(entry, min_ns)
    return " ".join(filter(None, (entry.name, ", ".join(words), change)))


def _change(entry: ComparedPass, min_ns: int) -> str:
    change = milliseconds(entry.delta_ns, signed=True)
    if entry.ratio is not None:
        change += f" ({100 * (entry.ratio - 1):+.0f} %)"
    inner = float(entry.delta_ns - entry.self_delta_ns)
    if entry.verdict in ("slower", "faster") and abs(inner) > min_ns:
        # It is judged by its own work, which went another way than all in it.
        change += f", self {milliseconds(entry.self_delta_ns, signed=True)}"
    return change


def milliseconds(ns: Ns, *, signed: bool = False) -> str:
    """A time to three digits or the millisecond: `12.3 ms`, `0.00124 ms`, `1234 ms`, `0 ms`."""
    ms = float(ns) / 1e6
    digits = next((d for d in range(6) if abs(ms) >= 10 ** (2 - d)), 6) if ns else 0
    return f"{ms:{'+' if signed else ''}.{digits}f} ms"
