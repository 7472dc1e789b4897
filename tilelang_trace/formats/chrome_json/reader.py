"""Chrome JSON traces (`.json`): JSON -> Trace, our own files and those of other tools.

A file as our writer writes it, one event a line, is parsed some thousand lines at a time, and its
slices go into the builder as columns: that takes a third of the time and of the memory. Any other
file is read by `document` and taken event by event, as is one that looks like ours and then shows
something that our writer does not write: so that both ways say the same of every file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import orjson

from tilelang_trace import long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats import envelope
from tilelang_trace.formats.chrome_json import escapes
from tilelang_trace.formats.chrome_json.document import Document
from tilelang_trace.formats.chrome_json.events import EventReader
from tilelang_trace.formats.chrome_json.exact_times import EXACT_US, is_rounded
from tilelang_trace.formats.chrome_json.times import CLOCK
from tilelang_trace.trace import failures
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ints
from tilelang_trace.trace.rules import Rule

Floats = npt.NDArray[np.float64]

_START = b'{"traceEvents":[\n'
_END = b'\n],\n"displayTimeUnit":"ns",\n"otherData":'
_BLOCK = 1 << 16
"""Bytes that are parsed at once: few enough that the events fit into the cache, and are gone before
the garbage collector looks at them.
"""

BESIDE = "beside_events"
"""The key in the metadata for what a file of another tool has beside its list of events."""


def read(data: bytes) -> TraceBuilder:
    """A builder with all that the file says. Raises UserError if it is no Chrome JSON trace."""
    builder = read_lines(data)
    return builder if builder is not None else read_any(data)


def read_any(data: bytes) -> TraceBuilder:
    """The same for any file, whoever wrote it, and however broken it is."""
    document = Document(data)
    if not document.lists:
        raise UserError('JSON, but no trace: no list of events and no "traceEvents"')
    reader = EventReader(document.places.event)
    reader.builder.findings = document.findings
    other = document.beside.get("otherData")
    sealed = other.get(envelope.NAME) if isinstance(other, dict) else None
    if isinstance(sealed, dict):
        reader.open(sealed)
    else:
        if document.beside:
            reader.builder.metadata[BESIDE] = document.beside
        _tell_escapes(data, document)
    long_work.stage("taking in events", document.count, "events")
    document.events.reverse()
    while document.events:  # each is gone when it is taken, for the memory
        first, events = document.events.pop()
        for number, event in enumerate(events, first):
            reader.take(number, event)
        long_work.reached(first)
    return reader.finish()


def _tell_escapes(data: bytes, document: Document) -> None:
    if b"\\" not in data:
        return
    places = document.places

    def told(place: int, rule: Rule, shown: str) -> None:
        document.findings.add(lambda: places.event_at(place), rule, shown)

    for start, stop in places.stretches():
        escapes.look(data, start, stop, told)


def _line(number: int) -> str:
    """Where the event with this number is in a file as our writer writes it."""
    return f"event {number} (line {number + 1})"


class _Unlike(Exception):
    """The file has something that our writer does not write."""


def read_lines(data: bytes) -> TraceBuilder | None:
    """The same for a file as our writer writes it; None for any other."""
    end = data.rfind(_END)
    if not data.startswith(_START) or end < len(_START):
        return None
    try:
        rest = orjson.loads(b"{" + data[end + _END.index(b'"') :])
        sealed = rest["otherData"][envelope.NAME]
        if len(rest) > 2 or not isinstance(sealed, dict):
            return None
        reader = EventReader(_line)
        reader.open(sealed)
        builder = reader.builder
        known = [*builder.lanes], [*builder.processes], [*builder.counter_tracks]
        number = 1
        for events in _blocks(data, len(_START), end):
            _take(reader, number, events)
            number += len(events)
        reader.finish()
    except (_Unlike, UserError, orjson.JSONDecodeError, KeyError, TypeError):
        return None  # what is wrong with the file, and where, says the way for any file
    if known != (builder.lanes, builder.processes, builder.counter_tracks):
        return None  # rows that no envelope names: their names may stand behind them
    return builder


def _blocks(data: bytes, start: int, end: int) -> Iterator[list[Json]]:
    """The events of some thousand lines at a time."""
    while True:
        stop = data.find(b",\n", start + _BLOCK, end)
        stop = end if stop < 0 else stop
        events = orjson.loads(b"[%b]" % data[start:stop])
        if not events:
            raise _Unlike
        yield events
        long_work.reached(stop)
        if stop == end:
            return
        start = stop + len(b",\n")


def _take(reader: EventReader, first: int, events: list[dict[str, Json]]) -> None:
    """Take events, the first of which has the number `first` in the file."""
    slices, numbers = [], []
    for number, event in enumerate(events, first):
        phase = event["ph"]
        if phase == "X":
            slices.append(event)
            numbers.append(number)
        elif not isinstance(phase, str):
            raise _Unlike
        elif phase != "M":  # names are in the envelope too
            if is_rounded(event.get("ts")):
                raise _Unlike
            reader.take(number, event)
    if slices:
        _take_slices(reader, slices)
        reader.numbers.extend(numbers)


_FIELDS = itemgetter("ts", "dur", "pid", "tid", "name", "cat", "args")
_TYPES = (float, float, int, int, str, str, dict)


def _take_slices(reader: EventReader, events: list[dict[str, Json]]) -> None:
    builder, origin, lanes = reader.builder, reader.opened.origin, reader.opened.lanes
    fields = list(zip(*map(_FIELDS, events)))
    if any(set(map(type, field)) != {type_} for field, type_ in zip(fields, _TYPES)):
        raise _Unlike
    ts, dur, _, tid, names, categories, arguments = fields
    begin, end = _ns(ts, dur)
    extremes = (int(part(times)) for part in (np.min, np.max) for times in (begin, end))
    if origin not in CLOCK or any(origin + time not in CLOCK for time in extremes):
        raise _Unlike
    plain_categories = [
        failures.read_category(category, of_slice.get("status")) if "," in category else category
        for category, of_slice in zip(categories, arguments)
    ]
    first = builder.slices(
        [lanes[id_] for id_ in tid],
        begin + origin,
        end + origin,
        _ids(builder, names),
        _ids(builder, plain_categories),
    )
    add = builder.arguments.add
    for row, of_slice in enumerate(arguments, first):
        add(row, of_slice)


def _ns(ts: Sequence[float], dur: Sequence[float]) -> tuple[Ints, Ints]:
    """Begins and ends in ns, as `times` takes them."""
    whole, rest = zip(*(_exact(times) for times in (ts, dur)))
    return whole[0] + _nearest(rest[0]), whole[0] + whole[1] + _nearest(rest[0] + rest[1])


def _exact(times: Sequence[float]) -> tuple[Ints, Floats]:
    us = np.array(times)
    if not np.all(np.abs(us) < EXACT_US):
        raise _Unlike
    whole = np.trunc(us)
    return whole.astype(np.int64) * 1000, (us - whole) * 1000


def _nearest(rest: Floats) -> Ints:
    ns: Ints = np.rint(rest).astype(np.int64)
    return ns


def _ids(builder: TraceBuilder, texts: Sequence[str]) -> list[int]:
    ids = {text: builder.strings.id(text) for text in dict.fromkeys(texts)}
    return [ids[text] for text in texts]
