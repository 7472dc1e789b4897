"""What is bundled: one compile, or two that are compared, without what is private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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

    def changed(self, change: Callable[[Trace], Trace]) -> dict[str, Trace]:
        """The traces with this done to each."""
        return {name: change(trace) for name, trace in self.traces.items()}
