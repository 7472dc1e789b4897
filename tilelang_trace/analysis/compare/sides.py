"""One side of a comparison: the runs of a compile, aligned to the first and put into one forest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above, time_below
from tilelang_trace.analysis.compare.align import align
from tilelang_trace.analysis.compare.comparison import Ns, OneSide
from tilelang_trace.analysis.compare.forest import Forest, Kind, merge
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
    above = nearest_above(slices.parent, is_pass)
    self_ns = np.where(is_pass, duration - time_below(above, duration, is_pass), 0)

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
    begin = slices.begin[counted].min() if counted.any() else 0
    between = between_by_kind(trace, counted & ~is_pass & (above < 0))
    return Run(
        trace=trace,
        forest=Forest(
            names,
            node_of[nearest_above(slices.parent, nodes)[rows]].tolist(),
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


@dataclass(frozen=True)
class AllRuns:
    """The runs of one side as one forest: that of the first run, and what only others have."""

    runs: tuple[Run, ...]
    forest: Forest
    nodes: list[tuple[int, ...]]
    """For each node of the forest its node in each run, -1 where it is missing."""

    def rows(self, node: int) -> tuple[int | None, ...]:
        """The rows of a node in the Trace of each run."""
        return tuple(
            run.rows[own] if own >= 0 else None for run, own in zip(self.runs, self.nodes[node])
        )

    def status(self, node: int) -> str:
        """Of the first run that has this node."""
        return next(run.statuses[own] for run, own in zip(self.runs, self.nodes[node]) if own >= 0)

    def error(self, node: int) -> str:
        """First line of the error in the run that `status` is of; empty if it did not fail."""
        if self.status(node) != FAILED:
            return ""
        run, own = next((run, n) for run, n in zip(self.runs, self.nodes[node]) if n >= 0)
        return first_line(run.trace.arguments.values("error").get(run.rows[own]))

    def inclusive(self, node: int) -> tuple[int, ...]:
        """The time of a node in each run."""
        return tuple(
            run.inclusive_ns[own] if own >= 0 else 0
            for run, own in zip(self.runs, self.nodes[node])
        )

    def one_side(self, node: int) -> OneSide:
        """A pass as the comparison tells it."""
        inclusive = self.inclusive(node)
        own_ns = tuple(
            run.self_ns[own] if own >= 0 else 0 for run, own in zip(self.runs, self.nodes[node])
        )
        return OneSide(
            self.forest.names[node],
            self.rows(node),
            self.status(node),
            mean(inclusive),
            mean(own_ns),
            inclusive,
            own_ns,
            self.error(node),
        )

    def missing(self) -> list[int]:
        """For each run how many passes it has more or fewer than the first."""
        return [
            sum(
                (own[number] < 0) != (own[0] < 0)
                for node, own in enumerate(self.nodes)
                if self.forest.kinds[node] == "pass"
            )
            for number in range(len(self.runs))
        ]


def all_runs(traces: Sequence[Trace]) -> AllRuns:
    """The runs of one side, each aligned to what those before it have."""
    runs = tuple(run_of(trace) for trace in traces)
    forest = runs[0].forest
    nodes: list[tuple[int, ...]] = [(node,) for node in range(len(forest))]
    for run in runs[1:]:
        # Repeats of one compile rename nothing.
        found = align(forest, run.forest, renames=False)
        moved = {found.new_of[node] for node, how in found.how.items() if how == "moved"}
        forest, nodes = _joined(forest, nodes, run.forest, found.base_of, moved)
    return AllRuns(runs, forest, nodes)


def _joined(
    forest: Forest,
    nodes: list[tuple[int, ...]],
    more: Forest,
    known: list[int],
    moved: set[int],
) -> tuple[Forest, list[tuple[int, ...]]]:
    both = merge(forest, more, known, moved)
    runs = len(nodes[0]) if nodes else 1
    absent = (-1,) * runs
    sources = [
        (forest, one) if one >= 0 else (more, other) for one, other in zip(both.first, both.second)
    ]
    joined = Forest(
        [source.names[node] for source, node in sources],
        both.parents,
        [source.kinds[node] for source, node in sources],
        [source.labels[node] for source, node in sources],
        [source.times[node] for source, node in sources],
        [source.begins[node] for source, node in sources],
    )
    return joined, [
        (*(nodes[one] if one >= 0 else absent), other)
        for one, other in zip(both.first, both.second)
    ]


def mean(runs: Sequence[int]) -> Ns:
    """The exact mean, an int if it is whole."""
    whole, rest = divmod(sum(runs), len(runs))
    return Fraction(sum(runs), len(runs)) if rest else whole
