"""Two forests as numbers: equal names, labels and branches of both have equal ones."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.forest import Children, Forest, ranges
from tilelang_trace.analysis.compare.sequence import Items
from tilelang_trace.analysis.compare.texts import in_common
from tilelang_trace.trace.model import Ids, Ints

_NOISE_NS = 10_000
"""Times differ by so much whatever one does: of runs much shorter than this none is the slower."""

_LOOKED_AT = 1000
"""Passes of a branch, from the top, by which it is compared with others."""

_BASE = np.uint64(0x9E3779B97F4A7C13)
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))


def prepare(base: Forest, new: Forest, by_time: bool, apart: bool) -> tuple[Prepared, Prepared]:
    """Both forests. If `apart`, outermost kernels are no children of what is around them: they are
    matched before all else.
    """
    names, _ = in_common(base.names, new.names)
    labels, _ = in_common(base.labels, new.labels)
    found = [Prepared(*of_side, by_time, apart) for of_side in zip((base, new), names, labels)]
    return found[0], found[1]


class Prepared:
    """A forest with its numbers; see `prepare`."""

    def __init__(self, forest: Forest, names: Ids, labels: Ids, by_time: bool, apart: bool) -> None:
        count = len(forest)
        self.forest = forest
        self.kernel: Ids = forest.outermost_kernels() if apart else np.full(count, -1, np.int32)
        """The outermost kernel that each node is or lies in, -1 if there is none."""
        outer = np.flatnonzero(self.kernel == np.arange(count))
        self.kernels: list[int] = outer[np.lexsort((outer, forest.begins[outer]))].tolist()
        """The outermost kernels, by begin."""
        parents = forest.parents
        self.children = forest.children
        self.roots: npt.NDArray[np.int64] = self.children.roots
        # Branches, without the kernels that stand apart, are runs of nodes in this order.
        self.order = np.argsort(self.kernel >= 0, kind="stable")
        if len(outer):
            parents = parents.copy()
            parents[outer] = -1
            self.children = Children(parents)
            self.roots = self.children.roots[self.kernel[self.children.roots] < 0]
        self.place: Ints = np.empty(count, np.int64)
        """Where in that order each node is."""
        self.place[self.order] = np.arange(count)
        self.size = self.children.branch_sizes(parents)
        """How many nodes its branch has."""
        is_context = forest.kinds.are("context")
        self.name: Ints = 3 * np.where(is_context, -1, names).astype(np.int64)
        self.name += 2 * forest.kinds.are("kernel") + is_context
        self.label = labels
        self.content = self._contents()
        """What a node is with all that is in it, without labels."""
        times = forest.times if by_time else np.zeros(count, np.int64)
        self._columns = Items(
            np.arange(count),
            self.name,
            labels,
            self.content,
            self.children.count > 0,
            np.log2(times.astype(np.float64) + _NOISE_NS),
        )
        self._inside: dict[int, Counter[int]] = {}

    def _contents(self) -> Ints:
        """A hash of the branch of each node.

        A branch is told by the names and sizes of its nodes in order. They are the coefficients of
        a polynomial, modulo 2**64, so that the sums up to each place give all branches at once.
        """
        values = _mixed(self.name * 2**32 + self.size)[self.order]
        powers = np.cumprod(np.full(len(values), _BASE))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values * powers)])
        back = np.cumprod(np.full(len(values), _INVERSE))
        hashes = (sums[self.place + self.size] - sums[self.place]) * back[self.place]
        contents: Ints = hashes.view(np.int64)
        return contents

    def items(self, nodes: Sequence[int] | npt.NDArray[np.int64]) -> Items:
        """These nodes as a sequence."""
        return self._columns[np.asarray(nodes, np.int64)]

    def branches(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The nodes of all these branches."""
        return self.order[ranges(self.place[nodes], self.size[nodes])]

    def inside(self, node: int) -> Counter[int]:
        """The names of the passes in a node, and how often each is there."""
        content = int(self.content[node])
        found = self._inside.get(content)
        if found is None:
            found = self._inside[content] = Counter()
            coming: deque[Any] = deque(self.children[node])
            for _ in range(_LOOKED_AT):
                if not coming:
                    break
                node = coming.popleft()
                coming.extend(self.children[node])
                if self.forest.is_pass[node]:
                    found[int(self.name[node])] += 1
        return found


def _mixed(values: Ints) -> npt.NDArray[np.uint64]:
    """Numbers of 64 bits in which each bit hangs on all of the value (the end of splitmix64)."""
    mixed = values.view(np.uint64) + _BASE
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
