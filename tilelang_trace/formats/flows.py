"""The arrows of a Trace as a file has them: a number each, on the slices that they join."""

from __future__ import annotations

from tilelang_trace.trace.failures import Failure
from tilelang_trace.trace.model import Trace


class Flows:
    """The numbers of the arrows, from 1: those of the Trace, then those from the failed slices."""

    def __init__(self, trace: Trace, failures: list[Failure]) -> None:
        self.starting: dict[int, list[int]] = {}
        """Per row the arrows that start there."""
        self.ending: dict[int, list[int]] = {}
        """Per row the arrows that end there."""
        self.of_failure: dict[int, int] = {}
        """Per failed row the arrow from it to its instant on the row "Failures"."""
        for flow, (source, target) in enumerate(trace.flows.tolist(), 1):
            self.starting.setdefault(source, []).append(flow)
            self.ending.setdefault(target, []).append(flow)
        for flow, failure in enumerate(failures, 1 + len(trace.flows)):
            self.starting.setdefault(failure.row, []).append(flow)
            self.of_failure[failure.row] = flow
