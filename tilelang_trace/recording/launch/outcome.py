"""What `tilelang-trace run` says when the script has ended: which files there are, and what is in
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from tilelang_trace.analysis.hidden import hidden_passes
from tilelang_trace.analysis.selection.choose import no_match
from tilelang_trace.recording.finish import Finished
from tilelang_trace.recording.options import Keep
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.model import Trace

_MANY = 10
"""More files than this get one line in all."""


def told(done: Finished, keep: Keep, *, relative: bool) -> Iterator[str]:
    """The lines to say; paths are relative to the folder of the process where the person's was."""
    yield from unmatched(done, keep)
    if not done.files:
        yield f"nothing written, for nothing failed (--keep-on-failure): {outcome(done.trace)}"
        return
    names = [shown(f.path, relative=relative) for f in done.files]
    if len(names) > _MANY:
        yield f"wrote {len(names)} files, {names[0]} to {names[-1]}: {outcome(done.trace)}"
        for name, file in zip(names, done.files):
            if failures(file.trace):
                yield f"with a failure: {name}: {outcome(file.trace)}"
    else:
        for name, file in zip(names, done.files):
            yield f"wrote {name}: {outcome(file.trace)}"
    failed = (name for name, file in zip(names, done.files) if failures(file.trace))
    yield how_to_see(next(failed, names[0]))


def how_to_see(path: str | os.PathLike[str]) -> str:
    """What a person does to look at a file that was written."""
    command = f"tilelang-trace open {quote(os.fspath(path))}"
    return f"to see it: {command} (or drag the file into https://ui.perfetto.dev)"


def unmatched(done: Finished, keep: Keep) -> Iterator[str]:
    """That there is no kernel of those that are to be kept, if so."""
    if done.unmatched is not None and done.trace.is_kind(PASS).any():
        yield f"{no_match(keep.selection.only, done.unmatched)}: none was left out"


def shown(path: Path, *, relative: bool) -> str:
    """A path as the person would write it."""
    if not relative:
        return str(path)
    try:
        return os.path.relpath(path)
    except OSError:  # the script has deleted the folder that we are in
        return str(path)


def outcome(trace: Trace) -> str:
    """What a trace holds, in a few words: `79 passes (12 left out), 1 failed`."""
    passes = int(trace.is_kind(PASS).sum())
    failed = len(failures(trace))
    recording = trace.metadata.get("recording", {})
    hidden = hidden_passes(trace)[0]
    if not passes and not hidden:
        return f"no pass ran ({_why_none(trace)})"
    words = f"{passes} {'pass' if passes == 1 else 'passes'}"
    if hidden:
        words += f" ({hidden} left out)"
    if failed:
        words += f", {failed} failed"
    if not recording.get("complete", True):
        words += f"; incomplete: {recording.get('reason')}"
    return words


def _why_none(trace: Trace) -> str:
    if "tvm" not in trace.metadata.get("versions", {}):
        return "the script did not import TVM"
    return "the script compiled nothing, or took it from a cache"
