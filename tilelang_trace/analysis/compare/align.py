"""Which passes of two compiles are the same: two forests -> an Alignment.

Kernels are matched first, by name and order. Then passes are matched level by level: what lies in
two matched nodes is matched in sequence (see `sequence`), so that a pass that was inserted, removed
or repeated shifts nothing else. A wrapper that only one side has is looked through. Of the rest, a
pass of the same name elsewhere has moved; one of a similar name, or with the same passes in it,
between the same neighbours may have been renamed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.forest import Forest
from tilelang_trace.analysis.compare.kernel_pairs import ALIKE, pair_kernels
from tilelang_trace.analysis.compare.likeness import core, longest_in_order, similar
from tilelang_trace.analysis.compare.prepared import Prepared, prepare
from tilelang_trace.analysis.compare.sequence import (
    Items,
    align_sequences,
    gaps,
    in_one_order,
)
from tilelang_trace.analysis.compare.wrappers import look_through
from tilelang_trace.trace.model import Ids

Nodes: TypeAlias = npt.NDArray[np.int64]

How: TypeAlias = Literal["matched", "moved", "renamed"]

_PAIRS_LOOKED_AT = 400
"""Pairs of a gap whose names are compared; in a larger gap only equal names without namespace are
found.
"""

_BRANCHES_COMPARED = 10_000
"""Pairs of branches that are compared by what is in them; the others count as different."""

_MATCHED_PER_OFFER = 2
"""So many siblings must be matched for each pair that is offered as renamed by its place alone."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """For each node of base its counterpart in new, or -1, and the other way round."""

    new_of: Ids
    base_of: Ids
    how: dict[int, How]
    """How a node of base was found, where it is not simply `matched`."""


@dataclass(frozen=True, eq=False)
class _Gap:
    """What was left between two neighbours that are matched."""

    base: Nodes
    new: Nodes

    @property
    def on_one_side(self) -> bool:
        """Whether one side has nothing here."""
        return not len(self.base) or not len(self.new)

    def __bool__(self) -> bool:
        return bool(len(self.base) or len(self.new))


@dataclass
class _Level:
    """What was left of the nodes in two matched ones."""

    matched: int = 0
    gaps: list[_Gap] = field(default_factory=list)


def align(base: Forest, new: Forest, *, by_time: bool = True, renames: bool = True) -> Alignment:
    """Match the nodes of two forests.

    With `by_time`, of runs that are the same otherwise those are matched that took about as long;
    that is wrong where one side was cut off by a failure.
    """
    return _Aligner(base, new, by_time, renames).run()


class _Aligner:
    def __init__(self, base: Forest, new: Forest, by_time: bool, renames: bool) -> None:
        apart = bool(base.kinds.are("kernel").any() and new.kinds.are("kernel").any())
        self._base, self._new = prepare(base, new, by_time, apart)
        self._renames = renames
        self._new_of = np.full(len(base), -1, np.int32)
        self._base_of = np.full(len(new), -1, np.int32)
        self._how: dict[int, How] = {}
        self._todo: deque[_Gap] = deque()
        self._levels: list[_Level] = []
        self._alike: dict[tuple[int, int], float] = {}

    def run(self) -> Alignment:
        kernels = pair_kernels(self._base, self._new, self._likeness)
        self._pair_all(*np.array(kernels, np.int64).reshape(-1, 2).T)
        self._todo.append(_Gap(self._base.roots, self._new.roots))
        self._align_levels()
        self._find_moved()
        if self._renames:
            self._offer_by_place()
        return Alignment(self._new_of, self._base_of, self._how)

    def _pair(self, b: int, n: int, how: How) -> None:
        """Match two nodes, and all that is in them if that is the same; unless one of them was
        matched so, with what is around it.
        """
        if self._new_of[b] >= 0 or self._base_of[n] >= 0:
            return
        if how != "matched":
            self._how[b] = how
        self._pair_all(np.array([b]), np.array([n]))

    def _pair_all(self, b: Nodes, n: Nodes) -> None:
        """Match nodes none of which lies in another one, as `_pair` does."""
        free = (self._new_of[b] < 0) & (self._base_of[n] < 0)
        if not free.all():
            b, n = b[free], n[free]
        self._new_of[b], self._base_of[n] = n, b
        base, new = self._base, self._new
        differ = base.content[b] != new.content[n]
        full = (base.size[b] > 1) | (new.size[n] > 1)
        inside = full & ~differ
        if inside.any() and not self._pair_inside(b[inside], n[inside]):
            differ |= inside
        for one, other in zip(b[full & differ].tolist(), n[full & differ].tolist()):
            self._todo.append(_Gap(base.children.of(one), new.children.of(other)))

    def _pair_inside(self, b: Nodes, n: Nodes) -> bool:
        """Match what is in branches that are the same, as far as it is free; False if they are not
        (they are told by hashes).
        """
        base, new = self._base, self._new
        if (base.size[b] != new.size[n]).any():
            return False
        b, n = base.branches(b), new.branches(n)
        if (base.name[b] != new.name[n]).any() or (base.size[b] != new.size[n]).any():
            return False
        free = (self._new_of[b] < 0) & (self._base_of[n] < 0)
        b, n = b[free], n[free]
        self._new_of[b], self._base_of[n] = n, b
        return True

    def _align_levels(self) -> None:
        while self._todo:
            self._align_level(self._todo.popleft())

    def _align_level(self, all_of_it: _Gap) -> None:
        level = _Level()
        self._match_in_sequence(self._left(all_of_it), level)
        if level.gaps:
            self._match_by_name(level.gaps)
        if self._renames:
            for gap in level.gaps:
                self._offer_similar(self._left(gap))
        level.gaps = list(filter(None, map(self._left, level.gaps)))
        if level.gaps:
            self._levels.append(level)

    def _left(self, gap: _Gap) -> _Gap:
        """What of it is not matched yet."""
        return _Gap(
            gap.base[self._new_of[gap.base] < 0],
            gap.new[self._base_of[gap.new] < 0],
        )

    def _match_in_sequence(self, gap: _Gap, level: _Level, between: bool = False) -> None:
        """Match what is in the same order, also through wrappers. A wrapper of a name that the
        other side has elsewhere shows only in the gaps that are left: they are looked at once more.
        """
        if gap.on_one_side:
            if gap:
                level.gaps.append(gap)
            return
        if self._is_plain_level(gap):
            level.matched += len(gap.base)
            self._pair_all(gap.base, gap.new)
            return
        base = look_through(self._base, gap.base, self._new, gap.new)
        new = look_through(self._new, gap.new, self._base, gap.base)
        looked_through = len(base) > len(gap.base) or len(new) > len(gap.new)
        if between and not looked_through:
            level.gaps.append(gap)
            return
        if looked_through:
            base, new = base[self._new_of[base] < 0], new[self._base_of[new] < 0]
        pairs = in_one_order(self._base.name[base], self._new.name[new])
        if pairs is None:
            items = self._base.items(base), self._new.items(new)
            pairs = align_sequences(*items, self._likeness)
        level.matched += len(pairs)
        matched, counterparts = base[pairs[:, 0]], new[pairs[:, 1]]
        if looked_through:
            for b, n in zip(matched.tolist(), counterparts.tolist()):
                self._pair(b, n, "matched")
        else:
            self._pair_all(matched, counterparts)
        for of_base, of_new in gaps(pairs, len(base), len(new)):
            left = _Gap(base[of_base], new[of_new])
            if between:
                level.gaps.append(left)
            else:
                self._match_in_sequence(left, level, between=True)

    def _is_plain_level(self, gap: _Gap) -> bool:
        """Whether both sides have the same names in the same order, and what differs by anything
        else is there once: then there is no better way to match than place by place.
        """
        base, new = self._base, self._new
        if len(gap.base) != len(gap.new):
            return False
        names = base.name[gap.base].tolist()
        if names != new.name[gap.new].tolist():
            return False
        if len(set(names)) == len(names):
            return True
        differ = base.content[gap.base] != new.content[gap.new]
        differ |= base.label[gap.base] != new.label[gap.new]
        count = Counter(names)
        return all(count[names[place]] == 1 for place in np.flatnonzero(differ).tolist())

    def _likeness(self, b: int, n: int) -> float:
        """How much two branches have in common, by the names of the passes in them: from 0 to 1."""
        base, new = self._base, self._new
        contents = int(base.content[b]), int(new.content[n])
        if contents[0] == contents[1]:
            return 1.0
        known = self._alike.get(contents)
        if known is None:
            if (
                len(self._alike) >= _BRANCHES_COMPARED
                or not base.children.count[b]
                or not new.children.count[n]
            ):
                return 0.0
            one, other = base.inside(b), new.inside(n)
            common, all_of_it = sum((one & other).values()), sum(one.values()) + sum(other.values())
            known = self._alike[contents] = 2 * common / all_of_it if common else 0.0
        return known

    def _match_by_name(self, gaps: Sequence[_Gap]) -> None:
        """Match what is at the same level in another order: what is the same all through first."""
        base, new = self._base, self._new
        for base_keys, new_keys in ((base.content, new.content), (base.name, new.name)):
            left = [self._left(gap) for gap in gaps]
            of_base = np.concatenate([gap.base for gap in left])
            of_new = np.concatenate([gap.new for gap in left])
            old = dict(zip(of_base.tolist(), base_keys[of_base].tolist()))
            young = dict(zip(of_new.tolist(), new_keys[of_new].tolist()))
            for b, n in self._of_one_key(old, young):
                self._pair(b, n, "moved")

    def _of_one_key(
        self, of_base: Mapping[int, Hashable], of_new: Mapping[int, Hashable]
    ) -> Iterator[tuple[int, int]]:
        """Nodes with equal keys, in order, as long as they are not matched."""
        places: dict[Hashable, deque[int]] = {}
        for n, key in of_new.items():
            places.setdefault(key, deque()).append(n)
        for b, key in of_base.items():
            at = places.get(key, ())
            while at and self._new_of[b] < 0:
                n = at.popleft()
                if self._base_of[n] < 0:
                    yield b, n

    def _find_moved(self) -> None:
        """Match what has the same name elsewhere in the same kernel.

        That is said of passes whose place is known on both sides, of whole branches, and of passes
        that run only once; a `Simplify` in a branch that was removed has not moved to one that was
        added.
        """
        base, new = self._base, self._new
        old = np.flatnonzero((self._new_of < 0) & base.forest.is_pass)
        young = np.flatnonzero((self._base_of < 0) & new.forest.is_pass)
        if not len(old) or not len(young):
            return
        # The kernel of new that a node of base is in, -1 outside; -2 if new has it not.
        counterpart = self._new_of[base.kernel]
        in_kernel = np.where(base.kernel < 0, -1, np.where(counterpart < 0, -2, counterpart))
        widest = int(max(base.name.max(), new.name.max())) + 1
        keys, new_keys = (
            # Contexts, whose name is below zero, are not looked for.
            (kernel.astype(np.int64) + 2) * widest + np.maximum(side.name, 0)
            for kernel, side in ((in_kernel, base), (new.kernel, new))
        )
        once = _are_once(keys[old], keys[base.forest.is_pass])
        new_once = _are_once(new_keys[young], new_keys[new.forest.is_pass])
        above, new_above = base.forest.pass_above(), new.forest.pass_above()
        is_known = (above < 0) | (self._new_of[above] >= 0)
        is_known_in_new = (new_above < 0) | (self._base_of[new_above] >= 0)
        contents = list(zip(in_kernel[old].tolist(), base.content[old].tolist()))
        new_contents = list(zip(new.kernel[young].tolist(), new.content[young].tolist()))
        stages: list[tuple[dict[int, Hashable], dict[int, Hashable]]] = [
            (
                _keyed(old, contents, base.children.count[old] > 0),
                _keyed(young, new_contents, new.children.count[young] > 0),
            ),
            (
                _keyed(old, keys[old].tolist(), once),
                _keyed(young, new_keys[young].tolist(), new_once),
            ),
            (
                _keyed(old, keys[old].tolist(), is_known[old]),
                _keyed(young, new_keys[young].tolist(), is_known_in_new[young]),
            ),
        ]
        for of_base, of_new in stages:
            for b, n in self._of_one_key(of_base, of_new):
                self._pair(b, n, "moved")
                self._align_levels()

    def _offer_similar(self, gap: _Gap) -> None:
        """Match as renamed what has a similar name, or the same passes in it."""
        base, new = gap.base.tolist(), gap.new.tolist()
        if len(base) * len(new) > _PAIRS_LOOKED_AT:
            numbers: dict[str, int] = {}
            pairs: Iterable[Sequence[int]] = align_sequences(
                _by_core(self._base, base, numbers), _by_core(self._new, new, numbers), _nothing
            ).tolist()
        else:
            pairs = longest_in_order([[self._may_be_one(b, n) for n in new] for b in base])
        for i, j in pairs:
            self._pair(base[i], new[j], "renamed")

    def _may_be_one(self, b: int, n: int) -> bool:
        """Whether two nodes of different names look like one pass."""
        base, new = self._base, self._new
        if not base.forest.is_pass[b] or not new.forest.is_pass[n]:
            return False
        if similar(base.forest.names[b], new.forest.names[n]):
            return True
        return self._likeness(b, n) >= ALIKE

    def _offer_by_place(self) -> None:
        """Match as renamed what stands alone between the same neighbours on both sides, where that
        is nearly all that differs.
        """
        base, new = self._base, self._new
        for level in self._levels:
            left = list(filter(None, map(self._left, level.gaps)))
            alone = all(
                len(gap.base) == len(gap.new) == 1
                and _is_plain(base, gap.base[0])
                and _is_plain(new, gap.new[0])
                for gap in left
            )
            if alone and level.matched >= _MATCHED_PER_OFFER * len(left):
                for gap in left:
                    self._pair(int(gap.base[0]), int(gap.new[0]), "renamed")


def _is_plain(side: Prepared, node: int) -> bool:
    """Whether it is a pass with nothing in it."""
    return bool(side.forest.is_pass[node]) and not side.children.count[node]


def _are_once(keys: Nodes, all_keys: Nodes) -> npt.NDArray[np.bool_]:
    """Which of these keys are there once."""
    ordered = np.sort(all_keys)
    count = np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys)
    once: npt.NDArray[np.bool_] = count == 1
    return once


def _keyed(
    nodes: Nodes, keys: Sequence[Hashable], wanted: npt.NDArray[np.bool_]
) -> dict[int, Hashable]:
    """The keys of the nodes that are wanted."""
    return {node: key for node, key, is_wanted in zip(nodes.tolist(), keys, wanted) if is_wanted}


def _by_core(side: Prepared, nodes: list[int], numbers: dict[str, int]) -> Items:
    """Passes as a sequence that is compared by their names without namespace only."""
    names = [
        numbers.setdefault(core(side.forest.names[node]), len(numbers))
        if side.forest.is_pass[node]
        else -1 - node
        for node in nodes
    ]
    same = np.zeros(len(nodes), np.int32)
    return Items(
        np.array(nodes, np.int64),
        np.array(names, np.int64),
        same,
        same.astype(np.int64),
        same > 0,
        same.astype(np.float64),
    )


def _nothing(of_base: int, of_new: int) -> float:
    return 0.0
