"""The pass-event log (`.events.jsonl`): passes alone, one a line, for people who have an observer
of their own.

The first line says what the file is; each further line is one pass, in any order:

    {"pass_events": 1, "metadata": {"kernel": "main", "target": "llvm"}}
    {"name": "LegalizeOps", "sequence": 3, "depth": 1, "parent_sequence": 0, "phase": "lower",
     "start_ns": 1200, "end_ns": 5300, "pid": 71, "tid": 71, "thread_name": "MainThread", "context":
     0}
    {"name": "FuseTIR", "sequence": 4, "depth": 1, "start_ns": 5400, "end_ns": null, "failed_ns":
    6000,
     "error": {"type": "ValueError", "cause": "exception", "message": "tile 24 is not a multiple of
     16"}}

`name`, `sequence`, `depth`, `start_ns` and `end_ns` (null if the pass never ended) are required.
Optional are `parent_sequence`, `phase`, `failed_ns` (when an unfinished pass was given up), `error`
(`type`, `message`, `detail`, `cause`), `pid`, `tid`, `thread_name`, `context` (a number; sequences
restart in each) and `args` (an object with anything else). Times are nanoseconds of one monotonic
clock. Metadata `kernel`, `target` and `cache` (`hit`, `miss`) are understood. Everything but passes
is lost on a trip through this format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np
import orjson

from tilelang_trace import limits, long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats.chrome_json.times import CLOCK
from tilelang_trace.trace.arguments import (
    CONTEXT,
    CONTEXT_NAME,
    ERROR_STATUSES,
    FAILED,
    INCOMPLETE,
    KINDS,
    OK,
    OPEN,
    PASS,
)
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.error_argument import error_argument
from tilelang_trace.trace.json_values import Json, levels
from tilelang_trace.trace.model import Lane, Trace

VERSION = 1
_CHUNK = 4096
_REQUIRED = ("name", "sequence", "depth", "start_ns", "end_ns")
_TYPES: dict[str, tuple[type, str]] = {
    "name": (str, "text"),
    "phase": (str, "text"),
    "thread_name": (str, "text"),
    "error": (dict, "object"),
    "args": (dict, "object"),
}
_OWN = ("sequence", "depth", "parent_sequence", "phase", "status", "error")


# ---------------------------------------------------------------------------------- writing


def write(trace: Trace) -> Iterator[bytes]:
    """The file, in pieces: the passes of a Trace by the time they began."""
    yield orjson.dumps({"pass_events": VERSION, "metadata": dict(trace.metadata)}) + b"\n"
    slices = trace.slices
    kinds = trace.kinds()
    contexts = trace.arguments.values("context")
    kind_pass, kind_context = KINDS.index(PASS), KINDS.index(CONTEXT)
    context: list[int | None] = []
    depth: list[int] = []
    for row, parent in enumerate(slices.parent.tolist()):
        if kinds[row] == kind_context:
            context.append(contexts.get(row))
            depth.append(0)
        else:
            context.append(context[parent] if parent >= 0 else None)
            is_in_pass = bool(parent >= 0 and kinds[parent] == kind_pass)
            depth.append(depth[parent] + is_in_pass if parent >= 0 else 0)
    context = [number if _is_number(number) else None for number in context]
    order = slices.begin.argsort(kind="stable").astype(np.int32)
    order = order[kinds[order] == kind_pass]
    for start in range(0, len(order), _CHUNK):
        rows = order[start : start + _CHUNK]
        lines = []
        for number, row, arguments in zip(
            count(start), rows.tolist(), trace.arguments.of_rows(rows)
        ):
            numbers = {"sequence": number, "depth": depth[row]}
            line = _line(trace, row, numbers | _in_log(arguments), context[row])
            lines.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        yield b"".join(lines)
        long_work.reached(start + _CHUNK)


def _is_number(value: Json) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and -(2**63) <= value < 2**63


def _in_log(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments of a pass, without those that another tool has given a meaning of its own."""

    def is_as_told(name: str, value: Json) -> bool:
        if name in ("sequence", "depth"):
            return _is_number(value) and value >= 0
        if name == "parent_sequence":
            return _is_number(value)
        return name not in _TYPES or isinstance(value, _TYPES[name][0])

    return {name: value for name, value in arguments.items() if is_as_told(name, value)}


