"""A trace of what a running compile has done so far, and where it is. The compile is only looked
at: it goes on, and need not answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tilelang_trace.errors import UserError
from tilelang_trace.formats import files, naming
from tilelang_trace.recording import finish, folder, processes
from tilelang_trace.recording.live.view import LiveView, passes, span, where
from tilelang_trace.recording.tree import FOLDER_ENDING
from tilelang_trace.trace.model import Trace


@dataclass(frozen=True)
class Snapshot:
    """What was written, and what was going on."""

    path: Path
    where: tuple[str, ...]
    """A line for each thread that is in something."""


def take(target: str, path: str | None) -> Snapshot:
    """Write what is recorded so far of an output (or its folder of journals) or by a process, to
    this path, or beside the output. Raises UserError.
    """
    if path is not None:
        naming.check_pattern(path, [])
    journals = _journals(target)
    _check(target, journals)
    lines = tuple(_lines(journals))
    try:
        trace = finish.read_journals(journals)
    except UserError:
        if journals.exists():
            raise
        raise UserError(f"{target}: the recording has just ended") from None
    written = Path(path) if path is not None else _beside(journals, trace)
    recording = {**trace.metadata["recording"], "complete": False, "reason": "a snapshot"}
    files.write(replace(trace, metadata={**trace.metadata, "recording": recording}), written)
    return Snapshot(written, lines)


def _lines(journals: Path) -> Iterator[str]:
    view = LiveView(journals)
    view.update()
    now = time.monotonic_ns()
    for thread in view.threads():
        if thread.open:
            since = span(now - thread.open[-1].begun_ns)
            name = f"process {thread.pid}, {thread.name or thread.tid}"
            yield f"{name}: {where(thread)}, for {since} ({passes(thread.passes)} done)"


def _journals(target: str) -> Path:
    """The folder of journals that a person names."""
    path = Path(target)
    if path.is_dir():
        return path
    journals = folder.journals_of(path) if path.name else path
    if journals.is_dir() or not target.isdecimal():
        return journals
    return _of_process(int(target))


def _of_process(pid: int) -> Path:
    if not processes.can_be_listed():
        raise UserError(f"{pid}: this system does not say what a process records: name the output")
    try:
        found = processes.journal_folders(pid)
    except PermissionError:
        raise UserError(f"{pid}: somebody else's process") from None
    if not found:
        raise UserError(f"{pid}: no such process records anything")
    if len(found) > 1:
        outputs = ", ".join(str(path).removesuffix(FOLDER_ENDING) for path in found)
        raise UserError(f"{pid}: it records more than one thing; name one: {outputs}")
    return found[0]


def _check(target: str, journals: Path) -> None:
    """Raises UserError if nothing is recorded there at this moment."""
    if journals.is_dir() and folder.is_in_use(journals):
        if not folder.journals_in(journals):
            raise UserError(f"{target}: nothing has been compiled there yet")
    elif folder.journals_in(journals):
        output = str(journals).removesuffix(FOLDER_ENDING)
        command = folder.finish_command(journals, output)
        raise UserError(f"{target}: its recording did not end; to finish it: {command}")
    else:
        raise UserError(f"{target}: nothing is recorded there")


def _beside(journals: Path, trace: Trace) -> Path:
    """`mlp.snapshot.pftrace` beside `mlp.pftrace`."""
    output = Path(str(journals).removesuffix(FOLDER_ENDING))
    pid = trace.processes[0].pid if trace.processes else ""
    output = naming.filled(output, {"pid": str(pid), "kernel": "all"})
    ending = naming.ending_of(output)
    return output.with_name(f"{output.name.removesuffix(ending)}.snapshot{ending}")
