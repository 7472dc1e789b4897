"""Passes that only one side has, around passes that both have: they are looked through."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.prepared import Prepared

Nodes = npt.NDArray[np.int64]

_DEEPEST = 4
"""Levels of wrappers, one in the other, that are looked through at once."""


def look_through(own: Prepared, nodes: Nodes, other: Prepared, its_nodes: Nodes) -> Nodes:
    """The nodes of one side and, behind a node of a name that the other side has not, what is in
    it, if that is mostly what the other side has more of.
    """
    if not own.children.count[nodes].any():
        return nodes
    its_names = other.name[its_nodes].tolist()
    known, there = set(its_names), set(nodes.tolist())
    names = own.name[nodes].tolist()
    may_open = own.children.count[nodes] > 0
    if not any(name not in known for name, may in zip(names, may_open.tolist()) if may):
        return nodes
    wanted = set(Counter(its_names) - Counter(names))

    def opened(node: int, depth: int) -> list[int]:
        children = own.children[node]
        if not children or not wanted or own.name[node] in known or depth > _DEEPEST:
            return []
        if not there.isdisjoint(children):
            return []  # it was looked through before
        found, useful = [], 0
        for child in children:
            inside = opened(child, depth + 1)
            useful += bool(inside) or own.name[child] in wanted
            found += [child, *inside]
        return found if 2 * useful >= len(children) else []

    return np.array([found for node in nodes.tolist() for found in [node, *opened(node, 1)]])
