"""Every text of a Trace, and the Trace with other texts.

Texts that many slices share are asked for once, so that a million slices cost little more than the
texts that they have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tilelang_trace.secret_values import named_secret, option_before
from tilelang_trace.sharing.redaction.environment import KEYS, is_allowed, is_environment
from tilelang_trace.trace.arguments import COMPILE, KINDS, RANK, TOOL
from tilelang_trace.trace.collect import StringTable
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import (
    Arguments,
    Column,
    CounterTrack,
    Ids,
    Lane,
    Process,
    Thread,
    Trace,
)

IR = "ir"
KERNEL = "kernel"
COMPILERS = "name of a pass"
"""Keys that say what a text is: a program, a kernel, or what the compiler calls its own parts."""


class Texts(Protocol):
    """What becomes of texts. `key` is the name that a text is the value of, or one of the above."""

    def shown(self, text: str, key: str) -> str:
        """What stands for a text."""

    def counted(self, text: str, key: str, place: str, count: int) -> None:
        """That a text of which something else became stands there so many times."""

    def left_out(self, variable: str, value: str, place: str) -> None:
        """That a variable of an environment is not shown."""


def rewritten(trace: Trace, texts: Texts) -> Trace:
    """The Trace with these texts. Its rows, times and numbers are the same."""
    walk = _Walk(trace, texts)
    slices, instants = trace.slices, trace.instants
    kinds = trace.kinds()
    compile_, tool = KINDS.index(COMPILE), KINDS.index(TOOL)
    names = walk.ids(
        slices.name,
        [
            (kinds == compile_, KERNEL, "name of a compile"),
            ((kinds > compile_) & (kinds < tool), COMPILERS, "name of a slice"),
            ((kinds < 0) | (kinds == tool), "", "name of a slice"),
        ],
    )
    categories = walk.ids(slices.category, [(None, COMPILERS, "category of a slice")])
    arguments = walk.columns(trace.arguments, names)
    instant_names = walk.ids(instants.name, [(None, "", "name of an instant")])
    instant_categories = walk.ids(instants.category, [(None, COMPILERS, "category of an instant")])
    instant_arguments = walk.columns(trace.instant_arguments, instant_names)
    metadata: dict[str, Json] = {}
    for key, value in trace.metadata.items():
        metadata[walk.fresh(walk.one(key, "", "metadata"), metadata)] = walk.value(
            value, key, f"metadata {key}"
        )
    findings = trace.findings.changed(
        lambda finding: replace(
            finding,
            place=walk.one(finding.place, "", "finding"),
            done=walk.one(finding.done, "", "finding"),
        )
    )
    tracks = tuple(
        replace(track, unit=walk.one(track.unit, "", "unit of a counter"))
        for track in walk.named(trace.counter_tracks, "name of a counter")
    )
    strings = walk.strings.texts()
    return replace(
        trace,
        processes=walk.named(trace.processes, "name of a process"),
        threads=walk.named(trace.threads, "name of a thread"),
        lanes=walk.named(trace.lanes, "name of a track"),
        strings=strings,
        slices=replace(slices, name=names, category=categories),
        arguments=Arguments(arguments, strings),
        instants=replace(instants, name=instant_names, category=instant_categories),
        instant_arguments=Arguments(instant_arguments, strings),
        counter_tracks=tracks,
        metadata=metadata,
        findings=findings,
    )


Named = TypeVar("Named", Process, Thread, Lane, CounterTrack)


class _Walk:
    """The way through one Trace."""

    def __init__(self, trace: Trace, texts: Texts) -> None:
        self._old = trace.strings
        self._texts = texts
        self._names: Sequence[str] = ()
        self.strings = StringTable()

    def one(self, text: str, key: str, place: str, count: int = 1) -> str:
        """What stands for a text, counted if it is something else."""
        new = self._texts.shown(text, key)
        if new != text:
            self._texts.counted(text, key, place, count)
        return new

    def named(self, entries: Sequence[Named], place: str) -> tuple[Named, ...]:
        """Processes, threads and tracks with other names."""
        return tuple(replace(e, name=self.one(e.name, "", place)) for e in entries)

    def ids(self, ids: Ids, groups: list[tuple[Any, str, str]]) -> Ids:
        """String ids for other texts; each group of rows has a key and a place of its own."""
        new = np.empty_like(ids)
        for mask, key, place in groups:
            chosen = ids if mask is None else ids[mask]
            unique, inverse, counts = np.unique(chosen, return_inverse=True, return_counts=True)
            table = [
                self.strings.id(self.one(self._old[i], key, place, n))
                for i, n in zip(unique.tolist(), counts.tolist())
            ]
            new[slice(None) if mask is None else mask] = np.array(table, np.int32)[inverse]
        return new

    def columns(self, arguments: Arguments, names: Ids) -> list[Column]:
        """The columns with other names and values."""
        found: list[Column] = []
        taken: dict[str, str] = {}
        used: set[str] = set()
        self._names = self.strings.texts()
        for column in arguments.columns:
            if column.name not in taken:
                name = column.name
                if name not in RANK:
                    name = self.one(name, "", "name of an argument", len(column.rows))
                    name = self.fresh(name, used)
                used.add(name)
                taken[column.name] = name
            place = f"argument {column.name}"
            of = names[column.rows]
            values, type_ = column.values, column.type
            if type_ == "string":
                values = self._values(column, of, place)
            elif type_ == "json":
                values = self._objects(column, of, place)
            elif type_ in ("int", "float") and named_secret(column.name) == "yes":
                texts = [self.value(v, column.name, place) for v in values.tolist()]
                values = np.array([self.strings.id(str(t)) for t in texts], np.int32)
                type_ = "string"
            found.append(Column(taken[column.name], type_, column.rows, values))
        return found

    def _values(self, column: Column, of: Ids, place: str) -> Ids:
        key = column.name
        order = np.argsort(column.values, kind="stable")
        unique, inverse, counts = np.unique(column.values, return_inverse=True, return_counts=True)
        table = np.empty(len(unique), np.int32)
        stop = 0
        for number, (old, count) in enumerate(zip(unique.tolist(), counts.tolist())):
            start, stop = stop, stop + count
            text = self._old[old]
            new = self._texts.shown(text, key)
            table[number] = self.strings.id(new)
            if new != text:
                for name, times in Counter(of[order[start:stop]].tolist()).items():
                    where = f"{place} of {self._names[name]}"
                    self._texts.counted(text, key, where, times)
        return table[inverse]

    def _objects(self, column: Column, of: Ids, place: str) -> npt.NDArray[Any]:
        values = [
            self.value(value, column.name, f"{place} of {self._names[name]}")
            for value, name in zip(column.values.tolist(), of.tolist())
        ]
        return np.fromiter(values, object, len(values))

    def fresh(self, name: str, taken: Container[str]) -> str:
        """A name that is not taken: of two keys that became one, each keeps its value."""
        if name not in taken:
            return name
        # All numbers below a taken one are taken: a search by halves, as there may be many.
        number = 2
        while f"{name} ({number})" in taken:
            number *= 2
        least = number // 2
        while least + 1 < number:
            middle = (least + number) // 2
            least, number = (middle, number) if f"{name} ({middle})" in taken else (least, middle)
        return f"{name} ({number})"

    def value(self, value: Json, key: str, place: str) -> Json:
        """A JSON value with other texts and keys."""
        if isinstance(value, str):
            return self.one(value, key, place)
        if isinstance(value, list):
            return self._list(value, key, place)
        if isinstance(value, dict):
            return self._object(value, key, place)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and named_secret(key) == "yes":
            text = str(value)
            new = self.one(text, key, place)
            return value if new == text else new
        return value

    def _list(self, values: list[Json], key: str, place: str) -> list[Json]:
        environment = key.lower() in KEYS
        command = [value if isinstance(value, str) else "" for value in values]
        shown = []
        for index, value in enumerate(values):
            variable, assigns, text = command[index].partition("=")
            if environment and assigns:
                new = self.value(text, variable, place)
                if is_allowed(variable):
                    shown.append(f"{variable}={new}")
                else:
                    self._texts.left_out(variable, text, place)
                continue
            option = option_before(command, index) if command[index] else ""
            shown.append(self.value(value, option or key, place))
        return shown

    def _object(self, values: dict[str, Json], key: str, place: str) -> dict[str, Json]:
        shown: dict[str, Json] = {}
        environment = is_environment(key, values)
        # Of everything below `credentials` and of the texts of `ir` it is known what they are.
        inherited = key if key == IR or named_secret(key) == "yes" else ""
        named = values.get("name", values.get("key"))
        for name, value in values.items():
            own = named if name == "value" and isinstance(named, str) else name
            new = self.value(value, inherited or own, place)
            if environment and not is_allowed(name):
                self._texts.left_out(name, value, place)
                continue
            new_name = name if name in RANK else self.one(name, "", f"{place} (a key)")
            shown[self.fresh(new_name, shown)] = new
        return dict(sorted(shown.items()))
