"""One journal that its process is writing at this moment: what each thread has open now.

A journal is read while it grows, thousands of packets a second, by the process that watches a
compile: so what is open is kept as the bytes of its begin, and decoded when somebody asks. The
classes of the `perfetto` package take ten times as long for a packet, and long to import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tilelang_trace.formats.pftrace.numbers import KEY
from tilelang_trace.formats.pftrace.packets import SLICE_BEGINS, SLICE_ENDS, STAMPED
from tilelang_trace.formats.pftrace.wire import varint
from tilelang_trace.formats.pftrace.wire_reading import fields, read_varint
from tilelang_trace.recording import folder, journal
from tilelang_trace.trace.arguments import PASS

_PIECE = 1 << 16
"""Bytes that are read at a time, unless a packet is longer: behind the last packet the file is
allocated, and zero.
"""


class Slice(NamedTuple):
    """A slice that has begun and not ended."""

    name: str
    kind: str
    begun_ns: int
    phase: str
    """Phase label of a pass, empty if it has none."""


@dataclass(frozen=True)
class Thread:
    """What a thread does now."""

    pid: int
    tid: int
    name: str
    open: tuple[Slice, ...]
    """Outermost first."""
    passes: int
    """How many passes have ended on it."""


class _Begun(NamedTuple):
    """The begin of an open slice as the journal has it."""

    time: bytes
    category: bytes
    event: bytes


@dataclass
class _Sequence:
    """The packets of one thread, or of a counter."""

    track: int = 0
    stack: list[_Begun | Slice] = field(default_factory=list)
    passes: int = 0
    pass_category: bytes = b""
    categories: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def learn(self, interned: bytes | memoryview) -> None:
        """Names that are new on this sequence."""
        tables = {1: self.categories, 2: self.names, 3: self.arguments, 29: self.texts}
        for number, _, entry in fields(interned):
            parts = {n: (v, c) for n, v, c in fields(entry)}
            iid, text = parts[1][0], _text(parts[2][1])
            tables[number][iid] = text
            if number == 1 and text == PASS:
                self.pass_category = varint(iid)

    def ended(self) -> None:
        """The innermost slice has ended."""
        if self.stack:
            innermost = self.stack.pop()
            if isinstance(innermost, _Begun):
                self.passes += innermost.category == self.pass_category
            else:
                self.passes += innermost.kind == PASS

    def anew(self, track: int) -> _Sequence:
        """The same sequence with none of its names: they are said again from here on."""
        return _Sequence(track, [*self.now_open()], self.passes)

    def now_open(self) -> Iterator[Slice]:
        """What is open, outermost first."""
        for begun in self.stack:
            yield self._slice(begun) if isinstance(begun, _Begun) else begun

    def _slice(self, begun: _Begun) -> Slice:
        """A begin, decoded."""
        name = phase = ""
        for number, value, content in fields(begun.event):
            if number == 10:
                name = self.names.get(value, "")
            elif number == 4:
                parts = {key: value for key, value, _ in fields(content)}
                if self.arguments.get(parts.get(1, 0)) == "phase":
                    phase = self.texts.get(parts.get(17, 0), "")
        kind = self.categories.get(_value(begun.category), "")
        return Slice(name, kind, _value(begun.time), phase)


class LiveJournal:
    """A journal, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pid = 0
        """Of the process that writes it; 0 until that is known."""
        self.ended = False
        """Whether its process has ended, or its recording has."""
        self._position = 0
        self._sequences: dict[bytes, _Sequence] = {}
        self._threads: dict[int, tuple[int, str]] = {}
        """Native id and name by track."""

    @property
    def passes(self) -> int:
        """How many passes have ended in it."""
        return sum(sequence.passes for sequence in self._sequences.values())

    def threads(self) -> Iterator[Thread]:
        """Its threads, in the order in which they came."""
        for sequence in self._sequences.values():
            if sequence.track in self._threads:
                tid, name = self._threads[sequence.track]
                now_open = tuple(sequence.now_open())
                yield Thread(self.pid, tid, name, now_open, sequence.passes)

    def update(self) -> None:
        """Read what was appended since the last time."""
        try:
            with open(self.path, "rb", buffering=0) as stream:
                length = stream.seek(0, os.SEEK_END)
                # Asked before reading, so that all of a dead process is read.
                self.ended = self.ended or not journal.is_alive(self.path)
                size = _PIECE
                while size:
                    stream.seek(self._position)
                    taken, longer = self._take(stream.read(size))
                    self._position += taken
                    size = _PIECE if taken else longer if size < longer <= length else 0
        except FileNotFoundError:  # the trace is written, or the folder put aside
            self.ended = True

    def _take(self, data: bytes) -> tuple[int, int]:
        """Take the whole packets that these bytes begin with: how many bytes they are, and how many
        the packet behind them takes, if it is longer than these.

        One that is being written has no key yet, and nothing behind it; one that never got its key
        is passed by.
        """
        position, size = 0, len(data)
        while position < size and (key := data[position]):
            try:
                length, start = data[position + 1], position + 2
                if length > 0x7F:
                    length, start = read_varint(data, position + 1)
            except (IndexError, ValueError):  # its length is cut off, by the end of the piece
                break
            end = start + length
            if end + (key != KEY) > size:
                return position, end - position + 1
            if key == KEY:
                self._take_packet(data, start, end)
            elif not data[end]:
                break
            position = end
        return position, 0

    def _take_packet(self, data: bytes, start: int, end: int) -> None:
        match = STAMPED.match(data, start, end)
        if match is None:
            self._take_other(data[start:end])
            return
        sequence = self._sequences.get(match[1])
        if sequence is None:
            sequence = self._sequences[match[1]] = _Sequence()
        kind = match[4]
        event = match.start(4)
        event_end = event + _value(match[3])
        if kind == SLICE_BEGINS:
            sequence.stack.append(_Begun(match[2], match[5], data[event:event_end]))
        elif kind == SLICE_ENDS:
            sequence.ended()
        if event_end < end:
            for number, _, content in fields(data[event_end:end]):
                if number == 12:
                    sequence.learn(content)

    def _take_other(self, body: bytes) -> None:
        """A packet that is no event: a thread, the begin of a sequence, the end of the journal."""
        sequence = b""
        for number, value, content in fields(body):
            if number == 10:
                sequence = varint(value)
            elif number == 60:
                self._take_track(content)
            elif number == 59:
                defaults = next(c for n, _, c in fields(content) if n == 11)
                track = next(v for n, v, _ in fields(defaults) if n == 11)
                self._sequences[sequence] = self._sequences.get(sequence, _Sequence()).anew(track)
            elif number == 5 and folder.END.encode() in bytes(content[:64]):
                self.ended = True

    def _take_track(self, track: bytes | memoryview) -> None:
        uuid = 0
        for number, value, content in fields(track):
            if number == 1:
                uuid = value
            elif number == 3:
                self.pid = next(v for n, v, _ in fields(content) if n == 1)
            elif number == 4:
                parts = {n: (v, c) for n, v, c in fields(content)}
                self._threads[uuid] = parts[2][0], _text(parts[5][1])


def _value(digits: bytes) -> int:
    return digits[0] if len(digits) == 1 else read_varint(digits, 0)[0]


def _text(content: bytes | memoryview) -> str:
    return bytes(content).decode("utf-8", "replace")
