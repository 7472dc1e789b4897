"""Single slices in words: which run it is, where it stands, what it failed of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.trace.arguments import COMPILE, CONTEXT, OK, PHASE, kind_of
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.model import Ints, Json, Trace

RunOrder: TypeAlias = Literal["self", "inclusive"]


@dataclass(frozen=True)
class Run:
    """One run of a pass."""

    name: str
    start_ns: int
    """Since the earliest slice of the Trace began."""
    inclusive_ns: int
    self_ns: int
    status: str
    thread: str
    """`process / thread`."""
    phase: str
    kernel: str
    """Empty if unknown, like `phase`."""


@dataclass(frozen=True)
class Failed:
    """A slice that failed: the frame nearest to the failure."""

    name: str
    path: tuple[str, ...]
    """Names of the phases, passes and others around it, outermost first; compile and context are left out."""
    type: str
    """Type of the exception, or the name of the signal."""
    cause: str
    message: str
    """First line of the error."""
    detail: str
    """The whole text of the error; empty if there is no more than the message."""
    phase: str
    kernel: str
    inclusive_ns: int


def describe(
    trace: Trace, rows: npt.NDArray[np.int64], self_ns: Ints, origin: int
) -> tuple[Run, ...]:
    """These slices as runs; times count from `origin`."""
    return tuple(
        Run(
            name=trace.name(row),
            start_ns=int(trace.slices.begin[row]) - origin,
            inclusive_ns=_duration(trace, row),
            self_ns=int(self_ns[row]),
            status=str(trace.arguments.of(row).get("status", OK)),
            thread=thread_of(trace, int(trace.slices.lane[row])),
            phase=phase_of(trace, row),
            kernel=kernel_of(trace, row),
        )
        for row in rows.tolist()
    )


def failed_runs(trace: Trace) -> tuple[Failed, ...]:
    """The failures of a Trace, by time."""
    found = []
    for failure in failures(trace):
        row = failure.row
        error = trace.arguments.of(row).get("error")
        error = error if isinstance(error, dict) else {}
        around = [
            above
            for above in reversed(enclosing(trace, row))
            if kind_of(trace.category(above)) not in (COMPILE, CONTEXT)
        ]
        found.append(
            Failed(
                name=trace.name(row),
                path=tuple(trace.name(above) for above in around),
                type=_text(error, "type"),
                cause=_text(error, "cause"),
                message=_text(error, "message"),
                detail=_text(error, "detail"),
                phase=phase_of(trace, row),
                kernel=kernel_of(trace, row),
                inclusive_ns=_duration(trace, row),
            )
        )
    return tuple(found)


def enclosing(trace: Trace, row: int) -> list[int]:
    """The rows of the slices around this one, innermost first."""
    found = []
    while (row := int(trace.slices.parent[row])) >= 0:
        found.append(row)
    return found


def phase_of(trace: Trace, row: int) -> str:
    """The phase of a slice: its own label, else that of what encloses it; empty if there is none."""
    for near in (row, *enclosing(trace, row)):
        if kind_of(trace.category(near)) == PHASE:
            return trace.name(near)
        label = trace.arguments.of(near).get("phase")
        if isinstance(label, str):
            return label
    return ""


def kernel_of(trace: Trace, row: int) -> str:
    """The label of the kernel that a slice worked on; empty if nothing tells."""
    for near in (row, *enclosing(trace, row)):
        label = trace.arguments.of(near).get("kernel")
        if isinstance(label, str):
            return label
    label = trace.metadata.get("kernel")
    return label if isinstance(label, str) else ""


def thread_of(trace: Trace, lane: int) -> str:
    """The thread of a lane, with its process, and the lane's own name where it has one."""
    row = trace.lanes[lane]
    if row.thread is None:
        return row.name
    thread = trace.threads[row.thread]
    name = f"{trace.processes[thread.process].name} / {thread.name}"
    return f"{name} ({row.name})" if row.name not in ("", thread.name) else name


def _duration(trace: Trace, row: int) -> int:
    return int(trace.slices.end[row] - trace.slices.begin[row])


def _text(error: Mapping[str, Json], key: str) -> str:
    value = error.get(key)
    return "" if value is None else str(value)
