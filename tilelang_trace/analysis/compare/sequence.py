"""Which of two sequences' items are the same: as many as there can be, in the same order.

Names must be equal, and much of what is inside. Among equally good ways the one with more equal
labels, contents and about equal times is taken. The best way is found by dynamic programming where
the sequences, without the ends that they have in common, are short. Longer ones are cut into
pieces: by the shortest edit (Myers) if there is a short one, else at names that occur once
(patience), or at the first, second, ... occurrence of each name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.columns import numbered
from tilelang_trace.trace.model import Ids, Ints, Mask

Pairs = npt.NDArray[np.int64]
"""Shape (n, 2): places in one sequence and in the other."""

CELLS = 1_000_000
"""Items of one sequence times items of the other up to which the best way is looked for."""

_LONGEST_STRIP_BACK = 500
"""Items of a common beginning or end that are looked at again, as they may match others better."""

_LONGEST_EDIT = 300
_SHORT = 2000
_ROUNDS = 6

# A sum of weights is compared digit by digit: matches first, then labels, contents, times.
# At most sqrt(CELLS) = 1000 items match in one search, which leaves each digit room for the sum.
_MATCH, _LABEL, _CONTENT, _TIME = 1 << 34, 1 << 24, 1 << 14, 1
_BY_NAME, _BY_CONTENT = 2, 6
"""What a match counts by its name, and by what is inside: two branches of one name that have
nothing in common are hardly a match.
"""
_CLOSEST = 15


@dataclass(frozen=True, eq=False)
class Items:
    """A sequence, a column for each thing that items are compared by; equal numbers are equal."""

    node: Ints
    """Which node of the forest each is."""
    name: Ints
    label: Ids
    content: Ints
    """A number for what it is and has inside; two of one content are alike all through."""
    has_inside: Mask
    doublings: npt.NDArray[np.float64]
    """The logarithm of the time to the base 2."""

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, which: slice | Ids | Mask | npt.NDArray[np.int64]) -> Items:
        return Items(
            self.node[which],
            self.name[which],
            self.label[which],
            self.content[which],
            self.has_inside[which],
            self.doublings[which],
        )


Likeness = Callable[[int, int], float]
"""How much two nodes have in common by what is in them, from 0 to 1."""


def align_sequences(base: Items, new: Items, likeness: Likeness) -> Pairs:
    """The pairs of items (positions) that are the same, in order."""
    if len(base) == len(new) and _equal(base, new).all():
        return _diagonal(len(base))
    return _align(base, new, likeness, 0)


def in_one_order(base: Ints, new: Ints) -> Pairs | None:
    """The pairs of equal names, if none of them occurs twice and their order is the same."""
    at_base, at_new = _places_of_common(base, new)
    names = base[at_base]
    if len(names) != len(at_new) or (names != new[at_new]).any():
        return None
    if len(set(names.tolist())) < len(names):
        return None
    return np.stack([at_base, at_new], axis=1)


def _places_of_common(base: Ints, new: Ints) -> tuple[Ints, Ints]:
    """Where each side has names that the other has too."""
    if len(base) + len(new) > _SHORT:
        return np.flatnonzero(np.isin(base, new)), np.flatnonzero(np.isin(new, base))
    # Most sequences are short: what takes NumPy 100 us takes a few this way.
    names, its_names = base.tolist(), new.tolist()
    common = set(names) & set(its_names)
    found = ([i for i, name in enumerate(of) if name in common] for of in (names, its_names))
    at_base, at_new = (np.array(places, np.int64) for places in found)
    return at_base, at_new


def gaps(pairs: Pairs, base: int, new: int) -> Iterator[tuple[slice, slice]]:
    """What lies before, between and behind pairs in order, of sequences of these lengths; where
    there is anything.
    """
    ends = np.concatenate([pairs, [(base, new)]])
    starts = np.concatenate([[(0, 0)], pairs + 1])
    for at in np.flatnonzero((starts < ends).any(axis=1)).tolist():
        yield slice(starts[at, 0], ends[at, 0]), slice(starts[at, 1], ends[at, 1])


def _diagonal(count: int, i: int = 0, j: int = 0) -> Pairs:
    """So many pairs of neighbours, from these places on."""
    return np.stack([np.arange(i, i + count), np.arange(j, j + count)], axis=1)


def _pairs(found: Iterable[tuple[int, int]]) -> Pairs:
    return np.array([*found], np.int64).reshape(-1, 2)


def _align(base: Items, new: Items, likeness: Likeness, round_: int) -> Pairs:
    of_base, of_new = _places_of_common(base.name, new.name)
    base, new = base[of_base], new[of_new]
    front, back = _common_ends(base, new)
    inner_base = base[front : len(base) - back]
    inner_new = new[front : len(new) - back]

    pairs = [_diagonal(front)]
    if len(inner_base) and len(inner_new):
        pairs.append(_inner(inner_base, inner_new, likeness, round_) + front)
    pairs.append(_diagonal(back, len(base) - back, len(new) - back))
    i, j = np.concatenate(pairs).T
    return np.stack([of_base[i], of_new[j]], axis=1)


def _inner(base: Items, new: Items, likeness: Likeness, round_: int) -> Pairs:
    if len(base) * len(new) <= CELLS:
        return _best(base, new, likeness)
    if round_ >= _ROUNDS:
        return _diagonal(0)
    anchors = shortest_edit(*_as_numbers(base, new)) if round_ == 0 else None
    if anchors is None or not len(anchors):
        anchors = _anchors(base.name.tolist(), new.name.tolist())
    pairs = [anchors]
    for of_base, of_new in gaps(anchors, len(base), len(new)):
        if of_base.start < of_base.stop and of_new.start < of_new.stop:
            found = _align(base[of_base], new[of_new], likeness, round_ + 1)
            pairs.append(found + np.array([of_base.start, of_new.start]))
    all_of_them = np.concatenate(pairs)
    return all_of_them[np.argsort(all_of_them[:, 0])]


def _equal(base: Items, new: Items) -> Mask:
    mask: Mask = (base.name == new.name) & (base.label == new.label) & (base.content == new.content)
    return mask


def _common_ends(base: Items, new: Items) -> tuple[int, int]:
    """How many items at the front and at the back are the same, and can be nothing else: one that
    is there twice (say, the last of 40, where the other side has 39) may match another one better.
    """
    count = min(len(base), len(new))
    same = _equal(base[:count], new[:count])
    front = count if same.all() else int(np.argmin(same))
    rest = count - front
    same = _equal(base[len(base) - rest :], new[len(new) - rest :])[::-1]
    back = rest if same.all() else int(np.argmin(same))
    if front == len(base) == len(new):
        return front, back
    inner = {
        *base.name[front : len(base) - back].tolist(),
        *new.name[front : len(new) - back].tolist(),
    }
    for _ in range(_LONGEST_STRIP_BACK):
        if front and int(base.name[front - 1]) in inner:
            front -= 1
        elif back and int(base.name[len(base) - back]) in inner:
            back -= 1
        else:
            break
    return front, back


def _best(base: Items, new: Items, likeness: Likeness) -> Pairs:
    """The best way to match. Of equally good ones the one that matches early items."""
    weight = _weights(base, new, likeness)
    score = np.zeros((len(base) + 1, len(new) + 1), np.int64)
    for i in range(len(base)):
        row = score[i].copy()
        np.maximum(row[1:], score[i, :-1] + weight[i], out=row[1:])
        np.maximum.accumulate(row, out=score[i + 1])

    pairs: list[tuple[int, int]] = []
    i, j = len(base), len(new)
    while i and j:
        here = score[i, j]
        if here == score[i - 1, j]:
            i -= 1
        elif here == score[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return _pairs(pairs[::-1])


def _weights(base: Items, new: Items, likeness: Likeness) -> npt.NDArray[np.int64]:
    """What it counts to match each item of base with each of new; 0 if their names differ."""
    same_content = base.content[:, None] == new.content
    weight = _LABEL * (base.label[:, None] == new.label) + _CONTENT * same_content
    apart = np.abs(base.doublings[:, None] - new.doublings).astype(np.int64)
    weight += _TIME * np.maximum(_CLOSEST - apart, 0)
    same_name = base.name[:, None] == new.name
    alike = same_content.astype(np.float64)
    open_ = same_name & ~same_content & base.has_inside[:, None] & new.has_inside
    if open_.any():
        _fill_in(alike, open_, base, new, likeness)
    weight += _MATCH * (_BY_NAME + np.ceil(_BY_CONTENT * alike).astype(np.int64))
    only_these: npt.NDArray[np.int64] = np.where(same_name, weight, 0)
    return only_these


def _fill_in(
    alike: npt.NDArray[np.float64], wanted: Mask, base: Items, new: Items, likeness: Likeness
) -> None:
    """How much the wanted pairs have in common, looked up once for each two contents."""
    (_, first, of_base), (_, its_first, of_new) = (
        np.unique(items.content, return_index=True, return_inverse=True) for items in (base, new)
    )
    known = np.zeros((len(first), len(its_first)))
    is_wanted = np.zeros(known.shape, np.bool_)
    i, j = np.nonzero(wanted)
    is_wanted[of_base[i], of_new[j]] = True
    for k, m in np.argwhere(is_wanted).tolist():
        known[k, m] = likeness(int(base.node[first[k]]), int(new.node[its_first[m]]))
    alike[i, j] = known[of_base[i], of_new[j]]


def _as_numbers(base: Items, new: Items) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The items of both as one number each; equal ones are the same all through."""
    _, numbers = np.unique(np.concatenate([base.content, new.content]), return_inverse=True)
    label = np.concatenate([base.label, new.label]).astype(np.int64)
    # Content tells the name too.
    _, numbers = numbered(numbers.reshape(-1) * (int(label.max(initial=0)) + 1) + label)
    return numbers[: len(base)], numbers[len(base) :]


