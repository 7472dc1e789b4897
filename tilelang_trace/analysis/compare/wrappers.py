"""Passes that only one side has, around passes that both have: they are looked through."""

from __future__ import annotations

from collections import Counter

from tilelang_trace.analysis.compare.prepared import Prepared

_DEEPEST = 4
"""Levels of wrappers, one in the other, that are looked through at once."""


def look_through(
    own: Prepared, nodes: list[int], other: Prepared, its_nodes: list[int]
) -> list[int]:
    """The nodes of one side and, behind a node of a name that the other side has not, what is in
    it, if that is mostly what the other side has more of.
    """
    its_names = [other.name[node] for node in its_nodes]
    if all(not own.children[node] for node in nodes):
        return nodes
    wanted = set(Counter(its_names) - Counter(own.name[node] for node in nodes))
    known, there = set(its_names), set(nodes)

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

    return [found for node in nodes for found in [node, *opened(node, 1)]]
