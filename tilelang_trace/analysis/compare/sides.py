"""One side of a comparison: the runs of a compile, aligned to the first and put into one forest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, time_below
from tilelang_trace.analysis.compare.align import align
from tilelang_trace.analysis.compare.comparison import Ns, OneSide
from tilelang_trace.analysis.compare.forest import Forest, Kind, Merged, merge
from tilelang_trace.analysis.compiles import compiles, kernels, plain_name
from tilelang_trace.analysis.runs import Places
from tilelang_trace.analysis.summary import between_by_kind, on_threads
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, FAILED, PASS
from tilelang_trace.trace.failures import first_line
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Mask, Trace


@dataclass(frozen=True)
class Run:
    """One Trace and the forest of its passes, contexts and kernels."""

    trace: Trace
    forest: Forest
    rows: list[int]
    """The row of each node."""
    statuses: list[str]
    inclusive_ns: list[int]
    self_ns: list[int]
    """Only of passes; 0 of the others."""
    total_ns: int
    between_by_kind: dict[str, int]


def run_of(trace: Trace) -> Run:
    """The forest of a Trace, of slices on threads."""
    slices, duration = trace.slices, trace.slices.duration
    counted = on_threads(trace)
    is_pass = trace.is_kind(PASS) & counted
    is_kernel = _kernels(trace) & counted
    nodes = is_pass | is_kernel | (trace.is_kind(CONTEXT) & counted)
    rows = np.flatnonzero(nodes)
    node_of = np.full(len(slices) + 1, -1, np.int64)
    node_of[rows] = np.arange(len(rows))
    pass_above = nearest_above(slices.parent, is_pass)
    self_ns = np.where(is_pass, duration - time_below(pass_above, duration, is_pass), 0)

    places = Places(trace)
    names_of_kernels = kernels(trace)
    configurations = trace.arguments.values("configuration")
    labels_of_contexts = trace.arguments.values("label")
    phases = places.phases()
    names, kinds, labels = [], [], []
    for row, one_is_pass in zip(rows.tolist(), is_pass[rows].tolist()):
        kind: Kind = "pass"
        name, label = trace.name(row), phases[row]
        if not one_is_pass:
            kind, label = "context", str(labels_of_contexts.get(row, ""))
            if is_kernel[row]:
                kind, name = "kernel", plain_name(names_of_kernels[row])
                label = _text(configurations.get(row))
        names.append(name)
        kinds.append(kind)
        labels.append(label)
    parents = node_of[nearest_above(slices.parent, nodes)[rows]].tolist()
    for node in range(1, len(rows)):
        # Contexts, as a tuner enters them, are told apart by the phase of their passes.
        above = parents[node]
        if kinds[node] == "pass" and above == node - 1 and kinds[above] != "pass":
            labels[above] = labels[above] or labels[node]
    begin = slices.begin[counted].min() if counted.any() else 0
    between = between_by_kind(trace, counted & ~is_pass & (pass_above < 0))
    return Run(
        trace=trace,
        forest=Forest(
            names,
            parents,
            kinds,
            labels,
            duration[rows].tolist(),
            (slices.begin[rows] - begin).tolist(),
        ),
        rows=rows.tolist(),
        statuses=[places.status(row) for row in rows.tolist()],
        inclusive_ns=duration[rows].tolist(),
        self_ns=self_ns[rows].tolist(),
        total_ns=int(duration[counted & (slices.parent < 0)].sum()),
        between_by_kind=between,
    )


def _kernels(trace: Trace) -> Mask:
    """The slices that are one kernel each: not a context that whole compiles lie in."""
    found = np.zeros(len(trace.slices), np.bool_)
    found[compiles(trace)] = True
    is_context = trace.is_kind(CONTEXT)
    around = nearest_above(trace.slices.parent, is_context)[trace.is_kind(COMPILE)]
    while len(around := around[around >= 0]):
        found[around] = False
        around = nearest_above(trace.slices.parent, is_context)[around]
    return found


def _text(configuration: Json) -> str:
    return json.dumps(configuration, sort_keys=True) if configuration else ""


class AllRuns:
    """The runs of one side as one forest: that of the first run, and what only others have."""

    def __init__(self, runs: Sequence[Run], forest: Forest, nodes: Sequence[Sequence[int]]) -> None:
        """`nodes` has for each run its node for each of the forest, -1 where it is missing."""
        self.runs = tuple(runs)
        self.forest = forest
        columns = list(zip(runs, nodes))
        self.rows: list[tuple[int | None, ...]] = list(
            zip(*(_picked(run.rows, own, None) for run, own in columns))
        )
        """The row of each node in the Trace of each run."""
        self.inclusive: list[tuple[int, ...]] = list(
            zip(*(_picked(run.inclusive_ns, own, 0) for run, own in columns))
        )
        """The time of each node in each run, 0 where it is missing."""
        self.own: list[tuple[int, ...]] = list(
            zip(*(_picked(run.self_ns, own, 0) for run, own in columns))
        )
        """Likewise the self time."""
        self.status: list[str] = _picked(runs[0].statuses, nodes[0], "")
        """Of the first run that has the node."""
        for run, own in columns[1:]:
            more = _picked(run.statuses, own, "")
            self.status = [known or other for known, other in zip(self.status, more)]

    def one_side(self, node: int) -> OneSide:
        """A pass as the comparison tells it."""
        inclusive, own = self.inclusive[node], self.own[node]
        return OneSide(
            self.forest.names[node],
            self.rows[node],
            self.status[node],
            mean(inclusive),
            mean(own),
            inclusive,
            own,
            self._error(node),
        )

    def _error(self, node: int) -> str:
        """First line of the error in the run that the status is of; empty if it did not fail."""
        if self.status[node] != FAILED:
            return ""
        rows = zip(self.runs, self.rows[node])
        run, row = next((run, row) for run, row in rows if row is not None)
        return first_line(run.trace.arguments.values("error").get(row))

    def differing(self) -> list[int]:
        """For each run how many passes either it or the first one has not."""
        counts = [0] * len(self.runs)
        for rows, kind in zip(self.rows, self.forest.kinds):
            if kind == "pass" and None in rows:
                for number, row in enumerate(rows):
                    counts[number] += (row is None) != (rows[0] is None)
        return counts


T = TypeVar("T")
U = TypeVar("U")


def _picked(values: Sequence[T], nodes: Sequence[int], absent: U) -> list[T | U]:
    """The value of each node, or that of an absent one."""
    return [values[node] if node >= 0 else absent for node in nodes]


def all_runs(traces: Sequence[Trace]) -> AllRuns:
    """The runs of one side, each aligned to what those before it have."""
    runs = tuple(run_of(trace) for trace in traces)
    forest = runs[0].forest
    nodes: list[Sequence[int]] = [range(len(forest))]
    for run in runs[1:]:
        # Repeats of one compile rename nothing.
        found = align(forest, run.forest, renames=False)
        moved = {found.new_of[node] for node, how in found.how.items() if how == "moved"}
        both = merge(forest, run.forest, found.base_of, moved)
        nodes = [*(_picked(own, both.first, -1) for own in nodes), both.second]
        forest = _joined(forest, run.forest, both)
    return AllRuns(runs, forest, nodes)


def _joined(one: Forest, other: Forest, both: Merged) -> Forest:
    def column(of_one: Sequence[T], of_other: Sequence[T]) -> list[T]:
        return [
            of_one[node] if node >= 0 else of_other[more]
            for node, more in zip(both.first, both.second)
        ]

    return Forest(
        column(one.names, other.names),
        both.parents,
        column(one.kinds, other.kinds),
        column(one.labels, other.labels),
        column(one.times, other.times),
        column(one.begins, other.begins),
    )


def mean(runs: Sequence[int]) -> Ns:
    """The exact mean, an int if it is whole."""
    if len(runs) == 1:
        return runs[0]
    whole, rest = divmod(sum(runs), len(runs))
    return Fraction(sum(runs), len(runs)) if rest else whole
