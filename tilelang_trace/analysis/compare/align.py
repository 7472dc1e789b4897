"""Which passes of two compiles are the same: two forests -> an Alignment.

Kernels are matched first, by name and order. Then passes are matched level by level: what lies in
two matched nodes is matched in sequence (see `sequence`), so that a pass that was inserted, removed
or repeated shifts nothing else. A wrapper that only one side has is looked through. Of the rest, a
pass of the same name elsewhere has moved; one of a similar name, or with the same passes in it,
between the same neighbours may have been renamed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from tilelang_trace.analysis.compare.forest import Forest
from tilelang_trace.analysis.compare.kernel_pairs import ALIKE, pair_kernels
from tilelang_trace.analysis.compare.likeness import core, longest_in_order, similar
from tilelang_trace.analysis.compare.prepared import Prepared, Tables
from tilelang_trace.analysis.compare.sequence import Items, align_sequences, in_one_order
from tilelang_trace.analysis.compare.wrappers import look_through

How: TypeAlias = Literal["matched", "moved", "renamed"]

_PAIRS_LOOKED_AT = 400
"""Pairs of a gap whose names are compared; in a larger gap only equal names without namespace are
found.
"""

_BRANCHES_COMPARED = 10_000
"""Pairs of branches that are compared by what is in them; the others count as different."""

_MATCHED_PER_OFFER = 2
"""So many siblings must be matched for each pair that is offered as renamed by its place alone."""


@dataclass(frozen=True)
class Alignment:
    """For each node of base its counterpart in new, or -1, and the other way round."""

    new_of: list[int]
    base_of: list[int]
    how: dict[int, How]
    """How a node of base was found, where it is not simply `matched`."""


@dataclass(frozen=True)
class _Gap:
    """What was left between two neighbours that are matched."""

    base: list[int]
    new: list[int]


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
        tables = Tables()
        apart = "kernel" in base.kinds and "kernel" in new.kinds
        self._base = Prepared(base, tables, by_time, apart)
        self._new = Prepared(new, tables, by_time, apart)
        self._renames = renames
        self._new_of = [-1] * len(base)
        self._base_of = [-1] * len(new)
        self._how: dict[int, How] = {}
        self._todo: deque[tuple[Sequence[int], Sequence[int]]] = deque()
        self._levels: list[_Level] = []
        self._alike: dict[tuple[int, int], float] = {}

    def run(self) -> Alignment:
        for b, n in pair_kernels(self._base, self._new, self._likeness):
            self._pair(b, n, "matched")
        self._todo.append((self._base.roots, self._new.roots))
        self._align_levels()
        self._find_moved()
        if self._renames:
            self._offer_by_place()
        return Alignment(self._new_of, self._base_of, self._how)

    def _pair(self, b: int, n: int, how: How) -> None:
        """Match two nodes, and all that is in them if that is the same; unless one of them was
        matched so, with what is around it.
        """
        base, new = self._base, self._new
        if self._new_of[b] >= 0 or self._base_of[n] >= 0:
            return
        if how != "matched":
            self._how[b] = how
        self._new_of[b], self._base_of[n] = n, b
        if base.content[b] != new.content[n]:
            self._todo.append((base.children[b], new.children[n]))
            return
        inside = list(zip(base.children[b], new.children[n]))
        while inside:
            b, n = inside.pop()
            if self._new_of[b] < 0 and self._base_of[n] < 0:
                self._new_of[b], self._base_of[n] = n, b
            inside += zip(base.children[b], new.children[n])

    def _align_levels(self) -> None:
        while self._todo:
            below_base, below_new = self._todo.popleft()
            self._align_level(_Gap(list(below_base), list(below_new)))

    def _align_level(self, all_of_it: _Gap) -> None:
        level = _Level()
        self._match_in_sequence(self._left(all_of_it), level)
        if level.gaps:
            self._match_by_name(level.gaps)
        if self._renames:
            for gap in level.gaps:
                self._offer_similar(self._left(gap))
        level.gaps = [gap for gap in map(self._left, level.gaps) if gap.base or gap.new]
        if level.gaps:
            self._levels.append(level)

    def _left(self, gap: _Gap) -> _Gap:
        """What of it is not matched yet."""
        return _Gap(
            [b for b in gap.base if self._new_of[b] < 0],
            [n for n in gap.new if self._base_of[n] < 0],
        )

    def _match_in_sequence(self, gap: _Gap, level: _Level, between: bool = False) -> None:
        """Match what is in the same order, also through wrappers. A wrapper of a name that the
        other side has elsewhere shows only in the gaps that are left: they are looked at once more.
        """
        if not gap.base or not gap.new:
            if gap.base or gap.new:
                level.gaps.append(gap)
            return
        base = look_through(self._base, gap.base, self._new, gap.new)
        new = look_through(self._new, gap.new, self._base, gap.base)
        if between and len(base) == len(gap.base) and len(new) == len(gap.new):
            level.gaps.append(gap)
            return
        base = [b for b in base if self._new_of[b] < 0]
        new = [n for n in new if self._base_of[n] < 0]
        pairs = in_one_order([self._base.name[b] for b in base], [self._new.name[n] for n in new])
        if pairs is None:
            pairs = align_sequences(self._base.items(base), self._new.items(new), self._likeness)
        level.matched += len(pairs)
        for i, j in pairs:
            self._pair(base[i], new[j], "matched")
        last_i = last_j = 0
        for i, j in [*pairs, (len(base), len(new))]:
            left = _Gap(base[last_i:i], new[last_j:j])
            last_i, last_j = i + 1, j + 1
            if between:
                if left.base or left.new:
                    level.gaps.append(left)
            else:
                self._match_in_sequence(left, level, between=True)

    def _likeness(self, of_base: int, of_new: int) -> float:
        """How much two branches have in common, by the names of the passes in them: from 0 to 1."""
        if of_base == of_new:
            return 1.0
        known = self._alike.get((of_base, of_new))
        if known is None:
            base, new = self._base, self._new
            if (
                len(self._alike) >= _BRANCHES_COMPARED
                or not base.has_children(of_base)
                or not new.has_children(of_new)
            ):
                return 0.0
            one, other = base.inside(of_base), new.inside(of_new)
            common, all_of_it = sum((one & other).values()), sum(one.values()) + sum(other.values())
            known = self._alike[of_base, of_new] = 2 * common / all_of_it if common else 0.0
        return known

    def _match_by_name(self, gaps: Sequence[_Gap]) -> None:
        """Match what is at the same level in another order: what is the same all through first."""
        base, new = self._base, self._new
        for of_base, of_new in ((base.content, new.content), (base.name, new.name)):
            left = [self._left(gap) for gap in gaps]
            old = {b: of_base[b] for gap in left for b in gap.base}
            for b, n in self._of_one_key(old, {n: of_new[n] for gap in left for n in gap.new}):
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
        old = [b for b, n in enumerate(self._new_of) if n < 0 and base.forest.kinds[b] == "pass"]
        young = [n for n, b in enumerate(self._base_of) if b < 0 and new.forest.kinds[n] == "pass"]
        if not old or not young:
            return

        def in_kernel(b: int) -> int:
            """The kernel of new that a node of base is in, -1 outside; -2 if new has it not."""
            kernel = base.kernel[b]
            return -1 if kernel < 0 else self._new_of[kernel] if self._new_of[kernel] >= 0 else -2

        above_base, above_new = base.forest.pass_above(), new.forest.pass_above()
        count_base = Counter((in_kernel(b), base.name[b]) for b in range(len(base.name)))
        count_new = Counter(zip(new.kernel, new.name))
        stages: list[tuple[dict[int, Hashable], dict[int, Hashable]]] = [
            (
                {b: (in_kernel(b), base.content[b]) for b in old if base.children[b]},
                {n: (new.kernel[n], new.content[n]) for n in young if new.children[n]},
            ),
            (
                {b: key for b in old if count_base[key := (in_kernel(b), base.name[b])] == 1},
                {n: key for n in young if count_new[key := (new.kernel[n], new.name[n])] == 1},
            ),
            (
                {
                    b: (in_kernel(b), base.name[b])
                    for b in old
                    if above_base[b] < 0 or self._new_of[above_base[b]] >= 0
                },
                {
                    n: (new.kernel[n], new.name[n])
                    for n in young
                    if above_new[n] < 0 or self._base_of[above_new[n]] >= 0
                },
            ),
        ]
        for of_base, of_new in stages:
            for b, n in self._of_one_key(of_base, of_new):
                self._pair(b, n, "moved")
                self._align_levels()

    def _offer_similar(self, gap: _Gap) -> None:
        """Match as renamed what has a similar name, or the same passes in it."""
        base, new = gap.base, gap.new
        if len(base) * len(new) > _PAIRS_LOOKED_AT:
            numbers: dict[str, int] = {}
            pairs = align_sequences(
                _by_core(self._base, base, numbers), _by_core(self._new, new, numbers), _nothing
            )
        else:
            pairs = longest_in_order([[self._may_be_one(b, n) for n in new] for b in base])
        for i, j in pairs:
            self._pair(base[i], new[j], "renamed")

    def _may_be_one(self, b: int, n: int) -> bool:
        """Whether two nodes of different names look like one pass."""
        base, new = self._base, self._new
        if not base.forest.kinds[b] == new.forest.kinds[n] == "pass":
            return False
        if similar(base.forest.names[b], new.forest.names[n]):
            return True
        return self._likeness(base.content[b], new.content[n]) >= ALIKE

    def _offer_by_place(self) -> None:
        """Match as renamed what stands alone between the same neighbours on both sides, where that
        is nearly all that differs.
        """
        base, new = self._base, self._new
        for level in self._levels:
            gaps = [gap for gap in map(self._left, level.gaps) if gap.base or gap.new]
            alone = all(
                len(gap.base) == len(gap.new) == 1
                and not base.children[gap.base[0]]
                and not new.children[gap.new[0]]
                and base.forest.kinds[gap.base[0]] == new.forest.kinds[gap.new[0]] == "pass"
                for gap in gaps
            )
            if alone and level.matched >= _MATCHED_PER_OFFER * len(gaps):
                for gap in gaps:
                    self._pair(gap.base[0], gap.new[0], "renamed")


def _by_core(side: Prepared, nodes: list[int], numbers: dict[str, int]) -> Items:
    """Passes as a sequence that is compared by their names without namespace only."""
    names = [
        numbers.setdefault(core(side.forest.names[node]), len(numbers))
        if side.forest.kinds[node] == "pass"
        else -1 - node
        for node in nodes
    ]
    same = np.zeros(len(nodes), np.int32)
    return Items(np.array(names, np.int32), same, same, same.astype(np.float64))


def _nothing(of_base: int, of_new: int) -> float:
    return 0.0
