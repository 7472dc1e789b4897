"""Forests as numbers: equal names, labels and branches of two forests have equal ones."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilelang_trace.analysis.compare.forest import Forest
from tilelang_trace.analysis.compare.sequence import Items

_NOISE_NS = 10_000
"""Times differ by so much whatever one does: of runs much shorter than this none is the slower."""

_LOOKED_AT = 1000
"""Passes of a branch, from the top, by which it is compared with others."""


class Tables:
    """The numbers of names, labels and contents."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, thing: Any) -> int:
        """The number of this thing."""
        return self._numbers.setdefault(thing, len(self._numbers))


class Prepared:
    """A forest with its numbers.

    If `apart`, outermost kernels are no children of what is around them: they are matched before
    all else.
    """

    def __init__(self, forest: Forest, tables: Tables, by_time: bool, apart: bool) -> None:
        self.forest = forest
        self.kernel = forest.outermost_kernels() if apart else [-1] * len(forest)
        """The outermost kernel that each node is or lies in, -1 if there is none."""
        self.kernels: list[int] = []
        """The outermost kernels, by begin."""
        self.children: Sequence[Sequence[int]] = forest.children
        self.roots: Sequence[int] = forest.roots
        if apart:
            outer = {node for node, kernel in enumerate(self.kernel) if node == kernel}
            self.kernels = sorted(outer, key=lambda node: (forest.begins[node], node))
            self.children = [[c for c in below if c not in outer] for below in forest.children]
            self.roots = [node for node in forest.roots if node not in outer]
        self.name = [
            tables.number((kind, name if kind != "context" else ""))
            for kind, name in zip(forest.kinds, forest.names)
        ]
        self.content = [0] * len(forest)
        """What a node is with all that is in it, without labels."""
        self._example: dict[int, int] = {}
        for node in range(len(forest) - 1, -1, -1):
            below = tuple(self.content[child] for child in self.children[node])
            number = tables.number((self.name[node], below))
            self.content[node] = number
            self._example[number] = node
        times = np.array(forest.times if by_time else [0] * len(forest), np.float64)
        self._columns = Items(
            np.array(self.name, np.int32),
            np.array([tables.number(("label", label)) for label in forest.labels], np.int32),
            np.array(self.content, np.int32),
            np.log2(times + _NOISE_NS),
        )
        self._inside: dict[int, Counter[int]] = {}

    def items(self, nodes: Sequence[int]) -> Items:
        """These nodes as a sequence."""
        return self._columns[np.array(nodes, np.int64)]

    def inside(self, content: int) -> Counter[int]:
        """The names of the passes in all nodes of this content, and how often each is there."""
        found = self._inside.get(content)
        if found is None:
            found = self._inside[content] = Counter()
            coming = deque(self.children[self._example[content]])
            for _ in range(_LOOKED_AT):
                if not coming:
                    break
                node = coming.popleft()
                coming.extend(self.children[node])
                if self.forest.kinds[node] == "pass":
                    found[self.name[node]] += 1
        return found

    def has_children(self, content: int) -> bool:
        """Whether nodes of this content have anything in them."""
        return bool(self.children[self._example[content]])
