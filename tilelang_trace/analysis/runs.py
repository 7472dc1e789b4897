"""Single slices in words: which run it is, where it stands, what it failed of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, KINDS, OK, PHASE
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids, Ints, Trace

RunOrder: TypeAlias = Literal["self", "inclusive"]

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
NEAREST = 100
"""So many slices around a failure are named: of a thousand in each other, all could have failed."""

_NOT_IN_PATH = (KINDS.index(COMPILE), KINDS.index(CONTEXT))

_DETAIL = "detail"
"""Argument of LLVM's time traces: all runs of a pass have its name, this says on what."""


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
    detail: str
    """What another tool says that the run was about: the file, the function; else empty."""


@dataclass(frozen=True)
class Failed:
    """A slice that failed: the frame nearest to the failure."""

    name: str
    path: tuple[str, ...]
    """Names of the slices around it, outermost first, without compile and context; of the nearest
    `NEAREST`, behind an ellipsis, where there are more.
    """
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


class Places:
    """Tells of single slices of a Trace where they stand."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        count = len(trace.slices)
        self._status = trace.arguments.strings("status", count)
        self._kernel = trace.arguments.strings("kernel", count)
        self._phase = trace.arguments.strings("phase", count)
        self._detail = trace.arguments.strings(_DETAIL, count)
        self.kinds = trace.kinds()
        is_phase = self.kinds == KINDS.index(PHASE)
        self._phase[is_phase] = trace.slices.name[is_phase]

    def status(self, row: int) -> str:
        """The status of a slice; those of other tools are all `ok`."""
        status = int(self._status[row])
        return self._trace.strings[status] if status >= 0 else OK

    def phase(self, row: int) -> str:
        """The phase of a slice: its own label, else that of what encloses it, else empty."""
        return self._text(int(self._phases[row]))

    def phases(self) -> tuple[Ids, list[str]]:
        """The phase of every slice, as numbers of texts, and the texts."""
        none = len(self._trace.strings)
        found = np.where(self._phases >= 0, self._phases, none).astype(np.int32)
        return found, [*self._trace.strings, ""]

    def statuses(self) -> tuple[Ids, list[str]]:
        """The status of every slice, likewise."""
        none = len(self._trace.strings)
        found = np.where(self._status >= 0, self._status, none).astype(np.int32)
        return found, [*self._trace.strings, OK]

    def kernel(self, row: int) -> str:
        """The label of the kernel that a slice worked on; empty if nothing tells."""
        of_trace = self._trace.metadata.get("kernel")
        own = self._text(int(self._kernels[row]))
        return own or (of_trace if isinstance(of_trace, str) else "")

    def detail(self, row: int) -> str:
        """What another tool says that a slice was about."""
        detail = int(self._detail[row])
        return self._trace.strings[detail] if detail >= 0 else ""

    def thread(self, lane: int) -> str:
        """The thread of a lane, with its process, and the lane's own name where it has one."""
        row = self._trace.lanes[lane]
        if row.thread is None:
            return row.name
        thread = self._trace.threads[row.thread]
        name = f"{self._trace.processes[thread.process].name} / {thread.name}"
        return f"{name} ({row.name})" if row.name not in ("", thread.name) else name

    def enclosing(self, row: int) -> Iterator[int]:
        """The rows of the slices around this one, innermost first."""
        while (row := int(self._trace.slices.parent[row])) >= 0:
            yield row

    @cached_property
    def _phases(self) -> Ids:
        return self._inherited(self._phase)

    @cached_property
    def _kernels(self) -> Ids:
        return self._inherited(self._kernel)

    def _inherited(self, labels: Ids) -> Ids:
        """For each slice its own label or that of the nearest slice around it that has one, -1 if
        there is none.
        """
        above = nearest_above(self._trace.slices.parent, labels >= 0)
        around = np.where(above >= 0, labels[above], -1) if len(above) else labels
        return np.where(labels >= 0, labels, around).astype(np.int32)

    def _text(self, label: int) -> str:
        return self._trace.strings[label] if label >= 0 else ""


def describe(
    trace: Trace, places: Places, rows: npt.NDArray[np.int64], self_ns: Ints, origin: int
) -> tuple[Run, ...]:
    """These slices as runs; times count from `origin`."""
    slices = trace.slices
    return tuple(
        Run(
            name=trace.name(row),
            start_ns=int(slices.begin[row]) - origin,
            inclusive_ns=int(slices.end[row] - slices.begin[row]),
            self_ns=int(self_ns[row]),
            status=places.status(row),
            thread=places.thread(int(slices.lane[row])),
            phase=places.phase(row),
            kernel=places.kernel(row),
            detail=places.detail(row),
        )
        for row in rows.tolist()
    )


def failed_runs(trace: Trace, places: Places) -> tuple[Failed, ...]:
    """The failures of a Trace, by time."""
    errors = trace.arguments.values("error")
    return tuple(
        _failed(trace, places, failure.row, errors.get(failure.row)) for failure in failures(trace)
    )


def _failed(trace: Trace, places: Places, row: int, error: Json) -> Failed:
    # In a file of another tool, `error` may be anything.
    error = error if isinstance(error, dict) else {}
    nearest = list(islice(places.enclosing(row), NEAREST + 1))
    around = [above for above in nearest[:NEAREST] if places.kinds[above] not in _NOT_IN_PATH]
    more = (ELLIPSIS,) if len(nearest) > NEAREST else ()
    return Failed(
        name=trace.name(row),
        path=(*more, *(trace.name(above) for above in reversed(around))),
        type=_text(error, "type"),
        cause=_text(error, "cause"),
        message=_text(error, "message"),
        detail=_text(error, "detail"),
        phase=places.phase(row),
        kernel=places.kernel(row),
        inclusive_ns=int(trace.slices.end[row] - trace.slices.begin[row]),
    )


def _text(error: Mapping[str, Json], key: str) -> str:
    value = error.get(key)
    return "" if value is None else str(value)
