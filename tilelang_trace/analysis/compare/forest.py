"""What an alignment looks at: the passes of a compile as trees, apart from their Trace.

A compile may have a million passes, so a forest is columns (see `texts`), and what walks it node by
node does that only where two forests differ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.ancestry import nearest_above
from tilelang_trace.analysis.compare.texts import Texts
from tilelang_trace.trace.model import Ids, Ints, Mask

Kind: TypeAlias = Literal["pass", "context", "kernel"]


class Forest:
    """Trees of passes, and of the contexts and kernels around them; one entry a node in each
    column.

    A parent stands before its children and these in the order in which they ran (preorder).
    """

    def __init__(
        self,
        names: Sequence[str],
        parents: Sequence[int] | Ints | Ids,
        kinds: Sequence[Kind] | Texts = (),
        labels: Sequence[str] = (),
        times: Sequence[int] | Ints = (),
        begins: Sequence[int] | Ints = (),
    ) -> None:
        count = len(names)
        same = np.zeros(count, np.int32)
        self.names = Texts.of(names)
        self.parents: Ids = np.asarray(parents, np.int32)
        """The node around each, -1 at the top."""
        self.kinds = Texts.of(kinds) if len(kinds) else Texts(same, ("pass",))
        """The `Kind` of each; all are passes if not given."""
        self.labels = Texts.of(labels) if len(labels) else Texts(same, ("",))
        """What tells nodes of one name apart: the phase of a pass, the configuration of a kernel.
        """
        self.times: Ints = np.asarray(times if len(times) else same, np.int64)
        """How long each took, ns; all the same if not given."""
        self.begins: Ints = np.asarray(begins if len(begins) else np.arange(count), np.int64)
        """When each began; in the order of the list if not given."""

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def children(self) -> Children:
        """The children of each node."""
        return Children(self.parents)

    @cached_property
    def is_pass(self) -> Mask:
        """Which nodes are passes."""
        return self.kinds.are("pass")

    def pass_above(self) -> Ids:
        """For each node the nearest pass around it, -1 if there is none."""
        return nearest_above(self.parents, self.is_pass)

    def outermost_kernels(self) -> Ids:
        """For each node the outermost kernel that it is or lies in, -1 if there is none."""
        kernels = self.kinds.are("kernel")
        outermost = kernels & (nearest_above(self.parents, kernels) < 0)
        return itself_or_above(self.parents, outermost)


def itself_or_above(parents: Ids, wanted: Mask) -> Ids:
    """For each node itself if it is wanted, else the nearest wanted one around it, or -1."""
    found: Ids = np.where(wanted, np.arange(len(parents)), nearest_above(parents, wanted))
    return found.astype(np.int32)


class Children:
    """The children of each node, in the order of the nodes."""

    def __init__(self, parents: Ids) -> None:
        self.siblings: npt.NDArray[np.int64] = np.argsort(parents, kind="stable")
        """All nodes, those of one parent together, those without one first."""
        self.count: Ints = np.bincount(parents + 1, minlength=len(parents) + 1)[1:]
        """How many each has."""
        first = len(parents) - int(self.count.sum())
        self._starts = np.concatenate([[first], first + np.cumsum(self.count)])
        self.roots: npt.NDArray[np.int64] = self.siblings[:first]

    def of(self, node: int) -> npt.NDArray[np.int64]:
        """The children of a node."""
        return self.siblings[self._starts[node] : self._starts[node + 1]]

    def __getitem__(self, node: int) -> list[int]:
        children: list[int] = self.of(node).tolist()
        return children

    def levels(self) -> list[npt.NDArray[np.int64]]:
        """The nodes by how deep they lie: the roots, their children, and so on."""
        found = []
        level = self.roots
        while len(level):
            found.append(level)
            level = self.siblings[ranges(self._starts[level], self.count[level])]
        return found

    def branch_sizes(self, parents: Ids) -> Ints:
        """How many nodes each branch has, with the one that it hangs on."""
        size = np.ones(len(parents), np.int64)
        for level in reversed(self.levels()[1:]):
            np.add.at(size, parents[level], size[level])
        return size


def ranges(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, so many as each count says, one range behind the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(int(ends[-1]) if len(ends) else 0)


@dataclass(frozen=True, eq=False)
class Merged:
    """Two forests in one: the nodes of the first in its order, and those that only the second has,
    each where it stands there.
    """

    first: Ints
    """The node of the first forest, -1 for one that only the second has."""
    second: Ints
    parents: Ints


def merge(
    first: Forest,
    second: Forest,
    first_of: Sequence[int] | Ids,
    moved: Collection[int] = (),
) -> Merged:
    """Put two forests into one; `first_of` is the counterpart of each node of the second, or -1.

    A node that only the second has goes behind the sibling that it follows there, wherever that one
    is, unless that is one of those that have `moved`.
    """
    first_of = np.asarray(first_of, np.int32)
    count = len(first)
    both = np.flatnonzero(first_of >= 0)
    second_of = np.full(count, -1, np.int64)
    second_of[first_of[both]] = both
    if len(both) == len(second):
        return Merged(np.arange(count), second_of, first.parents.astype(np.int64))

    found = _Places(first, second, first_of, moved)
    own = np.arange(count)
    before = np.array(found.before, np.int64)
    # Of a node of the first forest as many of the second's stand in front as go before it, or
    # before an earlier one.
    place = own + np.searchsorted(before, own, "right")
    place_of_second = np.full(len(second), -1, np.int64)
    place_of_second[found.nodes] = before + np.arange(len(before))
    around = np.array(found.parents, np.int64)
    inner = around >= count
    parents = np.full(len(around), -1, np.int64)
    parents[inner] = place_of_second[around[inner] - count]
    known = ~inner & (around >= 0)
    parents[known] = place[around[known]]
    above = np.where(first.parents >= 0, place[first.parents], -1) if count else own
    return Merged(
        np.insert(own, before, -1),
        np.insert(second_of, before, np.array(found.nodes, np.int64)),
        np.insert(above, before, parents),
    )


class _Places:
    """Where the nodes that only the second forest has go in the first. Nodes are told apart by
    numbers: those of the second come behind those of the first.
    """

    def __init__(
        self, first: Forest, second: Forest, first_of: Ids, moved: Collection[int]
    ) -> None:
        self._count = count = len(first)
        self.nodes: list[int] = []
        """Nodes of the second forest in the order of the result."""
        self.before: list[int] = []
        """Before which node of the first forest each goes."""
        self.parents: list[int] = []
        self._behind: dict[int, int] = {}
        """What goes behind a node; and, where there is no sibling to go behind, below one."""
        self._foremost: dict[int, int] = {}
        alone = first_of < 0
        number = np.where(alone, count + np.arange(len(second)), first_of)
        siblings = second.children.siblings
        # The last sibling before each that is a place to go behind.
        is_place = np.ones(len(second), np.bool_)
        is_place[np.fromiter(moved, np.int64, len(moved))] = False
        is_place[alone] = True
        at = np.maximum.accumulate(np.where(is_place[siblings], np.arange(len(siblings)), -1))
        last = np.concatenate([[-1], at[:-1]])
        for child in np.flatnonzero(alone[siblings]).tolist():
            node, behind = int(siblings[child]), int(last[child])
            parent = int(second.parents[node])
            if behind >= 0 and second.parents[siblings[behind]] == parent:
                self._behind[int(number[siblings[behind]])] = count + node
            else:
                self._foremost[int(number[parent]) if parent >= 0 else -1] = count + node

        size = first.children.branch_sizes(first.parents)
        depth = np.zeros(count, np.int64)
        for level, nodes in enumerate(first.children.levels()):
            depth[nodes] = level
        anchors = [
            (0 if node < 0 else node + 1, 0 if node < 0 else -int(depth[node]), 0, node)
            for node in self._foremost
            if node < count
        ]
        anchors += [
            (node + int(size[node]), -int(depth[node]), 1, node)
            for node in self._behind
            if node < count
        ]
        # At one place what ends the deeper branch comes first, and what is in it before that.
        for before, _, behind, node in sorted(anchors):
            if behind:
                self._walk(self._behind[node], int(first.parents[node]), before)
            else:
                self._walk(self._foremost[node], node, before)

    def _walk(self, node: int, parent: int, before: int) -> None:
        stack = [(node, parent)]
        while stack:
            node, parent = stack.pop()
            self.nodes.append(node - self._count)
            self.before.append(before)
            self.parents.append(parent)
            if (behind := self._behind.get(node)) is not None:
                stack.append((behind, parent))
            if (inside := self._foremost.get(node)) is not None:
                stack.append((inside, node))
