"""Chrome JSON traces (`.json`): Trace -> the object form, closed, one event a line.

What Perfetto does with such a file decides how it is written: `ts` and `dur` are microseconds,
relative to the start, with all three decimals; pid and tid are small numbers of the file's own
(real ones can be too wide or come twice), a process bears the number of its first thread; a parent
stands before its children; names are UTF-8. Source of the form: the Trace Event Format document,
and Perfetto's JSON importer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from tilelang_trace.formats import envelope
from tilelang_trace.formats.chrome_json.slices import slice_lines
from tilelang_trace.formats.chrome_json.text import mended, text_of
from tilelang_trace.trace import failures
from tilelang_trace.trace.model import Trace

_CHUNK = 4096


def _us(ns: int) -> orjson.Fragment:
    """A time as microseconds, from integer digits: a float would round it."""
    return orjson.Fragment(f"{ns // 1000}.{ns % 1000:03d}")


def origin_of(trace: Trace) -> int:
    """The time that is written as 0: the start of the recording or, if that is not known, 0 itself;
    the first time of all, where else not all times would stay exact and above zero.
    """
    start = trace.metadata.get("start")
    known = start.get("monotonic_ns") if isinstance(start, Mapping) else None
    zero = known if isinstance(known, int) else 0
    first, last = envelope.earliest(trace), envelope.latest(trace)
    return first if first < zero or last - zero > envelope.EXACT_NS else zero


class _Rows:
    """The pid and tid that each lane and each counter bears in the file."""

    def __init__(self, trace: Trace) -> None:
        self.tids = list(range(1, len(trace.lanes) + 1))
        owner = [
            trace.threads[lane.thread].process if lane.thread is not None else lane.process
            for lane in trace.lanes
        ]
        count = len(trace.processes)
        first = {p: tid for tid, p in reversed(list(zip(self.tids, owner)))}
        self._process_pids = [first.get(p, len(self.tids) + 1 + p) for p in range(count)]
        # Rows that belong to no process still need one in JSON.
        self.no_process = len(self.tids) + count + 1
        self.pids = [self.pid(p) for p in owner]
        self.failures = len(self.tids) + count + 2

    def pid(self, process: int | None) -> int:
        return self.no_process if process is None else self._process_pids[process]


def write(trace: Trace) -> Iterator[bytes]:
    """The file, in pieces."""
    origin = origin_of(trace)
    rows = _Rows(trace)
    lead = b'{"traceEvents":[\n'
    for lines in _lines(trace, rows, origin):
        yield lead + lines
        lead = b",\n"
    if lead.startswith(b"{"):
        yield lead
    pids = [rows.pid(_process_of_counter(trace, k)) for k in range(len(trace.counter_tracks))]
    sealed = envelope.seal(trace, origin, rows.tids, pids)
    if len(trace.flows):
        sealed["flows"] = trace.flows.tolist()
    yield b'\n],\n"displayTimeUnit":"ns",\n"otherData":'
    yield orjson.dumps({envelope.NAME: sealed}) + b"}\n"


def _lines(trace: Trace, rows: _Rows, origin: int) -> Iterator[bytes]:
    """The events, one a line, in pieces of many lines with a comma between two."""
    yield from _joined(_names(trace, rows))
    yield from slice_lines(trace, origin, rows.pids, rows.tids)
    yield from _joined(_instants(trace, rows, origin))
    yield from _joined(_counters(trace, rows, origin))
    yield from _joined(_arrows(trace, rows, origin))
    yield from _joined(_failures(trace, rows, origin))


def _joined(events: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    while some := list(islice(events, _CHUNK)):
        yield b",\n".join(map(_line, some))


def _line(event: dict[str, Any]) -> bytes:
    if "args" in event:
        event = {**event, "args": orjson.Fragment(text_of(event["args"]))}
    return mended(orjson.dumps(event))


def _counters(trace: Trace, rows: _Rows, origin: int) -> Iterator[dict[str, Any]]:
    heads = []
    taken = set()
    for number, track in enumerate(trace.counter_tracks):
        pid, unit = rows.pid(_process_of_counter(trace, number)), track.unit or "value"
        head: dict[str, Any] = {"pid": pid, "tid": 0, "name": track.name}
        if (pid, track.name, unit) in taken:
            head["id"] = str(number)  # counters belong to processes here: else they were one
        taken.add((pid, track.name, unit))
        heads.append((head, unit))
    counters = trace.counters
    for number, time, value in zip(
        counters.track.tolist(), counters.time.tolist(), counters.value.tolist()
    ):
        if math.isfinite(value):
            head, unit = heads[number]
            yield {"ph": "C", "ts": _us(time - origin), **head, "args": {unit: value}}


def _process_of_counter(trace: Trace, track: int) -> int | None:
    counter = trace.counter_tracks[track]
    return trace.threads[counter.thread].process if counter.thread is not None else counter.process


def _names(trace: Trace, rows: _Rows) -> Iterator[dict[str, Any]]:
    for number, process in enumerate(trace.processes):
        pid = rows.pid(number)
        yield from _name("process_name", pid, pid, process.name)
        yield {
            "ph": "M",
            "ts": 0,
            "pid": pid,
            "tid": pid,
            "name": "process_sort_index",
            "args": {"sort_index": number},
        }
    for number, lane in enumerate(trace.lanes):
        text = trace.threads[lane.thread].name if lane.thread is not None else ""
        whole = f"{text} {lane.name}".strip()
        yield from _name("thread_name", rows.pids[number], rows.tids[number], whole)


def _name(kind: str, pid: int, tid: int, text: str) -> Iterator[dict[str, Any]]:
    if text:  # Perfetto counts an empty one as an error
        yield {"ph": "M", "ts": 0, "pid": pid, "tid": tid, "name": kind, "args": {"name": text}}


def _instants(trace: Trace, rows: _Rows, origin: int) -> Iterator[dict[str, Any]]:
    instants = trace.instants
    for row, arguments in enumerate(trace.instant_arguments.between(0, len(instants))):
        lane = int(instants.lane[row])
        yield {
            "ph": "i",
            "s": "t",
            "ts": _us(int(instants.time[row]) - origin),
            "pid": rows.pids[lane],
            "tid": rows.tids[lane],
            "name": trace.strings[int(instants.name[row])],
            "cat": trace.strings[int(instants.category[row])],
            "args": arguments,
        }


def _arrow_end(
    phase: str, pid: int, tid: int, time: int, number: int, category: str
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": phase,
        "ts": _us(time),
        "pid": pid,
        "tid": tid,
        "id": number,
        "name": category,
        "cat": category,
    }
    return {**event, "bp": "e"} if phase == "f" else event


def _arrow_at(
    phase: str, trace: Trace, rows: _Rows, origin: int, row: int, number: int, category: str
) -> dict[str, Any]:
    """One end of an arrow at the begin of a slice. (Perfetto takes it to the innermost slice that
    begins then; the envelope has the exact one.)
    """
    lane = int(trace.slices.lane[row])
    time = int(trace.slices.begin[row]) - origin
    return _arrow_end(phase, rows.pids[lane], rows.tids[lane], time, number, category)


def _arrows(trace: Trace, rows: _Rows, origin: int) -> Iterator[dict[str, Any]]:
    for number, (source, target) in enumerate(trace.flows.tolist(), 1):
        yield _arrow_at("s", trace, rows, origin, source, number, "flow")
        yield _arrow_at("f", trace, rows, origin, target, number, "flow")


def _failures(trace: Trace, rows: _Rows, origin: int) -> Iterator[dict[str, Any]]:
    """The row "Failures": an instant for each failed slice, and the arrow from the one to the
    other.
    """
    found = failures.failures(trace)
    if not found:
        return
    pid, tid = rows.pids[int(trace.slices.lane[found[0].row])], rows.failures
    yield from _name("thread_name", pid, tid, failures.ROW_NAME)
    category = failures.CATEGORY
    for number, failure in enumerate(found, 1 + len(trace.flows)):
        time = failure.time - origin
        yield {
            "ph": "i",
            "s": "t",
            "ts": _us(time),
            "pid": pid,
            "tid": tid,
            "name": failure.name,
            "cat": category,
            "args": {},
        }
        yield _arrow_at("s", trace, rows, origin, failure.row, number, category)
        yield _arrow_end("f", pid, tid, time, number, category)
