"""The first pass after which the IR of two compiles differs, as far as it was recorded."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilelang_trace.analysis.compare.compared_pass import OneSide
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses, SideColumns
from tilelang_trace.analysis.compare.comparison import Divergence
from tilelang_trace.analysis.compare.sides import AllRuns
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.long_text import cut

DIFF_LINES = 200
DIFF_BYTES = 16 * 1024

_NAMED = 3
"""So many passes are named that ran on one side only."""

Facts = Mapping[str, Json]


@dataclass(frozen=True)
class IrDivergence:
    """Where the IR differs first."""

    place: int
    """Which of the compared passes it is."""
    divergence: Divergence


def ir_divergence(base: AllRuns, new: AllRuns, passes: ComparedPasses) -> IrDivergence | None:
    """None if the IR is the same, or was not recorded on both sides."""
    of_base, of_new = _facts(base), _facts(new)
    if not of_base[0] or not of_new[0]:
        return None
    trail = _trail(passes, new)
    last: int | None = None
    for place in trail:
        old, young = _at(of_base, passes.base, place, 0), _at(of_new, passes.new, place, 0)
        differ = _differ(old, young)
        if differ:
            entry = passes[place]
            texts = (
                _text_after(base, of_base[0], entry.base),
                _text_after(new, of_new[0], entry.new),
            )
            caution = _of_order(*texts) or _caution(
                base, new, passes, trail[: trail.index(place) + 1], (of_base, of_new)
            )
            detail = _detail(passes, last, place, old, young)
            return IrDivergence(place, Divergence("ir", entry.path, detail, _diff(*texts), caution))
        if differ is not None:
            last = place
    return None


def _trail(passes: ComparedPasses, new: AllRuns) -> list[int]:
    """The passes that both first runs have in the same place, in the order in which they ended."""
    slices = new.runs[0].trace.slices
    base_rows, rows = passes.base.rows[0], passes.new.rows[0]
    places = np.flatnonzero((base_rows >= 0) & (rows >= 0) & ~passes.is_change("moved"))
    found: list[int] = places[np.lexsort((-rows[places], slices.end[rows[places]]))].tolist()
    return found


def _facts(side: AllRuns) -> list[dict[int, Json]]:
    """The argument `ir` of each row, for each run."""
    return [run.trace.arguments.values("ir") for run in side.runs]


def _at(facts: Sequence[Mapping[int, Json]], side: SideColumns, place: int, run: int) -> Facts:
    value = facts[run].get(int(side.rows[run, place]))
    return value if isinstance(value, Mapping) else {}


def _differ(one: Facts, other: Facts) -> bool | None:
    """Whether the IR after a pass differs, by the best that both sides know of it; None if they
    know nothing.
    """
    for known in (("hash",), ("after", "size_after"), ("changed", "size_after")):
        if known[0] in one and known[0] in other:
            return any(one.get(fact) != other.get(fact) for fact in known)
    return None


def _detail(passes: ComparedPasses, last: int | None, place: int, old: Facts, young: Facts) -> str:
    parts = ["the IR differs after this pass"]
    if "hash" in old and "hash" in young:
        parts[0] += f": hash {old['hash']} in base, {young['hash']} in new"
        if "after" not in old and "after" not in young:
            parts.append("hashes can't tell whether only an order differs (--ir text can)")
    elif "after" not in old or "after" not in young:
        parts[0] += f": {_words(old)} in base, {_words(young)} in new"
    if last is not None:
        parts.append(f"it was the same after {passes[last].name}")
    elif "before" in old and old.get("before") == young.get("before"):
        parts.append("it was the same before")
    elif "before" in old and "before" in young:
        parts.append("it differed before: the two compiles began with different programs")
    else:
        parts.append(
            "this is the first pass of which it is known: they may have begun with different "
            "programs"
        )
    between = [
        f"{entry.name} (only in {'base' if entry.new is None else 'new'})"
        for entry in passes[(last + 1 if last is not None else 0) : place]
        if entry.base is None or entry.new is None
    ]
    if between:
        more = f" and {len(between) - _NAMED} more" if len(between) > _NAMED else ""
        parts.append(f"in between ran {', '.join(between[:_NAMED])}{more}")
    return "; ".join(parts)


def _words(facts: Facts) -> str:
    changed = "unchanged" if facts.get("changed") is False else "changed"
    return f"{changed}, {facts['size_after']} lines" if "size_after" in facts else changed


def _text_after(side: AllRuns, facts: Mapping[int, Json], entry: OneSide | None) -> str | None:
    """The text of the module after a pass. After one that did not change it, which has none, it is
    that after the last pass that did.
    """
    slices = side.runs[0].trace.slices
    row = entry.rows[0] if entry is not None else None
    own = facts.get(row) if row is not None else None
    if row is None or not isinstance(own, Mapping):
        return None
    text = own.get("after")
    if text is None and own.get("changed") is False:
        earlier = [
            (int(slices.end[other]), -other, value["after"])
            for other, value in facts.items()
            if isinstance(value, Mapping)
            and "after" in value
            and slices.end[other] <= slices.end[row]
        ]
        text = max(earlier)[2] if earlier else None
        # Another module may have come in between: it has another length, most likely.
        if isinstance(text, str) and len(text.splitlines()) != own.get("size_after"):
            return None
    return text if isinstance(text, str) else None


def _diff(one: str | None, other: str | None) -> str:
    """The unified diff of two texts, capped; empty if one is not known."""
    if one is None or other is None:
        return ""
    lines = list(
        difflib.unified_diff(one.splitlines(), other.splitlines(), "base", "new", lineterm="")
    )
    left_out = len(lines) - DIFF_LINES
    if left_out > 0:
        lines[DIFF_LINES:] = [f"[... {left_out} lines left out ...]"]
    return cut("\n".join(lines), DIFF_BYTES)


def _of_order(one: str | None, other: str | None) -> str:
    """Even with fixed addresses they differ as soon as one side does anything else before."""
    if one is None or other is None or sorted(one.split("\n")) != sorted(other.split("\n")):
        return ""
    return "may be TVM's own disorder: the lines are the same, only their order differs"


def _caution(
    base: AllRuns,
    new: AllRuns,
    passes: ComparedPasses,
    trail: Sequence[int],
    facts: tuple[Sequence[Mapping[int, Json]], Sequence[Mapping[int, Json]]],
) -> str:
    """Why a difference in the IR, up to here, may mean nothing."""
    is_proved = all(_is_deterministic(side) for side in (base, new))
    for called, of_side, all_runs in (("base", facts[0], base), ("new", facts[1], new)):
        for run in range(1, len(all_runs.runs)):
            differing, compared = None, False
            for place in trail:
                side = passes.base if called == "base" else passes.new
                differ = _differ(_at(of_side, side, place, 0), _at(of_side, side, place, run))
                compared = compared or differ is not None
                if differ:
                    differing = place
                    break
            if differing is not None:
                where = "here too" if differing == trail[-1] else f"after {passes[differing].name}"
                return (
                    f"may be TVM's own disorder: run {run + 1} of {called} differs from its run 1 "
                    f"{where}"
                )
            is_proved = is_proved or (called == "base" and compared)
    if is_proved:
        return ""
    return (
        "may be TVM's own disorder: its IR differs from process to process unless both sides are "
        "recorded with --deterministic"
    )


def _is_deterministic(side: AllRuns) -> bool:
    recording = side.runs[0].trace.metadata.get("recording")
    return isinstance(recording, Mapping) and recording.get("deterministic") is True
