"""Compares compiles as a person names them: files, folders of repeated ones, or Traces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.analysis.compare.noise import judged
from tilelang_trace.analysis.compare.timeline import Align, side_by_side
from tilelang_trace.analysis.counted import measured, off_threads
from tilelang_trace.analysis.hidden import hidden_passes
from tilelang_trace.analysis.summary import wholeness
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.archives import together as archive
from tilelang_trace.opening import open_compile
from tilelang_trace.recording.tree import FOLDER_ENDING
from tilelang_trace.reports.text import plural
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

Source: TypeAlias = "str | os.PathLike[str] | Trace"

_JOURNALS = re.compile(rf"{re.escape(FOLDER_ENDING)}(\.\d+)?$")
_JOURNAL = re.compile(r"\d{20}-\d{10}-\d+\.pftrace")
"""Names of folders of journals, and of the journals in them."""


class NothingToCompare(UserError):
    """No pass ran on a side, so that a difference would say nothing."""


@dataclass(frozen=True)
class Runs:
    """One side: the repeated compiles of one thing."""

    names: tuple[str, ...]
    traces: tuple[Trace, ...]
    notes: tuple[str, ...] = ()
    """What was left out of a folder, and why."""


def compare(
    base: Source | Sequence[Source],
    new: Source | Sequence[Source],
    *,
    min_ms: float = 0.0,
    threshold: float | None = None,
) -> Comparison:
    """Compare two compiles, or two sets of repeated ones.

    A side is a path, a Trace, or several of them. The path of a folder stands for all traces in it.

        comparison = tilelang_trace.compare("before.pftrace", "after.pftrace")
        for entry in sorted(comparison.passes, key=lambda entry: -abs(entry.self_delta_ns))[:5]:
            print(entry.name, entry.self_delta_ns / 1e6, entry.verdict)

    Verdicts are those of `analysis.compare.noise`: what takes less than `min_ms` on both sides is
    not judged, and no change of less than `threshold`, a part of the base time, is one. Raises
    UserError if something is no trace, and its kind `NothingToCompare` if no pass ran on a side.
    """
    return compare_runs(
        open_runs(base, "base"), open_runs(new, "new"), round(min_ms * 1e6), threshold
    )


def compare_runs(base: Runs, new: Runs, min_ns: int, threshold: float | None) -> Comparison:
    """Align two sides, and judge what changed. Raises NothingToCompare."""
    of_all_categories = all(measured(trace)[1] for trace in (*base.traces, *new.traces))
    empty = [
        f"no pass ran in {name} ({side}): {why}"
        for side, runs in (("base", base), ("new", new))
        for name, trace in zip(runs.names, runs.traces)
        if (why := _why_empty(trace, of_all_categories))
    ]
    if empty:
        more = f" (and {len(empty) - 2} more)" if len(empty) > 2 else ""
        raise NothingToCompare(f"nothing to compare: {'; '.join(empty[:2])}{more}")
    found = compare_traces(base.traces, new.traces, base.names, new.names)
    notes = (*_losses(base), *_losses(new), *base.notes, *new.notes)
    return judged(replace(found, notes=(*found.notes, *notes)), threshold=threshold, min_ns=min_ns)


def write_both(
    comparison: Comparison,
    base: Runs,
    new: Runs,
    output: str,
    align: Align | None = None,
    min_ns: int | None = None,
) -> None:
    """Write the first run of both sides as one file for Perfetto: a .zip has them as they are, any
    other format also the difference, but for changes of less than `min_ns`. Raises UserError.
    """
    first, second = base.traces[0], new.traces[0]
    if is_archive(output):
        archive.write_both(
            archive.Original(base.names[0], first), archive.Original(new.names[0], second), output
        )
    else:
        both = side_by_side(comparison, first, second, align=align or "start", min_ns=min_ns)
        files.write(both, output)


def check_output(output: str, align: Align | None) -> None:
    """Raises UserError if both sides can't be written to a file of this name."""
    if is_archive(output):
        if align == "passes":
            raise UserError(f"{output}: the traces in a .zip stay as they are: no --align passes")
    elif files.format_for(output)[0] is files.LOG:
        raise UserError(f"{output}: a log holds one compile; use .pftrace, .json or .zip")


