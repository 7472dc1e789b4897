"""Where in the file an event is: found when somebody asks, which is seldom."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

import numpy as np

from tilelang_trace.formats.chrome_json.scan import end_of_value
from tilelang_trace.trace.model import Ints

BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
"""What may be the place between two events."""

_PIECE = 1 << 24


class Places:
    """Names events of a text by number (1 is the first) and line, or byte where the text is one
    line.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._firsts = array("q")
        """Number of the first event of each stretch of text."""
        self._starts = array("q")
        self._stops = array("q")
        self._counts = array("q")
        self._newlines: Ints | None = None
        self._events: dict[int, list[int]] = {}
        """Where the events of a stretch begin."""

    def add(self, first: int, count: int, start: int, stop: int) -> None:
        """Say that so many events, the first of them with the number `first`, are in this stretch
        of text, and nothing else. One that is broken has a stretch of its own.
        """
        self._firsts.append(first)
        self._starts.append(start)
        self._stops.append(stop)
        self._counts.append(count)

    def stretches(self) -> zip[tuple[int, int]]:
        """Where each stretch begins and ends."""
        return zip(self._starts, self._stops)

    def event(self, number: int) -> str:
        """The event with this number."""
        stretch = bisect_right(self._firsts, number) - 1
        place = self._events_of(stretch)[number - self._firsts[stretch]]
        return f"event {number} ({self.byte(place)})"

    def event_at(self, place: int) -> str:
        """The event around a place that is in a stretch."""
        stretch = bisect_right(self._starts, place) - 1
        return self.event(self._firsts[stretch] + bisect_right(self._events_of(stretch), place) - 1)

    def byte(self, place: int) -> str:
        """The line of a place, counted from 1; or the place itself, counted from 0, where there is
        only one line.
        """
        newlines = self._newlines
        if newlines is None:
            newlines = self._newlines = _newlines(self._data)
        if not len(newlines):
            return f"byte {place}"
        return f"line {1 + int(np.searchsorted(newlines, place))}"

    def _events_of(self, stretch: int) -> list[int]:
        found = self._events.get(stretch)
        if found is None:
            start, stop = self._starts[stretch], self._stops[stretch]
            found = [start]
            if self._counts[stretch] > 1:
                found += (match.end() for match in BOUNDARY.finditer(self._data, start, stop))
            if self._counts[stretch] != len(found):  # some lie in an event
                found = _exactly(self._data, start, stop)
            self._events[stretch] = found
        return found


def _newlines(data: bytes) -> Ints:
    """Where the lines end, the last one left out if nothing is behind it."""
    stop = len(data.rstrip())
    found = [
        np.flatnonzero(np.frombuffer(data[start : min(stop, start + _PIECE)], np.uint8) == 10)
        + start
        for start in range(0, stop, _PIECE)
    ]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _exactly(data: bytes, start: int, stop: int) -> list[int]:
    """Where each event of a stretch of good JSON begins."""
    found = []
    while start < stop:
        found.append(start)
        start = end_of_value(data, start, len(data))
        match = _SEPARATOR.match(data, start)
        assert match is not None
        start = match.end()
    return found


_SEPARATOR = re.compile(rb"[\s,]*")
