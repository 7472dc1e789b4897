"""Journals -> Trace -> the file that was asked for; also for journals whose process died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.pftrace_reader import Reading, read_events
from tilelang_trace.recording import facts, folder, journal
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.say import say
from tilelang_trace.trace.arguments import (
    COMPILE,
    CONTEXT,
    FAILED,
    INCOMPLETE,
    KINDS,
    OK,
    OPEN,
    PASS,
)
from tilelang_trace.trace.build import Parts, TraceBuilder, assemble
from tilelang_trace.trace.error_argument import enclosing, error_argument
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases
from tilelang_trace.version import __version__


@dataclass(frozen=True)
class ProcessEnd:
    """How the process that was recorded ended, as its parent saw it."""

    pid: int
    time_ns: int
    """Monotonic clock."""
    code: int
    """Exit code, or minus the number of the signal that killed it, as `subprocess` says it."""
    signal: str = ""
    """Name of that signal, such as `SIGSEGV`."""
    process_name: str = ""

    def error(self) -> dict[str, Json]:
        """The `error` of what was running when the process ended."""
        if self.signal:
            return error_argument(self.signal, "signal", f"the process was killed by {self.signal}")
        text = f"the process exited with code {self.code} while this was running"
        return error_argument("", "unknown", text)


def finish(journals: Path, output: Path, end: ProcessEnd | None = None) -> Trace:
    """Write the trace of a folder of journals to a file and return it. Raises UserError."""
    trace = read_journals(journals, end)
    files.write(trace, output)
    return trace


def write_or_say(journals: JournalFolder, *, keep: bool = False) -> None:
    """Write the trace of the journals, and delete them unless told to keep them.

    If the trace can't be written, the journals stay and the person is told where.
    """
    try:
        trace = finish(journals.path, journals.output)
        if not (trace.is_kind(PASS) | trace.is_kind(COMPILE)).any():
            say(f"{journals.output}: no pass ran while this was recorded")
        if not keep:
            journals.remove()
    except UserError as error:
        say(f"{error}; what was recorded is in {journals.path}")
    except Exception as error:
        say(
            f"{journals.output}: the trace could not be written, what was recorded is in "
            f"{journals.path} ({type(error).__name__}: {error})"
        )


def read_journals(journals: Path, end: ProcessEnd | None = None) -> Trace:
    """The Trace that a folder of journals holds, whether their processes ended, died, or still run.

    What was still open is `open` if the recording ended or goes on, and error-flagged if its
    process died.
    """
    builder = TraceBuilder()
    metadata: dict[str, Json] = {}
    reasons: list[str] = []
    for path in folder.journals_in(journals):
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from None
        alive = journal.is_alive(path)
        reading = read_events(data, builder)
        header = reading.documents.get(folder.START)
        header = header if isinstance(header, dict) else {}
        closing = reading.documents.get(folder.END)
        reasons += _settle(reading, closing, alive, end, header.get("pid"))
        metadata = _joined(metadata, header.get("metadata"), closing)
    if not metadata:
        metadata = facts.metadata(__version__)
        if end is not None:
            metadata["process_name"] = end.process_name
    if end is not None:
        metadata["exit"] = {"code": end.code, **({"signal": end.signal} if end.signal else {})}
        if end.signal:
            reasons.insert(0, f"the process was killed by {end.signal}")
    metadata["recording"] = {"complete": not reasons, "reason": "; ".join(dict.fromkeys(reasons))}
    builder.metadata = metadata
    return with_phases(_kernels_on_contexts(builder.build()))


def _joined(known: dict[str, Json], header: Json, closing: Json) -> dict[str, Json]:
    """Metadata of one more process: the first one's counts; versions are known best at a process's
    end.
    """
    if not isinstance(header, dict):
        return known
    joined = known or dict(header)
    if isinstance(closing, Mapping):
        joined["versions"] = {**joined.get("versions", {}), **closing.get("versions", {})}
    return joined


def _settle(
    reading: Reading, closing: Json, alive: bool, end: ProcessEnd | None, pid: Json
) -> list[str]:
    """Give every slice of a journal its status; returns why the recording is not whole, if it is
    not.
    """
    builder = reading.builder
    reasons: list[str] = []
    last = reading.last_time
    error: dict[str, Json] | None = None
    if isinstance(closing, Mapping):
        last = max(last, int(closing.get("time_ns", 0)))
        if closing.get("how") == "trouble":
            reasons.append(f"recording stopped: {closing.get('why')}")
    elif not alive:
        if end is not None and end.pid == pid:
            last, error = max(last, end.time_ns), end.error()
        else:
            error = error_argument("", "unknown", "the process ended while this was running")
        # A process may leave by os._exit, as forked workers do: no harm if all slices had ended.
        if reading.unfinished:
            reasons.append(f"process {pid} ended in the middle of a pass or PassContext")

    for rows in reading.unfinished.values():
        innermost = rows[-1]
        for row in rows:
            builder.ends[row] = max(last, builder.begins[row] + 1)
            if error is None:
                settled: dict[str, Json] = {"status": OPEN}
            elif row == innermost:
                settled = {"status": FAILED, "error": error}
            else:
                settled = {"status": INCOMPLETE, "error": enclosing(error)}
            reading.arguments.setdefault(row, {}).update(settled)
    for row in reading.rows:
        arguments = reading.arguments.get(row, {})
        arguments.setdefault("status", OK)
        builder.arguments.add(row, arguments)
    return reasons


def _kernels_on_contexts(trace: Trace) -> Trace:
    """Move the kernel's label from the first pass of a context, where a journal has it, to the
    context.
    """
    kinds = trace.kinds()
    is_pass, is_context = kinds == KINDS.index(PASS), kinds == KINDS.index(CONTEXT)
    parent = trace.slices.parent
    columns = []
    for column in trace.arguments.columns:
        if column.name == "kernel" and column.type == "string":
            rows = column.rows.copy()
            lower = is_pass[rows]
            while lower.any():  # a step of a compile may lie between a context and its first pass
                rows[lower] = parent[rows[lower]]
                lower &= ~is_context[rows] & (parent[rows] >= 0)
            order = np.argsort(rows)
            column = replace(column, rows=rows[order], values=column.values[order])
        columns.append(column)
    return assemble(replace(Parts.of(trace), columns=columns))