def is_archive(output: str) -> bool:
    """Whether a file of this name holds the two traces as they are."""
    return output.lower().endswith(archive.ENDING)


def _why_empty(trace: Trace, of_all_categories: bool) -> str:
    """Why a Trace has nothing to compare, and what one can do; empty if it has some. That are
    passes, or the slices of another tool.
    """
    shown, is_foreign = measured(trace)
    if shown.any() and is_foreign is of_all_categories:
        return ""
    if is_foreign:
        return "another tool wrote it, and the other side has passes"
    if hidden_passes(trace)[0]:
        return "they were left out when the file was written (--min-ms)"
    if failed := failures(trace):
        return failed[-1].name
    caches = (*trace.arguments.values("cache").values(), trace.metadata.get("cache"))
    if any(cache == "hit" or cache is True for cache in caches):
        return "it came from the cache: clear it, or record with TILELANG_DISABLE_CACHE=1"
    return (
        "it came from a cache (clear it, or record with TILELANG_DISABLE_CACHE=1), or the "
        "recording saw nothing"
    )


def _losses(runs: Runs) -> Iterator[str]:
    for name, trace in zip(runs.names, runs.traces):
        whole = wholeness(trace)
        if not whole.complete:
            yield f"{name} is incomplete: {'; '.join(whole.reasons)}"
        if hidden := hidden_passes(trace)[0]:
            yield f"{name}: {plural(hidden, 'pass')} left out when it was written (--min-ms)"
        if measured(trace)[1] and (beside := off_threads(trace)[0]):
            yield f"{name}: {plural(beside, 'slice')} on rows of no thread, which are not compared"


# --------------------------------------------------------------------------------------- opening


def open_runs(sources: Source | Sequence[Source], called: str) -> Runs:
    """The runs of one side, in the order given; those in a folder by name. Raises UserError."""
    if isinstance(sources, (str, os.PathLike, Trace)):
        sources = [sources]
    several = len(sources) > 1
    found = [
        _opened(source, f"{called} {number}" if several else called)
        for number, source in enumerate(sources, 1)
    ]
    return Runs(
        names=tuple(name for runs in found for name in runs.names),
        traces=tuple(trace for runs in found for trace in runs.traces),
        notes=tuple(note for runs in found for note in runs.notes),
    )


def _opened(source: Source, called: str) -> Runs:
    if isinstance(source, Trace):
        return Runs((called,), (with_phases(source),))
    path = os.fspath(source)
    if os.path.isdir(path) and not _is_journals(Path(path)):
        return _in_folder(Path(path))
    return Runs((path,), (open_compile(path),))


def _is_journals(folder: Path) -> bool:
    """Whether a folder holds the journals of one recording, and not a trace a file."""
    return bool(_JOURNALS.search(folder.resolve().name)) or any(
        _JOURNAL.fullmatch(name) for name in os.listdir(folder)
    )


def _in_folder(folder: Path) -> Runs:
    """The traces in a folder. What is none is told: it may be a recording that is damaged."""
    names, traces, notes = [], [], []
    for path in _files(folder):
        try:
            traces.append(open_compile(str(path)))
        except UserError as error:
            notes.append(f"left out: {error}")
        else:
            names.append(str(path))
    if not traces:
        raise UserError(f"{folder}: no trace in this folder{f' ({notes[0]})' if notes else ''}")
    return Runs(tuple(names), tuple(traces), tuple(notes))


def _files(folder: Path) -> Iterable[Path]:
    """The files of a folder, and the journals of recordings that have no file there, by name."""
    entries = sorted(folder.iterdir())
    names = {entry.name for entry in entries}
    for entry in entries:
        unfinished = _JOURNALS.search(entry.name) and _JOURNALS.sub("", entry.name) not in names
        if not entry.name.startswith(".") and (unfinished or not entry.is_dir()):
            yield entry
