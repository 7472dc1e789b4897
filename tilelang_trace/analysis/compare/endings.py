"""What a failure ended: the passes behind it on the other side were not reached on this one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.sides import AllRuns
from tilelang_trace.trace.arguments import ERROR_STATUSES, OPEN
from tilelang_trace.trace.model import Ids, Ints

Nodes = npt.NDArray[np.int64]

_ENDED = (*ERROR_STATUSES, OPEN)


def not_reached(ended: AllRuns, whole: AllRuns, counterpart: Ids, moved: set[int]) -> set[int]:
    """The nodes of `whole` that `ended` would have come to, had it not failed; or that it may come
    to, if it is a snapshot.

    `counterpart` is the node of `whole` for each of `ended`, or -1; `moved` are those of `ended`
    that run elsewhere in `whole`, and so don't tell how far it came.
    """
    has_ended = np.zeros(len(ended.forest), np.bool_)
    for status in _ENDED:
        has_ended |= ended.status.are(status)
    is_kernel = ended.forest.kinds.are("kernel") & (counterpart >= 0)
    kernels = np.flatnonzero(is_kernel & has_ended).tolist()
    all_of_it_has = _has_ended(ended)
    if not kernels and not all_of_it_has:
        return set()
    kernel_of, its_kernels = ended.forest.outermost_kernels(), whole.forest.outermost_kernels()
    is_known = np.zeros(len(whole.forest), np.bool_)
    is_known[counterpart[counterpart >= 0]] = True
    tells = counterpart >= 0
    tells[[*moved]] = False
    found: set[int] = set()

    def add_behind(nodes: Nodes, candidates: Nodes) -> None:
        """Add the candidates that run after the last of the nodes, as far as that is known."""
        nodes = nodes[tells[nodes]]
        candidates = candidates[~is_known[candidates]]
        if len(nodes):
            last = nodes[np.lexsort((nodes, ended.forest.begins[nodes]))[-1]]
            begins, place = whole.forest.begins, counterpart[last]
            later = begins[candidates] > begins[place]
            later |= (begins[candidates] == begins[place]) & (candidates > place)
            candidates = candidates[later]
        found.update(candidates.tolist())

    nodes_in, its_nodes_in = _counts(kernel_of), _counts(its_kernels)
    for kernel in kernels:
        if kernel_of[kernel] == kernel:
            its_kernel = int(its_kernels[counterpart[kernel]])
            add_behind(
                np.arange(kernel, kernel + nodes_in[kernel]),
                np.arange(its_kernel, its_kernel + its_nodes_in[its_kernel]),
            )
    if all_of_it_has:
        in_known = (its_kernels >= 0) & is_known[its_kernels]
        add_behind(np.arange(len(kernel_of)), np.flatnonzero(~in_known))
    return found


def _counts(kernels: Ids) -> Ints:
    """How many nodes each outermost kernel has; they stand behind it."""
    return np.bincount(kernels[kernels >= 0], minlength=len(kernels))


def _has_ended(side: AllRuns) -> bool:
    """Whether the last thing that ran failed, and the program with it as far as that is known."""
    forest, trace = side.forest, side.runs[0].trace
    roots = forest.children.roots
    if not len(roots):
        return False
    last = int(roots[np.lexsort((roots, forest.begins[roots]))[-1]])
    if side.status[last] not in _ENDED:
        return False
    ending = trace.metadata.get("exit")
    return not (isinstance(ending, dict) and ending.get("code") == 0 and "signal" not in ending)
