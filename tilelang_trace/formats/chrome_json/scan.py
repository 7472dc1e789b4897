"""Where strings, lists and objects end in text that may be no good JSON.

Regular expressions do the work, of which none can backtrack: time is proportional to the text,
whatever it says.
"""

from __future__ import annotations

import re

_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,1000}', re.DOTALL)
_TOKEN = re.compile(rb'[{}\[\]]|"[^"\\]*(?:("\s*)([^\s:,}\]])?)?')
"""A bracket; or a string without escapes (of another only the beginning), with what follows it if
nothing of the kind may follow a string.
"""
_LOOK_BACK = 256
_PATIENCE = 1 << 16
"""So far behind the first thing that is wrong the end of a value is looked for."""

_QUOTE, _BACKSLASH, _OPEN_OBJECT, _OPEN_LIST = b'"\\{['
_OPENS = {ord("}"): _OPEN_OBJECT, ord("]"): _OPEN_LIST}


class Unfinished(Exception):
    """No end was found for a value."""

    def __init__(self, looked_at: int, wrong_at: int | None) -> None:
        self.looked_at = looked_at
        """The text was looked at up to here."""
        self.wrong_at = wrong_at
        """What can't be inside a value; None if nothing was wrong up to the end of the text."""


def end_of_string(data: bytes, start: int) -> int:
    """The place behind the string that begins here; -1 if it never ends."""
    place = start + 1
    while True:
        match = _IN_STRING.match(data, place)
        assert match is not None  # it may be empty
        place = match.end()
        if data[place : place + 1] == b'"':
            return place + 1
        if place + 2 > len(data):
            return -1


def end_of_value(data: bytes, start: int, stop: int) -> int:
    """The place behind the list or object that begins here, of which not more is looked at than up
    to `stop`. Raises Unfinished.

    What is between its brackets is not looked at, unless it says why there is no end.
    """
    brackets = bytearray()
    wrong: int | None = None
    place, search = start, _TOKEN.search
    while (token := search(data, place, stop)) is not None:
        first, place = data[token.start()], token.end()
        if first == _QUOTE:
            if token.start(1) < 0:
                place = end_of_string(data, token.start())
                if place < 0 or place > stop:
                    raise Unfinished(stop, _wrong(data, stop, wrong))
            elif token.start(2) >= 0:
                wrong, place = _first(wrong, place - 1), token.end(1)
            continue
        if first in _OPENS:
            if brackets.pop() != _OPENS[first]:
                raise Unfinished(place, _first(wrong, place - 1))
            if not brackets:
                return place
        else:
            if brackets and brackets[-1] == _OPEN_OBJECT and not _is_behind_a_colon(data, place):
                wrong = _first(wrong, place - 1)
            brackets.append(first)
        if wrong is not None and place > wrong + _PATIENCE:
            raise Unfinished(place, wrong)
    raise Unfinished(stop, _wrong(data, stop, wrong))


def _first(wrong: int | None, place: int) -> int:
    return place if wrong is None else wrong


def _wrong(data: bytes, stop: int, wrong: int | None) -> int | None:
    return wrong if wrong is not None or stop >= len(data) else stop


def _is_behind_a_colon(data: bytes, place: int) -> bool:
    before = data[max(0, place - _LOOK_BACK) : place - 1].rstrip()
    return not before or before.endswith(b":")
