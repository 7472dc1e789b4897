"""What the report by kernel shows, chosen once for all outputs: which compiles, in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilelang_trace.analysis.kernels import Compile, Compiles, list_compiles
from tilelang_trace.analysis.summary import Wholeness, wholeness
from tilelang_trace.reports.choice import Choice, Sort
from tilelang_trace.trace.model import Trace

_KEYS: dict[Sort, Callable[[Compile], Any]] = {
    "inclusive": lambda c: (-c.inclusive_ns, c.number),
    "self": lambda c: (-c.self_ns, c.number),
    "count": lambda c: (-c.passes, c.number),
    "name": lambda c: (c.kernel, c.number),
    "start": lambda c: c.number,
}


@dataclass(frozen=True)
class LeftOut:
    """The compiles that are not shown, added up."""

    compiles: int
    inclusive_ns: int
    """Those that lie in another compile don't count: their time is in that one."""


@dataclass(frozen=True)
class KernelReport:
    """The compiles of a Trace, and which of them are shown."""

    source: str
    """The file, as the user named it."""
    recording: Wholeness
    all: Compiles
    shown: tuple[Compile, ...]
    left_out: LeftOut


def make_report(trace: Trace, source: str, choice: Choice) -> KernelReport:
    """List the compiles of a Trace and choose what to show of them; the longest stand first if
    nobody says otherwise.
    """
    found = list_compiles(trace)
    ordered = sorted(found.compiles, key=_KEYS[choice.sort or "inclusive"])
    least = choice.min_ns or 0
    shown = tuple(c for c in ordered if c.inclusive_ns >= least)[: choice.top]
    numbers = {c.number for c in shown}
    hidden = [c for c in ordered if c.number not in numbers]
    return KernelReport(
        source=source,
        recording=wholeness(trace),
        all=found,
        shown=shown,
        left_out=LeftOut(len(hidden), sum(c.inclusive_ns for c in hidden if not c.nested)),
    )
