"""The text of a JSON trace -> its events and what stands beside them, however broken it is.

Good JSON is parsed some hundred events at a time. Where that fails, the text is taken event by
event: what is almost JSON is mended, an event that is broken is left out, and reading goes on
behind it. Each byte is looked at a few times at most. After very many items that are no events, not
each further one is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice

import orjson

from tilelang_trace import limits, long_work
from tilelang_trace.formats.chrome_json.exact_times import with_exact_times
from tilelang_trace.formats.chrome_json.mend import Hopeless, mended
from tilelang_trace.formats.chrome_json.places import BOUNDARY, Places
from tilelang_trace.formats.chrome_json.scan import Unfinished, end_of_string, end_of_value
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.json_values import Json, levels
from tilelang_trace.trace.rules import Rule

_BROKEN = object()
_BLOCK = 1 << 15
_KEPT_BYTES = 1 << 20
"""Of what stands beside the events, all together."""
_BESIDE_BYTES = 1 << 16
"""Of one of those, except otherData."""

_LEVELS_AROUND = 2
"""An argument is inside of an event and its args."""

_LIST, _OTHER = "traceEvents", "otherData"
_ITEM = b"{"
_SPACE = re.compile(rb"\s*")
_BEGIN = re.compile(rb"[{\[]")
_WORD = re.compile(rb"[^\s,{}\[\]\"]+|.", re.DOTALL)
_BEGIN_EVENT = re.compile(rb"\s*,?\s*(?=\{)")
_NEXT_EVENT = re.compile(rb'\}(?=\s*(?:,?\s*\{\s*"|\]\s*(?:\}\s*)?\Z))')
_TRIES = 4
_MAY_BEGIN = re.compile(rb'\{\s*"|\]\s*(?:\}\s*)?\Z')
"""What may be an event, or the end of the list."""
_PATIENCE = 500
"""After so many items in a row that are no events, not every further one is looked at,"""
_PASSED_BY = 1024
"""but one after so many bytes."""
_FILE_START = re.compile(rb'\s*(?:\[\s*)?\{\s*"')
_LOOKED_AT = 64
"""Bytes at the start of a file by which Perfetto knows what it is."""


class _Cut(Exception):
    """The text ends inside of what is read."""


class _IsEvent(Exception):
    """An object is no trace, but one event."""


class Document:
    """What is in the text of a JSON trace."""

    def __init__(self, data: bytes) -> None:
        self.events: list[tuple[int, list[Json]]] = []
        """Events that follow each other, with the number of the first of them."""
        self.beside: dict[str, Json] = {}
        """What stands beside the list of events, unless it is large."""
        self.findings = Findings()
        self.places = Places(data)
        self.lists = 0
        """How many lists of events there are."""
        self.count = 0
        """How many events there are, broken ones too."""
        self.kept = 0
        self._data = data
        self._nesting = limits.current().nesting + _LEVELS_AROUND
        self._room = _KEPT_BYTES
        self._last_boundary = len(data)
        """No boundary between events begins behind it."""
        self._lost = 0
        """Bytes that were looked at in vain."""
        self._in_vain = 0
        """Items since the last event."""
        self._read()

    def _tell(self, place: str | Callable[[], str], rule: Rule, done: str) -> None:
        self.findings.add(place, rule, done)

    # ------------------------------------------------------------------------------ the whole

    def _read(self) -> None:
        data, place = self._data, 0
        if not _FILE_START.match(data[:_LOOKED_AT]):
            self._tell("byte 0", rules.FILE_START, "read all the same")
        while (begin := _BEGIN.search(data, place)) is not None:
            if place:
                self._tell_trailing(place)
            place = begin.start()
            try:
                place = self._outermost(place)
            except _Cut:
                return
        if place:
            self._tell_trailing(place)

    def _outermost(self, place: int) -> int:
        """Read the list or object that begins here; the place behind it. Raises _Cut."""
        if self._data[place : place + 1] == b"[":
            self.lists += 1
            return self._items(place + 1, b"[")
        try:
            return self._object(place)
        except _IsEvent:
            self.lists += 1
            self._tell(self.places.byte(place), rules.EVENT_LINES, "read as a list")
            return self._items(place, b"")

    def _tell_trailing(self, place: int) -> None:
        rest = self._behind_space(place)
        if rest < len(self._data):
            shown = self._data[rest : rest + 20].decode("ascii", "backslashreplace")
            done = f"behind the end of the trace there is {shown!r}"
            self._tell(self.places.byte(rest), rules.TRAILING_TEXT, done)

    def _behind_space(self, place: int) -> int:
        match = _SPACE.match(self._data, place)
        assert match is not None
        return match.end()

    # ------------------------------------------------------------------------------ an object

    def _object(self, start: int) -> int:
        """Read the object that begins here; the place behind it. Raises _Cut, _IsEvent."""
        data, place, has_list = self._data, start + 1, False
        names: list[Json] = []
        while True:
            place = self._behind_space(place)
            first = data[place : place + 1]
            if first == b"}":
                return place + 1
            if first == b",":
                place += 1
                continue
            end = end_of_string(data, place) if first == b'"' else -1
            colon = self._behind_space(end) if end >= 0 else place
            if data[colon : colon + 1] != b":":
                is_cut = colon == len(data) or (first == b'"' and end < 0)
                place = self._next_list(place, is_cut)
                continue
            name = self._value(data[place:end], place)
            place = self._behind_space(colon + 1)
            if name == _LIST and data[place : place + 1] == b"[":
                self.lists += 1
                has_list = True
                if self.lists > 1:
                    self._tell(self.places.byte(place), rules.SEVERAL_LISTS, "read one by one")
                place = self._items(place + 1, b"{")
            elif name == "ph" and not has_list:
                for other in names:
                    self.beside.pop(other, None)
                raise _IsEvent
            else:
                place = self._beside(name, place)
                names.append(name)

    def _next_list(self, place: int, is_cut: bool) -> int:
        """Where a list of events may begin behind what can't be read, or only not to its end."""
        found = self._data.find(b'"' + _LIST.encode() + b'"', place + 1)
        if found >= 0:
            return found
        if self.lists and is_cut:
            done = f"{self._kept()}, the object is not closed"
            self._tell(self._end(), rules.UNCLOSED, done)
        elif self.lists:
            done = "it goes on with what is no JSON"
            self._tell(self.places.byte(place), rules.UNCLOSED, done)
        raise _Cut

    def _beside(self, name: Json, start: int) -> int:
        """Keep the value that begins here, if it is small; the place behind it."""
        data = self._data
        first = data[start : start + 1]
        try:
            end = self._end_of(start, first)
        except Unfinished as why:
            return self._next_list(start, is_cut=why.wrong_at is None)
        size = end - start
        if isinstance(name, str) and (size < min(self._room, _BESIDE_BYTES) or name == _OTHER):
            self.beside[name] = self._value(data[start:end], start)
            self._room -= size
        return end

    def _end_of(self, start: int, first: bytes) -> int:
        """The place behind the value that begins here. Raises Unfinished."""
        data = self._data
        if first in (b"{", b"["):
            # What was looked at in vain, all together, must stay in proportion to the text.
            patience = len(data) + 4 * start - self._lost
            try:
                return end_of_value(data, start, min(len(data), start + max(0, patience)))
            except Unfinished as why:
                self._lost += why.looked_at - start
                raise
        if first == b'"':
            if (end := end_of_string(data, start)) >= 0:
                return end
        elif (word := _WORD.match(data, start)) is not None:
            return word.end()
        raise Unfinished(len(data), None)

    def _value(self, text: bytes, start: int) -> Json:
        """What a text beside the events means, which begins there; None if it can't be told."""
        tell = partial(self._tell, lambda: self.places.byte(start))
        value, _ = self._parsed(text, tell)
        if value is not _BROKEN:
            return value
        tell(rules.LOOSE_JSON, "left out")
        return None

    def _parsed(self, text: bytes, tell: Callable[[Rule, str], None]) -> tuple[Json, bytes]:
        """What a text means, and the good JSON that says it; _BROKEN if it can't be told."""
        try:
            value = orjson.loads(text)
            brackets = text.count(b"{") + text.count(b"[")
            if brackets <= self._nesting or levels(value) <= self._nesting:
                return value, text
        except orjson.JSONDecodeError:
            pass
        try:
            value, text, mends = mended(text, self._nesting)
        except Hopeless:
            return _BROKEN, text
        for rule, done in mends:
            tell(rule, done)
        return value, text

    # ------------------------------------------------------------------------------ events

    def _items(self, place: int, around: bytes) -> int:
        """Take the items of a list, which begin here; the place behind its end. Raises _Cut.

        `around` is the bracket that the file begins with; without any the events stand in no list.
        """
        data, exact_until, last = self._data, place, b""
        while True:
            place = self._behind_space(place)
            if place >= exact_until and last != _ITEM:
                place, exact_until = self._blocks(place)
            first = data[place : place + 1]
            if not first:
                self._tell_end(around)
                raise _Cut
            if first == b"," and last != _ITEM and around:
                self._tell(self.places.byte(place), rules.COMMAS, "one comma too many")
            elif first == b"]" and around:
                if last == b",":
                    self._tell(self.places.byte(place), rules.COMMAS, "one comma too many")
                return place + 1
            elif first in b"}]":
                self._tell(self.places.byte(place), rules.LOOSE_JSON, "a bracket too many")
                place += 1
                continue
            elif first != b",":
                if last == _ITEM and around:
                    self._tell(self.places.byte(place), rules.COMMAS, "one comma too few")
                place, last = self._item(place, first), _ITEM
                continue
            place, last = place + 1, first

    def _tell_end(self, around: bytes) -> None:
        if around == b"[":
            self._tell(self._end(), rules.UNCLOSED, f"{self._kept()}, the list is not closed")
        elif around:
            self._tell(self._end(), rules.CUT_OFF, f"{self._kept()}, the list is not closed")

    def _end(self) -> str:
        return f"byte {len(self._data)}"

    def _kept(self) -> str:
        return f"{self.kept} event{'' if self.kept == 1 else 's'} kept"

    def _blocks(self, start: int) -> tuple[int, int]:
        """Take blocks of some hundred events of good JSON, as long as there are any; the place
        behind them, and up to where there is something else.
        """
        while start + _BLOCK <= self._last_boundary:
            boundary = BOUNDARY.search(self._data, start + _BLOCK)
            if boundary is None:
                self._last_boundary = start
                break
            if not self._block(start, boundary.start() + 1):
                return start, boundary.end()
            start = boundary.end()
            long_work.reached(start)
        return start, len(self._data)

    def _block(self, start: int, stop: int) -> bool:
        """Take the events in a stretch of text, if it is good JSON."""
        text = self._data[start:stop]
        try:
            # What begins with a whole event and is a list of JSON is a list of whole events.
            events = orjson.loads(b"[%b]" % text)
        except orjson.JSONDecodeError:
            return False
        brackets = text.count(b"{") + text.count(b"[")
        if set(map(type, events)) != {dict} or (
            brackets - len(events) >= self._nesting and levels(events) > self._nesting + 1
        ):
            return False
        self._add(with_exact_times(text, events), start, stop)
        return True

    def _add(self, events: list[Json], start: int, stop: int) -> None:
        self.places.add(self.count + 1, len(events), start, stop)
        self.events.append((self.count + 1, events))
        self.count += len(events)
        self.kept += len(events)

    def _item(self, start: int, first: bytes) -> int:
        """Take one item of the list; the place behind it. Raises _Cut."""
        end, is_whole = len(self._data), True
        try:
            end = self._end_of(start, first)
        except Unfinished as why:
            is_whole = False
            following = None
            if why.wrong_at is not None:
                following = self._next_event(start, end, why.wrong_at)
            if following is None:
                done = f"{self._kept()}, the file ends inside event {self.count + 1}"
                self._tell(self._end(), rules.CUT_OFF, done)
                raise _Cut from None
            end = following
        number, place = self.count + 1, start

        def tell(rule: Rule, done: str) -> None:
            self._tell(lambda: f"event {number} ({self.places.byte(place)})", rule, done)

        event, text = self._parsed(self._data[start:end], tell)
        if event is not _BROKEN:
            events = with_exact_times(text, [event]) if isinstance(event, dict) else [event]
            self._add(events, start, end)
            if isinstance(event, dict):
                self._in_vain = 0
                return end
        else:
            if is_whole and first == b"{":
                end = self._next_event(start, end) or end
            tell(rules.BROKEN_EVENT, "left out")
            self.count = number
            self.places.add(number, 1, start, end)
        self._in_vain += 1
        return end if self._in_vain < _PATIENCE else self._passed_by(end)

    def _passed_by(self, place: int) -> int:
        """Where the next item is looked at, when there were so many that are no events."""
        data = self._data
        if place + _PASSED_BY >= len(data):
            return place
        found = _MAY_BEGIN.search(data, place + _PASSED_BY)
        end = found.start() if found else len(data)
        end -= data[end - 1 : end] == b","
        done = f"{end - place} bytes are passed by, behind {self._in_vain} that are no events"
        self._tell(lambda: self.places.byte(place), rules.BROKEN_EVENT, done)
        return end

    def _next_event(self, start: int, stop: int, wrong_at: int = -1) -> int | None:
        """The place in front of an event that may follow one that is broken."""
        found = islice(_NEXT_EVENT.finditer(self._data, start, stop), _TRIES)
        ends = [match.start() + 1 for match in found]
        if wrong_at > start and self._data[wrong_at : wrong_at + 1] == b"{":
            # A closing bracket is missing in front of it, and of the comma there.
            comma = self._data.rfind(b",", start, wrong_at)
            is_next = comma > start and not self._data[comma + 1 : wrong_at].strip()
            ends = sorted([*ends, comma if is_next else wrong_at])
        first = ends[0] if ends and stop == len(self._data) else None
        if self._lost > len(self._data):  # there is so much broken that no time is left to look
            return first
        return next(filter(self._is_followed, ends), first)

    def _is_followed(self, place: int) -> bool:
        """Whether an event follows, or the end."""
        begin = _BEGIN_EVENT.match(self._data, place)
        if begin is None:
            return True
        try:
            text = self._data[begin.end() : self._end_of(begin.end(), b"{")]
        except Unfinished:
            return False
        event, _ = self._parsed(text, lambda rule, done: None)
        return isinstance(event, dict) and "ph" in event
