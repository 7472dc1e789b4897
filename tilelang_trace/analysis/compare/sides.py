"""One side of a comparison: the runs of a compile, aligned to the first and put into one forest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above, time_below
from tilelang_trace.analysis.compare.align import align
from tilelang_trace.analysis.compare.compared_passes import SideColumns
from tilelang_trace.analysis.compare.forest import Forest, Merged, merge
from tilelang_trace.analysis.compare.texts import Texts, in_common
from tilelang_trace.analysis.compiles import compiles, kernels, plain_name
from tilelang_trace.analysis.counted import counted, measured
from tilelang_trace.analysis.runs import Places
from tilelang_trace.analysis.summary import between_by_kind
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, FAILED
from tilelang_trace.trace.failures import first_line
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids, Ints, Mask, Trace


@dataclass(frozen=True, eq=False)
class Run:
    """One Trace and the forest of its passes, contexts and kernels."""

    trace: Trace
    forest: Forest
    rows: npt.NDArray[np.int64]
    """The row of each node."""
    statuses: Texts
    inclusive_ns: Ints
    self_ns: Ints
    """Only of passes; 0 of the others."""
    total_ns: int
    between_by_kind: dict[str, int]
    of_all_categories: bool
    """There is no pass: the nodes are the slices of another tool."""


def run_of(trace: Trace) -> Run:
    """The forest of a Trace, of the slices that count; those of other tools stand for passes where
    there is none.
    """
    slices, duration = trace.slices, trace.slices.duration
    in_total = counted(trace)
    is_pass, of_all_categories = measured(trace)
    is_kernel = _kernels(trace) & in_total
    nodes = is_pass | is_kernel | (trace.is_kind(CONTEXT) & in_total)
    rows = np.flatnonzero(nodes)
    node_of = np.full(len(slices) + 1, -1, np.int32)
    node_of[rows] = np.arange(len(rows))
    pass_above = nearest_above(slices.parent, is_pass)
    self_ns = np.where(is_pass, duration - time_below(pass_above, duration, is_pass), 0)

    places = Places(trace)
    kinds = np.where(is_pass[rows], 0, np.where(is_kernel[rows], 2, 1))
    parents = node_of[nearest_above(slices.parent, nodes)[rows]]
    names, labels = _texts(trace, places, rows, kinds, parents)
    begin = slices.begin[in_total].min() if in_total.any() else 0
    between = between_by_kind(trace, in_total & ~is_pass & (pass_above < 0))
    return Run(
        trace=trace,
        forest=Forest(
            names,
            parents,
            Texts(kinds.astype(np.int32), ("pass", "context", "kernel")),
            labels,
            duration[rows],
            slices.begin[rows] - begin,
        ),
        rows=rows,
        statuses=Texts(*places.statuses())[rows],
        inclusive_ns=duration[rows],
        self_ns=self_ns[rows],
        total_ns=int(duration[in_total & (slices.parent < 0)].sum()),
        between_by_kind=between,
        of_all_categories=of_all_categories,
    )


def _texts(
    trace: Trace,
    places: Places,
    rows: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int64],
    parents: Ids,
) -> tuple[Texts, Texts]:
    """The names and the labels of nodes."""
    names, (labels, strings) = trace.slices.name[rows], places.phases()
    labels = labels[rows]
    more = [*strings]
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        if text not in numbers:
            numbers[text] = len(more)
            more.append(text)
        return numbers[text]

    names_of_kernels = kernels(trace)
    configurations = trace.arguments.values("configuration")
    labels_of_contexts = trace.arguments.values("label")
    others = np.flatnonzero(kinds)
    for node, row, kind in zip(others.tolist(), rows[others].tolist(), kinds[others].tolist()):
        if kind == 2:
            names[node] = number(plain_name(names_of_kernels[row]))
            labels[node] = number(_text(configurations.get(row)))
        else:
            labels[node] = number(str(labels_of_contexts.get(row, "")))
    # Contexts, as a tuner enters them, are told apart by the phase of their passes.
    first = 1 + np.flatnonzero(
        (kinds[1:] == 0) & (kinds[:-1] != 0) & (parents[1:] == np.arange(len(rows) - 1))
    )
    empty = np.array([not text for text in more], np.bool_)
    first = first[empty[labels[first - 1]]]
    labels[first - 1] = labels[first]
    return Texts(names, more), Texts(labels, more)


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

    def __init__(
        self, runs: Sequence[Run], forest: Forest, nodes: Sequence[npt.NDArray[np.int64]]
    ) -> None:
        """`nodes` has for each run its node for each of the forest, -1 where it is missing."""
        self.runs = tuple(runs)
        self.forest = forest
        columns = list(zip(runs, nodes))
        self.rows: Ids = np.stack([_picked(run.rows, own, -1) for run, own in columns])
        """Runs x nodes: the row in the Trace of each run, -1 where it is missing."""
        self.inclusive: Ints = np.stack([_picked(run.inclusive_ns, own, 0) for run, own in columns])
        """Likewise the time, 0 where it is missing."""
        self.own: Ints = np.stack([_picked(run.self_ns, own, 0) for run, own in columns])
        """Likewise the self time."""
        ids, strings = in_common(*(run.statuses for run in runs), Texts.of([""]))
        self._run: Ints = np.argmax(self.rows >= 0, axis=0)
        """The first run that has the node."""
        statuses = [_picked(own_ids, own, -1) for own_ids, own in zip(ids, nodes)]
        which = np.stack(statuses)[self._run, np.arange(len(forest))]
        self.status = Texts(which.astype(np.int32), strings)
        """Of that run."""

    def columns(self, nodes: npt.NDArray[np.int64]) -> SideColumns:
        """The passes of these nodes as the comparison tells them; -1 is a pass that this side has
        not.
        """
        there = nodes >= 0
        return SideColumns(
            there,
            _picked_texts(self.forest.names, nodes),
            _picked_texts(self.status, nodes),
            self._errors(nodes),
            _picked(self.rows, nodes, -1).astype(np.int32),
            _picked(self.inclusive, nodes, 0),
            _picked(self.own, nodes, 0),
        )

    def _errors(self, nodes: npt.NDArray[np.int64]) -> Texts:
        """First line of the error in the run that the status is of; empty if it did not fail."""
        texts = [""]
        ids = np.zeros(len(nodes), np.int32)
        errors = [run.trace.arguments.values("error") for run in self.runs]
        failed = self.status.are(FAILED)
        for at in np.flatnonzero(_picked(failed, nodes, 0)).tolist():
            run = self._run[nodes[at]]
            ids[at] = len(texts)
            texts.append(first_line(errors[run].get(int(self.rows[run, nodes[at]]))))
        return Texts(ids, texts)

    def differing(self) -> list[int]:
        """For each run how many passes either it or the first one has not."""
        is_there = self.rows[:, self.forest.is_pass] >= 0
        counts: list[int] = (is_there != is_there[0]).sum(axis=1).tolist()
        return counts


def _picked(
    values: npt.NDArray[Any], nodes: npt.NDArray[np.int64], absent: int
) -> npt.NDArray[Any]:
    """The value (of the last axis) of each node, or that of an absent one."""
    if not values.shape[-1]:
        return np.full((*values.shape[:-1], len(nodes)), absent, values.dtype)
    return np.where(nodes >= 0, values[..., nodes], absent).astype(values.dtype, copy=False)


def _picked_texts(values: Texts, nodes: npt.NDArray[np.int64]) -> Texts:
    """The text of each node, an empty one for an absent one."""
    return Texts(_picked(values.ids, nodes, len(values.strings)), [*values.strings, ""])


def all_runs(traces: Sequence[Trace]) -> AllRuns:
    """The runs of one side, each aligned to what those before it have."""
    runs = tuple(run_of(trace) for trace in traces)
    forest = runs[0].forest
    nodes = [np.arange(len(forest))]
    for run in runs[1:]:
        # Repeats of one compile rename nothing.
        found = align(forest, run.forest, renames=False)
        moved = {int(found.new_of[node]) for node, how in found.how.items() if how == "moved"}
        both = merge(forest, run.forest, found.base_of, moved)
        nodes = [*(_picked(own, both.first, -1) for own in nodes), both.second]
        forest = _joined(forest, run.forest, both)
    return AllRuns(runs, forest, nodes)


def _joined(one: Forest, other: Forest, both: Merged) -> Forest:
    def texts(of_one: Texts, of_other: Texts) -> Texts:
        (first, second), strings = in_common(of_one, of_other)
        return Texts(numbers(first, second), strings)

    def numbers(of_one: npt.NDArray[Any], of_other: npt.NDArray[Any]) -> npt.NDArray[Any]:
        more = _picked(of_other, both.second, 0)
        return np.where(both.first >= 0, _picked(of_one, both.first, 0), more)

    return Forest(
        texts(one.names, other.names),
        both.parents,
        texts(one.kinds, other.kinds),
        texts(one.labels, other.labels),
        numbers(one.times, other.times),
        numbers(one.begins, other.begins),
    )
