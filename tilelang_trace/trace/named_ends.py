"""Slices from begin and end events where an end names what it closes, as in Chrome JSON (protobuf:
`formats.pftrace.named_ends`, which takes many at once).
"""

from __future__ import annotations

from tilelang_trace.trace.begin_end import InOrder
from tilelang_trace.trace.build import TraceBuilder

_OPEN, _PASSED, _CLOSED = range(3)

_Key = tuple["str | None", "str | None"]


class _Open:
    __slots__ = ("keys", "place", "row", "state")

    def __init__(self, row: int, place: int, keys: set[_Key]) -> None:
        self.row, self.place, self.keys, self.state = row, place, keys, _OPEN


class _Index:
    """Slices of one state by what an end may say of them: name and category, one of them, or
    nothing.
    """

    def __init__(self, state: int) -> None:
        self._state = state
        self._found: dict[_Key, list[_Open]] = {}

    def add(self, slice_: _Open) -> None:
        for key in slice_.keys:
            self._found.setdefault(key, []).append(slice_)

    def last(self, key: _Key) -> _Open | None:
        """The innermost one. (Each slice is taken out of each list once: no time is lost.)"""
        found = self._found.get(key, [])
        while found and found[-1].state != self._state:
            found.pop()
        return found[-1] if found else None


class NamedSlices(InOrder):
    """The open slices of one lane, whose rows are in a builder, while its begin and end events are
    read in the order of time.

    An end closes the innermost open slice that has its name and its category; what it doesn't say
    fits all. That is what Perfetto's `SliceTracker` does. What is open inside of a slice that is
    closed ends with it, unless an end of its own comes later: then it overlaps, and keeps its time.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        super().__init__(builder)
        self._stack: list[_Open] = []
        self._open, self._passed = _Index(_OPEN), _Index(_PASSED)
        self._all: list[_Open] = []
        self._closed: tuple[int, int] | None = None
        """Place on the stack of the outermost slice that was closed while others inside it were
        open, and when that was, ns.
        """
        self.was_passed = False
        """Whether the slice of the last end began just when what was around it ended."""

    def begin(self, row: int, time: int, name: str, category: str) -> None:
        """Open the slice of a row."""
        if self._closed is not None and time >= self._closed[1]:
            self._pass_over(*self._closed)
        begun = self._begun(time)
        self._builder.begins[row], self._builder.ends[row] = begun, begun + 1
        of_name, of_category = name or _NO_NAME, category or None
        keys: set[_Key] = {
            (of_name, of_category),
            (of_name, None),
            (None, of_category),
            (None, None),
        }
        slice_ = _Open(row, len(self._stack), keys)
        self._stack.append(slice_)
        self._all.append(slice_)
        self._open.add(slice_)

    def end(self, time: int, name: str, category: str) -> int | None:
        """Close a slice; returns its row, None if none fits."""
        if self._closed is not None and time > self._closed[1]:
            self._pass_over(*self._closed)
        key = (name or None, category or None)
        slice_ = self._open.last(key)
        if slice_ is None and name:
            slice_ = self._passed.last(key)
        if slice_ is None:
            self.was_passed = False
            return None
        begun, ends = self._builder.begins[slice_.row], self._builder.ends
        self.was_passed = slice_.state == _PASSED and ends[slice_.row] == begun + 1
        self._end(slice_.row, time)
        if slice_.state == _OPEN:
            slice_.state = _CLOSED
            self._shrink(slice_.place, time)
        slice_.state = _CLOSED
        return slice_.row

    def _shrink(self, closed: int, time: int) -> None:
        """Take what is closed from the top of the stack."""
        while self._stack and self._stack[-1].state == _CLOSED:
            self._stack.pop()
        if closed < len(self._stack):
            self._closed = min(closed, self._closed[0] if self._closed else closed), time
        elif self._closed is not None and self._closed[0] >= len(self._stack):
            self._closed = None

    def _pass_over(self, place: int, time: int) -> None:
        """Time went on: what is inside of a closed slice is not open any more."""
        for slice_ in self._stack[place:]:
            if slice_.state == _OPEN:
                slice_.state = _PASSED
                self._builder.ends[slice_.row] = max(time, self._builder.begins[slice_.row] + 1)
                self._passed.add(slice_)
        del self._stack[place:]
        self._closed = None

    def finish(self, last: int) -> list[tuple[int, str]]:
        """The rows that never ended, innermost first, and where they were made to end: those that
        are still open, at the time `last`.
        """
        if self._closed is not None:
            self._pass_over(*self._closed)
        left = []
        for slice_ in reversed(self._all):
            if slice_.state == _OPEN:
                self._builder.ends[slice_.row] = max(last, self._builder.begins[slice_.row] + 1)
                left.append((slice_.row, "ends at the end of the trace"))
            elif slice_.state == _PASSED:
                left.append((slice_.row, "ends with the slice around it"))
        return left


_NO_NAME = "[No name]"
"""What Perfetto calls a slice without a name."""
