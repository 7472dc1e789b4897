"""`run --repeat`: one script several times, for `compare` to tell changes from noise.

The runs come one after the other, each in a process of its own, so that none finds what another
has kept in memory; TileLang's cache on the disk is off for them. Each has a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Protocol

from tilelang_trace.errors import UserError
from tilelang_trace.formats import naming
from tilelang_trace.recording.finish import Finished
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.launch.outcome import outcome, shown, unmatched
from tilelang_trace.recording.options import Keep
from tilelang_trace.trace.json_values import Json

_NO_CACHE = {"TILELANG_DISABLE_CACHE": "1"}
"""TileLang's cache of kernels, and that of its autotuner: tuning anew gives the same compiles."""


class Start(Protocol):
    """`launcher.run` of the script."""

    def __call__(
        self, *, journals: JournalFolder, variables: dict[str, str], about: dict[str, Json]
    ) -> tuple[Finished | None, int]:
        """The trace that was written, and the exit code."""


def run(start: Start, output: Path, times: int) -> Iterator[tuple[Finished | None, int]]:
    """Run it so often, or until a run fails or can't be written. Raises UserError, OSError."""
    for number in range(1, times + 1):
        path = naming.numbered(output, number)
        journals = JournalFolder(path)
        if journals.output != Path(path).absolute():
            journals.remove()
            raise UserError(f"{path}: is being recorded by another process")
        about = {"run": number, "runs": times, "tilelang_cache": "off"}
        done, code = start(journals=journals, variables=_NO_CACHE, about=about)
        yield done, code
        if done is None or code:
            return


def told(
    runs: Sequence[tuple[Finished | None, int]], output: Path, times: int, keep: Keep
) -> Iterator[str]:
    """The lines to say when all is over."""
    relative = not output.is_absolute()
    finished = [done for done, _ in runs if done is not None]
    written = [file for done in finished for file in done.files]
    names = [shown(file.path, relative=relative) for file in written]
    for done in finished[-1:]:
        yield from unmatched(done, keep)
    if written:
        outcomes = " or ".join(dict.fromkeys(outcome(file.trace) for file in written))
        several = f"{len(names)} files, {names[0]} to {names[-1]}: each"
        yield f"wrote {several if len(names) > 1 else f'{names[0]}:'} {outcomes}"
    elif finished:
        yield "nothing written, for nothing failed (--keep-on-failure)"
    code = runs[-1][1]
    if code:
        yield f"stopped: run {len(runs)} of {times} failed (exit code {code})"
    elif len(names) == times:
        yield from _how_to_compare(output, times)


def _how_to_compare(output: Path, times: int) -> Iterator[str]:
    if (left := naming.numbered(output, times + 1)).exists():
        yield f"{left} is there too, from an earlier recording: it does not belong to these"
    ending = naming.ending_of(output)
    if "{" not in output.name:
        files = f"{quote(str(output).removesuffix(ending))}.[0-9]*{ending}"
        yield f"to compare them with others: tilelang-trace compare --base {files} --new ..."
