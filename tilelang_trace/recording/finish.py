"""Journals -> Trace -> the file that was asked for; also for journals whose process died."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tilelang_trace.analysis.selection.choose import kernel_names, no_match, select
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files, naming
from tilelang_trace.formats.pftrace.reader import read_events
from tilelang_trace.recording import facts, folder, journal
from tilelang_trace.recording.death.process_end import ProcessEnd
from tilelang_trace.recording.disk_sink import MODULE_FILE
from tilelang_trace.recording.failed_pass import FAILED_PASS
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.ir_facts import COST, IrCost
from tilelang_trace.recording.kept import Kept
from tilelang_trace.recording.options import Keep
from tilelang_trace.recording.say import say
from tilelang_trace.recording.settle import settle
from tilelang_trace.trace.arguments import COMPILE, CONTEXT, KINDS, PASS
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases
from tilelang_trace.version import __version__


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    path: Path
    trace: Trace


@dataclass(frozen=True)
class Finished:
    """What became of a recording."""

    trace: Trace
    """All that was recorded."""
    files: tuple[Written, ...]
    """Empty if nothing failed and only a failure was to be kept."""
    unmatched: tuple[str, ...] | None
    """The kernels that there are, if those to be kept are not among them; then all were kept."""


def finish(
    journals: Path,
    output: Path,
    end: ProcessEnd | None = None,
    *,
    keep: Keep | None = None,
    raised: bool = False,
    if_empty: bool = True,
    about: Mapping[str, Json] | None = None,
) -> Finished:
    """Write what is to be kept of a folder of journals; `raised` says that the block that was
    recorded ended by an exception. Raises UserError.

    `about` is added to the metadata, and what it says of `recording` to that. Without `if_empty`
    nothing is written if no pass ran.

    The name of the output may still have the fields `{pid}` and `{kernel}`.
    """
    keep = keep or Keep()
    trace = read_journals(journals, end)
    if about:
        recording = {**trace.metadata["recording"], **about.get("recording", {})}
        trace = replace(trace, metadata={**trace.metadata, **about, "recording": recording})
    if not if_empty and not _compiled_something(trace):
        return Finished(trace, (), None)
    selected = select(trace, keep.selection)
    unmatched = None if selected.matched else tuple(kernel_names(trace))
    failed = raised or (end is not None and (end.code != 0 or end.timeout is not None))
    if keep.on_failure_only and not failed and not any(failures(p.trace) for p in selected.parts):
        return Finished(trace, (), unmatched)
    output = naming.filled(output, {"pid": str(end.pid if end is not None else os.getpid())})
    paths = naming.for_kernels(output, [part.kernel for part in selected.parts])
    written = tuple(Written(path, part.trace) for path, part in zip(paths, selected.parts))
    for file in written:
        files.write(file.trace, file.path)
    return Finished(trace, written, unmatched)


def write_or_say(
    journals: JournalFolder,
    *,
    keep: Keep | None = None,
    raised: bool = False,
    keep_journals: bool = False,
    if_empty: bool = True,
    about: Mapping[str, Json] | None = None,
) -> Finished | None:
    """Write what is to be kept of the journals, and delete them unless told otherwise.

    `about` is added to its metadata. Without `if_empty` nothing is written if no pass ran. If the
    trace can't be written, the journals stay, the person is told where, and the result is None.
    """
    done = finish_or_say(journals, keep=keep, raised=raised, if_empty=if_empty, about=about)
    if done is None:
        if not keep_journals:
            journals.release()
        return None
    if if_empty and not journals.told_of_trouble and not _compiled_something(done.trace):
        say(f"{journals.output}: no pass ran while this was recorded")
    elif done.unmatched is not None and keep is not None:
        say(no_match(keep.selection.only, done.unmatched))
    if not keep_journals:
        journals.remove()
    return done


def finish_or_say(
    journals: JournalFolder,
    end: ProcessEnd | None = None,
    *,
    keep: Keep | None = None,
    raised: bool = False,
    if_empty: bool = True,
    about: Mapping[str, Json] | None = None,
) -> Finished | None:
    """As `finish`, but if the trace can't be written, the person is told so and where the journals
    are, and the result is None.
    """
    try:
        return finish(
            journals.path,
            journals.output,
            end,
            keep=keep,
            raised=raised,
            if_empty=if_empty,
            about=about,
        )
    except UserError as error:
        _tell(journals, f"{error}; what was recorded is in {journals.path}")
    except Exception as error:
        _tell(
            journals,
            f"{journals.output}: the trace could not be written, what was recorded is in "
            f"{journals.path} ({type(error).__name__}: {error})",
        )
    except KeyboardInterrupt:
        say(f"stopped before the trace was written; what was recorded is in {journals.path}")
        raise
    return None


def _tell(journals: JournalFolder, trouble: str) -> None:
    if not journals.told_of_trouble:
        journals.told_of_trouble = True
        say(trouble)


def _compiled_something(trace: Trace) -> bool:
    """Whether a pass ran or a kernel came from a cache."""
    return bool((trace.is_kind(PASS) | trace.is_kind(COMPILE)).any())


def read_journals(journals: Path, end: ProcessEnd | None = None) -> Trace:
    """The Trace that a folder of journals holds, whether their processes ended, died, or still run.

    What was still open is `open` if the recording ended or goes on, and error-flagged if its
    process died.
    """
    builder = TraceBuilder()
    metadata: dict[str, Json] = {}
    reasons: list[str] = []
    cost, kept = IrCost(), Kept()
    ending = end.metadata() if end is not None else {}
    main = end.pid if end is not None else None
    for path in folder.journals_in(journals):
        try:
            alive = journal.is_alive(path)  # before it is read: then all of a dead process is read
            data = files.read_bytes(path)
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from None
        reading = read_events(data, builder)
        header = reading.documents.get(folder.START)
        header = header if isinstance(header, dict) else {}
        pid = header.get("pid")
        main = pid if main is None else main
        settled = settle(
            reading, path, alive, end if pid == main else None, end.timeout if end else None
        )
        own = (COST, FAILED_PASS, MODULE_FILE)
        for row in sorted({row for name in own for row in reading.arguments.rows_with(name)}):
            arguments = reading.arguments[row]
            cost.take(arguments)
            kept.take(arguments, path)
        reading.arguments.add_to(builder.arguments)
        reasons += settled.reasons
        if pid == main:
            ending |= settled.exit
        metadata = _joined(metadata, header.get("metadata"), reading.documents.get(folder.END))
    if not metadata:
        metadata = facts.metadata(__version__)
        if end is not None:
            metadata["process_name"] = end.process_name
    if ending:
        metadata["exit"] = ending
    if end is not None and (end.signal or end.timeout):
        reasons.insert(0, end.words())
    recording = {"complete": not reasons, "reason": "; ".join(dict.fromkeys(reasons))}
    if "recording" in metadata:  # the facts about the IR that were asked for
        recording |= {**metadata["recording"], **cost.metadata()}
    elif cost.ns:
        recording |= cost.metadata()
    metadata["recording"] = recording
    metadata |= kept.metadata()
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
