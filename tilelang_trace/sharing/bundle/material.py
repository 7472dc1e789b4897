"""What is bundled: one compile, or two that are compared, without what is private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.comparison import Comparison
from tilelang_trace.analysis.compare.noise import judged
from tilelang_trace.analysis.compare.timeline import side_by_side
from tilelang_trace.sharing.reproducer import Reproducer
from tilelang_trace.trace.model import Trace

TRACE, BASE, NEW = "trace", "base", "new"
"""Names of traces in an archive: the only one, or those of both sides."""


@dataclass(frozen=True)
class Material:
    """What goes into an archive, before it has bytes."""

    traces: Mapping[str, Trace]
    """By name: `trace`, or `base` and `new`."""
    reproducers: Mapping[str, Reproducer] = field(default_factory=dict)
    """By the name of the trace; of those in which something failed."""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """What came of running them; none if they were not run."""
    ir_files: bool = True
    """Whether the IR of passes that did not fail is there as files too."""
    left_out: tuple[str, ...] = ()
    """What did not fit, in words."""

    @cached_property
    def comparison(self) -> Comparison | None:
        """What differs between both sides; None of one compile."""
        if TRACE in self.traces:
            return None
        return judged(compare_traces([self.traces[BASE]], [self.traces[NEW]], [BASE], [NEW]))

    @cached_property
    def timeline(self) -> Trace:
        """All of it as one Trace."""
        if self.comparison is None:
            return self.traces[TRACE]
        return side_by_side(self.comparison, self.traces[BASE], self.traces[NEW])

    def changed(self, change: Callable[[Trace], Trace]) -> dict[str, Trace]:
        """The traces with this done to each."""
        return {name: change(trace) for name, trace in self.traces.items()}
