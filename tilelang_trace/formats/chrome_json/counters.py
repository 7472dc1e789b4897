"""Counters of Chrome JSON (phase C): each argument of an event is a series of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from tilelang_trace.formats.chrome_json import ids, times
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Tell
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import CounterTrack
from tilelang_trace.trace.rules import BAD_COUNTER, COUNTER_ID

_Key = tuple[Json, str, str, "str | None"]
"""The pid, the name, the series and the id of a counter."""


class Counters:
    """Puts the values of counters into a builder. Counters belong to processes."""

    def __init__(
        self, builder: TraceBuilder, process: Callable[[int, Mapping[str, Json]], int], tell: Tell
    ) -> None:
        self._builder, self._process, self._tell = builder, process, tell
        self._tracks: dict[_Key, int] = {}
        self._of_one_row: set[tuple[int, str, str]] = set()
        """Process, name and series of counters whose ids Perfetto doesn't read, or that have none.
        """

    def open(self, pids: list[int]) -> None:
        """Take the tracks that an envelope has put into the builder; `pids` is what the file calls
        their processes.
        """
        for number, (pid, track) in enumerate(zip(pids, self._builder.counter_tracks)):
            key = (pid, track.name, track.unit or "value", None)
            self._tracks[(*key[:3], str(number)) if key in self._tracks else key] = number

    def take(self, number: int, event: Mapping[str, Json], name: str, time: int) -> None:
        """Take an event; its time in ns."""
        series = event.get("args")
        if not isinstance(series, dict) or not series:
            self._tell(number, BAD_COUNTER, f"{name!r} has no values: left out")
            return
        id_ = ids.async_id(event)
        pid = ids.row_id(event.get("pid"))
        for unit, value in series.items():
            measured = _number(value)
            if measured is None:
                done = f"{name!r}: {unit!r} is no number: left out"
                self._tell(number, BAD_COUNTER, done)
                continue
            key = (0 if pid is None else pid, name, unit, None if id_ is None else str(id_[1]))
            track = self._tracks.get(key)
            if track is None:
                track = self._tracks[key] = len(self._builder.counter_tracks)
                shown = name if id_ is None else f"{name} {id_[1]}"
                process = self._process(number, event)
                self._check(event, id_, (process, name, unit), number)
                self._builder.counter_tracks.append(CounterTrack(shown, unit, process=process))
            self._builder.counter(track, time, measured)

    def _check(
        self,
        event: Mapping[str, Json],
        id_: tuple[str, ids.Id] | None,
        row: tuple[int, str, str],
        number: int,
    ) -> None:
        """Tell of a new counter that Perfetto takes for another one."""
        if isinstance(event.get("id"), str):
            return
        if row in self._of_one_row:
            done = "without an id" if id_ is None else f"with the id {ids.shown(id_[1])}"
            self._tell(number, COUNTER_ID, f"{row[1]!r} {done} has a row of its own")
        self._of_one_row.add(row)


def _number(value: Json) -> float | None:
    """A value as Perfetto takes it: a number, or text that is one."""
    if isinstance(value, str):
        value = times.number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        return None
    try:
        measured = float(value)
    except OverflowError:
        return None
    return measured if math.isfinite(measured) else None