def _line(
    trace: Trace, row: int, arguments: Mapping[str, Json], context: int | None
) -> dict[str, Json]:
    status = arguments.get("status", OK)
    end = int(trace.slices.end[row])
    line: dict[str, Json] = {
        "name": trace.name(row),
        "sequence": arguments.get("sequence"),
        "depth": arguments.get("depth"),
        "parent_sequence": arguments.get("parent_sequence"),
        "phase": arguments.get("phase"),
        "start_ns": int(trace.slices.begin[row]),
        "end_ns": end if status == OK else None,
    }
    if status != OK:
        line["failed_ns"] = end
    if "error" in arguments:
        line["error"] = arguments["error"]
    lane = trace.lanes[int(trace.slices.lane[row])]
    if lane.thread is not None:
        thread = trace.threads[lane.thread]
        for key, id_ in (("pid", trace.processes[thread.process].pid), ("tid", thread.tid)):
            line[key] = id_ if _is_number(id_) else None
        line["thread_name"] = thread.name
    if context is not None:
        line["context"] = context
    rest = {name: value for name, value in arguments.items() if name not in _OWN}
    if status != OK:
        rest["status"] = status
    if rest:
        line["args"] = rest
    return line


# ---------------------------------------------------------------------------------- reading


def read(data: bytes) -> TraceBuilder:
    """A builder with the passes of a log, and a context slice for each numbered context.

    Raises UserError if it is no log.
    """
    header, *lines = data.split(b"\n")
    builder = TraceBuilder()
    builder.metadata = dict(_header(header))
    reader = _Reader(builder)
    for number, line in enumerate(lines, 2):
        if line.strip():
            reader.take(number, line)
    reader.finish()
    return builder


def _header(line: bytes) -> Mapping[str, Json]:
    header = _object(1, line)
    if not isinstance(header.get("pass_events"), int):
        raise UserError('line 1: no pass-event log: no "pass_events" number')
    if header["pass_events"] > VERSION:
        raise UserError(
            f"line 1: pass-event log of version {header['pass_events']}, this tilelang-trace reads "
            f"up to {VERSION}: upgrade it"
        )
    metadata = header.get("metadata", {})
    if not isinstance(metadata, dict):
        raise UserError('line 1: "metadata" is no object')
    return metadata


def _object(number: int, line: bytes) -> dict[str, Json]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UserError(f"line {number}: not valid JSON: {error.msg}") from None
    deepest = limits.current().nesting + 2  # an argument lies in `args` in the line
    if line.count(b"{") + line.count(b"[") > deepest and levels(value) > deepest:
        raise limits.exceeded(
            f"an argument of {levels(value) - 2} levels in line {number}", "nesting"
        )
    if not isinstance(value, dict):
        raise UserError(f"line {number}: not an object")
    return value


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _error(given: Mapping[str, Json]) -> dict[str, Json]:
    """An error as the log has it, within the contract: a message of one line, a detail that is not
    too long.
    """
    text = str(given.get("detail") or given.get("message") or "")
    error = error_argument(str(given.get("type") or ""), str(given.get("cause") or "unknown"), text)
    if "detail" not in given and error["detail"] == error["message"]:
        del error["detail"]
    return error


@dataclass
class _Pass:
    line: int
    begin: int
    end: int | None
    failed: int | None
    name: str
    lane: int
    context: int | None
    depth: int
    arguments: dict[str, Json]
    last_child: _Pass | None = None

    @property
    def status(self) -> str:
        return str(self.arguments["status"])


