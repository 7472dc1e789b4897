"""Where passes stand, by the names of those around them: a number for each different path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang_trace.analysis.columns import numbered
from tilelang_trace.analysis.compare.forest import Children, Forest
from tilelang_trace.analysis.compare.texts import Texts, in_common
from tilelang_trace.trace.model import Ids


class Paths:
    """Paths by number. A path is the number of the one around it, and a name."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        """The path around each, -1 at the top."""
        self.name: list[int] = []
        self._strings: list[str] = []
        self._string_of: dict[str, int] = {}
        self._known: dict[tuple[str, ...], int] = {}

    def __getitem__(self, number: int) -> tuple[str, ...]:
        names = []
        while number >= 0:
            names.append(self._strings[self.name[number]])
            number = self.parent[number]
        return tuple(reversed(names))

    def depth(self, paths: Ids) -> Ids:
        """How many names each of these paths has."""
        depth: list[int] = []
        for parent in self.parent:
            depth.append(depth[parent] + 1 if parent >= 0 else 1)
        return np.array(depth, np.int32)[paths]

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
