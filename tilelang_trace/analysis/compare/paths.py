"""Where passes stand, by the names of those around them: a number for each different path.

A path in words has the last `NEAREST` names, behind an ellipsis where there are more: in a tree
that is a hundred thousand levels deep, all of them would be as many as the square of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang_trace.analysis.columns import numbered
from tilelang_trace.analysis.compare.forest import Children, Forest
from tilelang_trace.analysis.compare.texts import Texts, in_common
from tilelang_trace.analysis.runs import ELLIPSIS, NEAREST
from tilelang_trace.trace.model import Ids, Ints


class Paths:
    """Paths by number. A path is the number of the one around it, which is lower, and a name."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        """The path around each, -1 at the top."""
        self.name: list[int] = []
        self._strings: list[str] = []
        self._string_of: dict[str, int] = {}
        self._known: dict[tuple[str, ...], int] = {}

    def __getitem__(self, number: int) -> tuple[str, ...]:
        names: list[str] = []
        while number >= 0 and len(names) <= NEAREST:
            names.append(self._strings[self.name[number]])
            number = self.parent[number]
        more = number >= 0
        return (*[ELLIPSIS] * more, *reversed(names))

    def spans(self) -> tuple[Ints, Ints]:
        """For each path its place in a walk through all of them from the top, and the first place
        behind all that begin with it.
        """
        parents = np.array(self.parent, np.int32)
        children = Children(parents)
        size = children.branch_sizes(parents)
        first = np.zeros(len(parents), np.int64)
        for level in children.levels():
            around = parents[level]
            before = np.cumsum(size[level]) - size[level]
            begins = np.flatnonzero(np.diff(around, prepend=-2))
            counts = np.diff(begins, append=len(level))
            top = np.where(around >= 0, first[around] + 1, 0)
            first[level] = top + before - np.repeat(before[begins], counts)
        return first, first + size

    def strings_of(self, paths: Ids) -> list[str]:
        """The names in these paths, each once."""
        seen: set[int] = set()
        for path in np.unique(paths).tolist():
            while path >= 0 and path not in seen:
                seen.add(path)
                path = self.parent[path]
        return [self._strings[name] for name in sorted({self.name[path] for path in seen})]

    def names(self, paths: Ids) -> Texts:
        """The last name of each of these paths."""
        return Texts(np.array(self.name, np.int32)[paths], self._strings)

    def number(self, path: tuple[str, ...]) -> int:
        """The number of this path, a new one if there is none."""
        if not path:
            return -1
        known = self._known.get(path)
        if known is None:
            parent = self.number(path[:-1])
            known = self._known[path] = len(self.parent)
            self.parent.append(parent)
            if path[-1] not in self._string_of:
                self._string_of[path[-1]] = len(self._strings)
                self._strings.append(path[-1])
            self.name.append(self._string_of[path[-1]])
        return known

    @classmethod
    def of(cls, forests: Sequence[Forest]) -> tuple[Paths, list[Ids]]:
        """The paths of forests, and for each node of each forest its own; that of a node which is
        no pass is the one around it.
        """
        made = cls()
        ids, made._strings = in_common(*(forest.names for forest in forests))
        above = []
        first = 0
        for forest in forests:
            around = forest.pass_above()
            above.append(np.where(around >= 0, around + first, -1))
            first += len(forest)
        parents = np.concatenate(above).astype(np.int32)
        name = np.concatenate(ids).astype(np.int64)
        is_pass = np.concatenate([forest.is_pass for forest in forests])
        path = np.full(len(name) + 1, -1, np.int32)
        for level in Children(parents).levels():
            level = level[is_pass[level]]
            around_it = path[parents[level]].astype(np.int64) + 1
            keys, places = numbered(around_it * len(made._strings) + name[level])
            path[level] = len(made.parent) + places
            made.parent += (keys // len(made._strings) - 1).tolist()
            made.name += (keys % len(made._strings)).tolist()
        others = np.flatnonzero(~is_pass)
        path[others] = path[parents[others]]
        return made, np.split(path[:-1], np.cumsum([len(forest) for forest in forests])[:-1])