class _Reader:
    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.passes: list[_Pass] = []
        self.lanes: dict[tuple[Json, Json, Json], int] = {}
        self.processes: dict[Json, int] = {}

    def take(self, number: int, line: bytes) -> None:
        event = _object(number, line)
        for key in _REQUIRED:
            if key not in event:
                raise UserError(f"line {number}: the pass has no {key!r}")
        for key in ("sequence", "depth", "start_ns"):
            self._number(number, event, key)
        for key in ("sequence", "depth"):
            if event[key] < 0:
                raise UserError(f"line {number}: {key!r} is below zero: {event[key]}")
        for key in ("end_ns", "failed_ns", "parent_sequence", "context", "pid", "tid"):
            if event.get(key) is not None:
                self._number(number, event, key)
        for key, (kind, words) in _TYPES.items():
            if event.get(key) is not None and not isinstance(event[key], kind):
                raise UserError(f"line {number}: {key!r} is no {words}: {_shown(event[key])}")
        if event["name"] is None:
            raise UserError(f"line {number}: 'name' is null")
        arguments: dict[str, Json] = {"sequence": event["sequence"], "depth": event["depth"]}
        for key in ("parent_sequence", "phase"):
            if event.get(key) is not None:
                arguments[key] = event[key]
        if event.get("error") is not None:
            arguments["error"] = _error(event["error"])
        more = event.get("args")
        if more is not None:
            arguments.update((k, v) for k, v in more.items() if k not in _OWN or k == "status")
        self.passes.append(
            _Pass(
                number,
                event["start_ns"],
                event["end_ns"],
                event.get("failed_ns"),
                event["name"],
                self._lane(event),
                event.get("context"),
                event["depth"],
                arguments,
            )
        )

    @staticmethod
    def _number(number: int, event: Mapping[str, Json], key: str) -> None:
        value = event[key]
        if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
            raise UserError(f"line {number}: {key!r} is no 64-bit integer: {_shown(value)}")
        if key.endswith("_ns") and value not in CLOCK:
            raise UserError(f"line {number}: {key!r} is centuries away: {value}")

    def _lane(self, event: Mapping[str, Json]) -> int:
        pid, tid, name = event.get("pid"), event.get("tid"), event.get("thread_name")
        key = (pid, tid, name if tid is None else None)
        if key not in self.lanes:
            if pid not in self.processes:
                named = self.builder.metadata.get("process_name") or self.builder.metadata.get(
                    "kernel"
                )
                self.processes[pid] = self.builder.process(str(named or "compile"), pid)
            thread = self.builder.thread(
                self.processes[pid], str(name) if name else "MainThread", tid
            )
            self.lanes[key] = self.builder.lane(Lane(thread))
        return self.lanes[key]

    def finish(self) -> None:
        """Give unfinished passes their end and status, and add all slices to the builder."""
        self.passes.sort(key=lambda p: (p.begin, p.depth))
        self._nest()
        for p in reversed(self.passes):
            self._judge(p)
        contexts: dict[tuple[int, int], list[_Pass]] = {}
        for p in self.passes:
            if p.context is not None:
                contexts.setdefault((p.lane, p.context), []).append(p)
        # Contexts stand first: one that lasts as long as its only pass is the pass's parent.
        for (lane, context), passes in contexts.items():
            end = max(p.end for p in passes if p.end is not None)
            last = [p for p in passes if p.depth == passes[0].depth][-1]
            arguments = {"status": last.status, "context": context}
            if last.status in ERROR_STATUSES:
                error = last.arguments.get("error", {})
                arguments["status"] = INCOMPLETE
                arguments["error"] = {k: v for k, v in error.items() if k != "detail"}
            begin = passes[0].begin
            self.builder.slice(lane, begin, end, CONTEXT_NAME, CONTEXT, arguments)
        for p in self.passes:
            assert p.end is not None
            self.builder.slice(p.lane, p.begin, p.end, p.name, PASS, p.arguments)
        lines = [p.line for p in self.passes]
        self.builder.place = lambda row: (
            f"line {lines[row - len(contexts)]}" if row >= len(contexts) else "the log"
        )

    def _nest(self) -> None:
        """Find each pass's last child, and an end for those that never ended."""
        stacks: dict[tuple[int, int | None], list[_Pass]] = {}
        latest = 0
        for p in self.passes:
            latest = max(latest, p.begin + 1, p.end or 0, p.failed or 0)
            stack = stacks.setdefault((p.lane, p.context), [])
            while stack and stack[-1].depth >= p.depth:
                given_up = stack.pop()
                if given_up.failed is None:
                    given_up.failed = p.begin
            if stack:
                stack[-1].last_child = p
            stack.append(p)
        for stack in stacks.values():
            limit = latest
            for p in stack:
                limit = p.end if p.end is not None else min(limit, p.failed or limit)
                p.failed = limit

    def _judge(self, p: _Pass) -> None:
        """Set the status, unless the log says it: of unfinished passes the innermost one failed."""
        if p.end is not None:
            p.arguments["status"] = OK
            return
        p.end = p.failed
        if p.arguments.get("status") == OPEN:
            return
        child = p.last_child
        if p.arguments.get("status") not in ERROR_STATUSES:
            through = child is not None and child.status in ERROR_STATUSES
            p.arguments["status"] = INCOMPLETE if through else FAILED
        p.arguments.setdefault("error", {"type": "", "cause": "unknown", "message": "never ended"})
