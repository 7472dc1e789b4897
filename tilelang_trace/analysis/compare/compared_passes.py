"""All passes of a comparison, as columns: a million of them are compared, and a few are looked at.

Each is a `ComparedPass` when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tilelang_trace.analysis.compare.compared_pass import (
    CHANGES,
    VERDICTS,
    Change,
    ComparedPass,
    OneSide,
    Verdict,
    mean,
)
from tilelang_trace.analysis.compare.paths import Paths
from tilelang_trace.analysis.compare.texts import Texts, in_common
from tilelang_trace.trace.model import Ids, Ints, Mask

Which: TypeAlias = Literal["base", "new"]
Time: TypeAlias = Literal["inclusive", "own"]


@dataclass(frozen=True, eq=False)
class SideColumns:
    """One side of the passes; a pass that it has not has no texts and the time 0."""

    there: Mask
    names: Texts
    status: Texts
    error: Texts
    rows: Ids
    """Runs x passes: the row in each run, -1 where it is missing; likewise the times."""
    inclusive: Ints
    own: Ints

    def __getitem__(self, which: Any) -> SideColumns:
        texts = (self.names[which], self.status[which], self.error[which])
        numbers = (self.rows[:, which], self.inclusive[:, which], self.own[:, which])
        return SideColumns(self.there[which], *texts, *numbers)

    @property
    def runs(self) -> int:
        """How many runs the side has."""
        return len(self.rows)

    def sums(self, time: Time) -> Ints:
        """The time of each pass in all runs together."""
        sums: Ints = (self.inclusive if time == "inclusive" else self.own).sum(axis=0)
        return sums

    def one(self, at: int) -> OneSide | None:
        """The side of one pass."""
        if not self.there[at]:
            return None
        inclusive, own = tuple(self.inclusive[:, at].tolist()), tuple(self.own[:, at].tolist())
        return OneSide(
            self.names[at],
            tuple(row if row >= 0 else None for row in self.rows[:, at].tolist()),
            self.status[at],
            mean(inclusive),
            mean(own),
            inclusive,
            own,
            self.error[at],
        )

    @classmethod
    def of(cls, sides: Sequence[OneSide | None]) -> SideColumns:
        """The columns of these sides, which have the same number of runs."""
        runs = max((len(side.rows) for side in sides if side), default=1)
        none = OneSide("", (None,) * runs, "", 0, 0, (0,) * runs, (0,) * runs)
        full = [side or none for side in sides]
        rows = [[-1 if row is None else row for row in side.rows] for side in full]

        def numbers(values: Iterable[Sequence[int]]) -> Ints:
            return np.array([*values], np.int64).reshape(-1, runs).T

        return cls(
            np.array([side is not None for side in sides], np.bool_),
            Texts.of([side.name for side in full]),
            Texts.of([side.status for side in full]),
            Texts.of([side.error for side in full]),
            numbers(rows).astype(np.int32),
            numbers(side.inclusive_runs for side in full),
            numbers(side.self_runs for side in full),
        )


@dataclass(frozen=True, eq=False)
class ComparedPasses(Sequence[ComparedPass]):
    """Passes of a comparison, in its order. Part of them are `passes[mask_or_places]`."""

    change: npt.NDArray[np.int8]
    """Places in `CHANGES`; of the next one, in `VERDICTS`."""
    verdict: npt.NDArray[np.int8]
    path: Ids
    paths: Paths
    phase: Texts
    kernel: Texts
    base: SideColumns
    new: SideColumns

    @classmethod
    def of(cls, passes: Iterable[ComparedPass]) -> ComparedPasses:
        """The columns of these passes."""
        if isinstance(passes, ComparedPasses):
            return passes
        entries = list(passes)
        paths = Paths()
        return cls(
            np.array([CHANGES.index(entry.change) for entry in entries], np.int8),
            np.array([VERDICTS.index(entry.verdict) for entry in entries], np.int8),
            np.array([paths.number(entry.path) for entry in entries], np.int32),
            paths,
            Texts.of([entry.phase for entry in entries]),
            Texts.of([entry.kernel for entry in entries]),
            SideColumns.of([entry.base for entry in entries]),
            SideColumns.of([entry.new for entry in entries]),
        )

    def __len__(self) -> int:
        return len(self.change)

    @overload
    def __getitem__(self, which: int) -> ComparedPass: ...
    @overload
    def __getitem__(self, which: slice | Ints | Mask) -> ComparedPasses: ...
    def __getitem__(self, which: int | slice | Ints | Mask) -> ComparedPass | ComparedPasses:
        if isinstance(which, (slice, np.ndarray)):
            columns = {f.name: getattr(self, f.name) for f in fields(self)}
            return replace(self, **{k: v[which] for k, v in columns.items() if k != "paths"})
        return ComparedPass(
            CHANGES[self.change[which]],
            self.paths[int(self.path[which])],
            self.phase[which],
            self.kernel[which],
            self.base.one(which),
            self.new.one(which),
            VERDICTS[self.verdict[which]],
        )

    def __iter__(self) -> Iterator[ComparedPass]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def side(self, which: Which) -> SideColumns:
        """One side of them."""
        return self.base if which == "base" else self.new

    def is_change(self, *changes: Change) -> Mask:
        """Which of them became that."""
        return np.isin(self.change, [CHANGES.index(change) for change in changes])

    def is_verdict(self, *verdicts: Verdict) -> Mask:
        """Which of them were judged so."""
        return np.isin(self.verdict, [VERDICTS.index(verdict) for verdict in verdicts])

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many there are of each change, and of each verdict."""
        change, verdict = (
            dict(zip(names, np.bincount(column, minlength=len(names)).tolist()))
            for names, column in ((CHANGES, self.change), (VERDICTS, self.verdict))
        )
        return change, verdict

    def names(self) -> Texts:
        """Their names."""
        return self.paths.names(self.path)

    def texts(self) -> Iterator[str]:
        """The names, phases and kernels of all of them, each at least once."""
        yield from self.paths.strings_of(self.path)
        for column in (self.phase, self.kernel, self.base.names):
            yield from column.used()

    def ended_alike(self) -> Mask:
        """Which of them have one status on both sides; a missing side has none."""
        (base, new), _ = in_common(self.base.status, self.new.status)
        alike: Mask = base == new
        return alike

    def deltas(self, time: Time) -> tuple[Ints, int]:
        """The change of the time of each, in parts of a nanosecond, and how many parts one has."""
        parts = self.base.runs * self.new.runs
        deltas = self.new.sums(time) * self.base.runs - self.base.sums(time) * self.new.runs
        return deltas, parts
