"""The Traces that a selection makes of a Trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilelang_trace.analysis.compiles import kernels as kernels_by_row
from tilelang_trace.analysis.selection.kernels import matching, only_kernels
from tilelang_trace.analysis.selection.leave_out import without_short
from tilelang_trace.analysis.selection.selection import Selection
from tilelang_trace.analysis.selection.split import outside_kernels, split_kernels
from tilelang_trace.trace.failed_passes import only_those_that_failed_in
from tilelang_trace.trace.model import Trace

OUTSIDE = "no-kernel"
"""Name of the part of a split Trace that no kernel has."""

_NAMED = 10
"""Kernels that are named where none matches."""


@dataclass(frozen=True)
class Part:
    """One of the Traces that a selection makes."""

    trace: Trace
    kernel: str | None = None
    """Whose part it is, where the Trace was split; `OUTSIDE` for what belongs to no kernel."""


@dataclass(frozen=True)
class Selected:
    """What a selection makes of a Trace."""

    parts: tuple[Part, ...]
    """At least one."""
    matched: bool
    """Whether `only` matched a kernel (or there is no `only`); if not, none was left out."""


def select(trace: Trace, selection: Selection) -> Selected:
    """Apply a selection. Patterns that match no kernel at all leave nothing out: a mistyped one
    must not cost the trace of a long compile.
    """
    matched = not selection.only or bool(matching(trace, selection.only))
    if selection.only and matched:
        trace = only_kernels(trace, *selection.only)
    pieces = []
    rest: Trace | None = trace
    if selection.split == "kernel" and (kernels := split_kernels(trace)):
        pieces = [Part(part, name) for name, part in kernels]
        rest = outside_kernels(trace)
    if rest is not None:
        pieces.append(Part(rest, OUTSIDE if pieces else None))
    # Short passes go last: what was left out at the top of the Trace is told in the right part.
    shorter = (Part(without_short(p.trace, selection.min_ns), p.kernel) for p in pieces)
    parts = (Part(only_those_that_failed_in(p.trace), p.kernel) for p in shorter)
    return Selected(tuple(parts), matched)


def kernel_names(trace: Trace) -> list[str]:
    """The kernels of a Trace by begin, each once."""
    by_row = kernels_by_row(trace)
    rows = sorted(by_row, key=lambda row: int(trace.slices.begin[row]))
    return list(dict.fromkeys(by_row[row] for row in rows))


def no_match(patterns: Sequence[str], kernels: Sequence[str]) -> str:
    """Tells a person that these patterns match none of these kernels."""
    wanted = " or ".join(map(repr, patterns))
    if not kernels:
        return f"no kernel matches {wanted}: no slice bears a kernel's name"
    more = f" and {len(kernels) - _NAMED} more" if len(kernels) > _NAMED else ""
    return f"no kernel matches {wanted}; there is {', '.join(map(repr, kernels[:_NAMED]))}{more}"