def shortest_edit(base: npt.NDArray[Any], new: npt.NDArray[Any]) -> Pairs | None:
    """The items that stay in the shortest edit from base to new; None if it is a long one.

    Myers, An O(ND) Difference Algorithm and Its Variations (1986).
    """
    ends = {1: 0}
    """How far one comes in base on each diagonal (place in base less place in new)."""
    trail: list[dict[int, int]] = []
    for edits in range(_LONGEST_EDIT + 1):
        trail.append(dict(ends))
        for diagonal in range(-edits, edits + 1, 2):
            came_from = _came_from(ends, edits, diagonal)
            x = ends[came_from] + (came_from < diagonal)
            x += _run(base, new, x, x - diagonal)
            ends[diagonal] = x
            if x >= len(base) and x - diagonal >= len(new):
                return _walk_back(trail, len(base), len(new))
    return None


def _came_from(ends: dict[int, int], edits: int, diagonal: int) -> int:
    """The neighbour from which one comes furthest: the upper one, by an item that only new has, or
    the lower one, by one that only base has.
    """
    if diagonal == -edits or (diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1]):
        return diagonal + 1
    return diagonal - 1


def _run(base: npt.NDArray[Any], new: npt.NDArray[Any], x: int, y: int) -> int:
    """How many items are equal from here on."""
    start, step = x, 16
    while x < len(base) and y < len(new):
        a, b = base[x : x + step], new[y : y + step]
        count = min(len(a), len(b))
        differ = a[:count] != b[:count]
        if differ.any():
            return x + int(np.argmax(differ)) - start
        x, y, step = x + count, y + count, step * 4
    return x - start


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Pairs:
    runs = []
    for edits in range(len(trail) - 1, -1, -1):
        diagonal = x - y
        came_from = _came_from(trail[edits], edits, diagonal)
        before = trail[edits][came_from]
        start = before + (came_from < diagonal)
        runs.append(_diagonal(x - start, start, start - diagonal))
        x, y = before, before - came_from
    return np.concatenate(runs[::-1])


def _anchors(base: list[int], new: list[int]) -> Pairs:
    """The longest sequence of pairs in order, of names that are on both sides once; if there are
    none, of the first occurrences of each name, the second ones and so on.
    """
    counted_base, counted_new = dict(_occurrences(base)), dict(_occurrences(new))
    again = {name for name, count in (*counted_base, *counted_new) if count}
    found = [(i, counted_new[key]) for key, i in counted_base.items() if key in counted_new]
    once = [(i, j) for i, j in found if base[i] not in again]
    return _longest_in_order(sorted(once or found))


def _occurrences(names: list[int]) -> Iterator[tuple[tuple[int, int], int]]:
    seen: dict[int, int] = {}
    for place, name in enumerate(names):
        count = seen.get(name, 0)
        seen[name] = count + 1
        yield (name, count), place


def _longest_in_order(pairs: list[tuple[int, int]]) -> Pairs:
    """The longest part of these pairs, which grow in their first place, that grows in the second
    too (patience sorting).
    """
    smallest: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(smallest, j)
        before.append(last[length - 1] if length else -1)
        smallest[length : length + 1] = [j]
        last[length : length + 1] = [index]
    index = last[-1] if last else -1
    found = []
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return _pairs(found[::-1])
