"""What became of the slices of one journal that never ended, and why its recording is not whole."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilelang_trace.formats.pftrace.reader import Reading
from tilelang_trace.recording import folder
from tilelang_trace.recording.death import crash_stack
from tilelang_trace.recording.death.process_end import Death, ProcessEnd, TimeOut, death_of
from tilelang_trace.recording.sink import IDENT, UNSEEN
from tilelang_trace.trace.arguments import FAILED, INCOMPLETE, OK, OPEN
from tilelang_trace.trace.error_argument import enclosing, error_argument
from tilelang_trace.trace.json_values import Json

_STOPPED = enclosing(error_argument("", "detached", "recording stopped while this ran"))
"""The `error` of what went on when the recording could not (on a full disk, for example)."""


@dataclass
class Settled:
    """What a journal tells beside its slices."""

    reasons: list[str] = field(default_factory=list)
    """Why the recording is not whole; empty if it is."""
    exit: dict[str, Json] = field(default_factory=dict)
    """What the metadata's `exit` says of the process, as far as the journal knows more than its
    parent: the signal, and the Python stack if no slice failed by the process's death to bear it.
    """


def settle(
    reading: Reading,
    path: Path,
    alive: bool,
    end: ProcessEnd | None,
    timeout: TimeOut | None = None,
) -> Settled:
    """Give each slice of a journal its status; `end` is how its process ended, if that was seen,
    and `timeout` says that the script and what it had started were ended then.
    """
    settled = Settled()
    header = reading.documents.get(folder.START)
    pid = header.get("pid") if isinstance(header, dict) else None
    closing = reading.documents.get(folder.END)
    last = reading.last_time
    timed_out = timeout if timeout is not None and path in timeout.stacks else None
    death: Death | None = None
    unfinished: dict[str, Json] = {"status": OPEN}
    if isinstance(closing, Mapping):
        last = max(last, int(closing.get("time_ns", 0)))
        if closing.get("how") == "trouble":
            settled.reasons.append(f"recording stopped: {closing.get('why')}")
            unfinished = {"status": INCOMPLETE, "error": _STOPPED}
    elif alive and end is None:
        if reading.unfinished and pid != os.getpid():
            settled.reasons.append(f"process {pid} still ran a pass when this was written")
        last = max(last, time.monotonic_ns())
    else:
        last = last if end is None else max(last, end.time_ns)
        death = death_of(end, crash_stack.read(path))
        if timed_out is not None:
            last = max(last, timed_out.time_ns)
            death = replace(death, error=timed_out.error(path), culprit=None)
        unfinished = {"status": INCOMPLETE, "error": enclosing(death.error)}
        if timed_out is None and (end is None or not end.signal):  # else the parent tells
            settled.reasons += _how_it_ended(pid, death.signal, bool(reading.unfinished))
        if death.signal:
            settled.exit["signal"] = death.signal
    settled.reasons += _unseen(reading)

    has_failed = False
    for lane, rows in reading.unfinished.items():
        for row in rows:
            reading.arguments[row].update(unfinished)
        if death is not None and _is_to_blame(reading, lane, death):
            reading.arguments[rows[-1]].update({"status": FAILED, "error": death.error})
            has_failed = True
        # The last thing that was seen may be a begin: those around it end no earlier than it does.
        last = max(last, *(reading.builder.begins[row] + 1 for row in rows))
    for row in (row for rows in reading.unfinished.values() for row in rows):
        reading.builder.ends[row] = last
    reading.arguments.set_default("status", OK, reading.rows)
    if timed_out is not None:
        _failed_by(timed_out, path, reading)
    if death is not None and death.signal and death.stack and not has_failed:
        settled.exit["stack"] = death.stack
    return settled


def _failed_by(timeout: TimeOut, path: Path, reading: Reading) -> None:
    """What failed after the time was over failed for that reason, whatever the script made of the
    signal.
    """
    error = timeout.error(path)
    for row in reading.arguments.rows_with("error"):
        arguments = reading.arguments[row]
        if reading.builder.ends[row] >= timeout.time_ns:
            arguments["error"] = error if arguments["status"] == FAILED else enclosing(error)


def _how_it_ended(pid: Json, killer: str, in_the_middle: bool) -> list[str]:
    how = f"process {pid} was killed by {killer}" if killer else f"process {pid} ended"
    if in_the_middle:
        return [f"{how} in the middle of a pass or PassContext"]
    # A process may leave by os._exit, as forked workers do: no harm if all slices had ended.
    return [how] if killer else []


def _unseen(reading: Reading) -> list[str]:
    unseen = sum(
        value
        for name, value in reading.documents.items()
        if name.startswith(f"{UNSEEN}.") and isinstance(value, int)
    )
    if not unseen:
        return []
    which = "a pass that ended" if unseen == 1 else f"{unseen} passes that ended"
    return [f"{which} had begun before recording did"]


def _is_to_blame(reading: Reading, lane: int, death: Death) -> bool:
    """Whether what ran on this lane failed by the death of its process: not if another crashed."""
    thread = reading.builder.lanes[lane].thread
    if death.culprit is None or thread is None:
        return True
    tid = reading.builder.threads[thread].tid
    return reading.documents.get(f"{IDENT}.{tid}") == death.culprit
