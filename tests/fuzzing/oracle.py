"""What must hold for any file at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.traces import said
from tests.well_formed import check, kept
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.model import Trace


def judge(path: Path) -> None:
    """Read a file, and what is in it if it is an archive.

    Raises AssertionError, or what came out of the package, if something is wrong: what is no trace
    has to be a UserError of one line, and a Trace has to be well-formed and come back from files.
    """
    _judge(lambda: files.read(path))
    try:
        members = files.contents_in(path)
    except UserError:
        return
    for name, member in members.items():
        _judge(partial(files.read_content, member, path / name))


def _judge(read: Callable[[], Trace]) -> None:
    try:
        trace = read()
    except UserError as error:
        assert len(str(error).splitlines()) == 1, str(error)
    else:
        judge_trace(trace)


def judge_trace(trace: Trace) -> None:
    """Hold a Trace, wherever it came from, against the invariants and against its files."""
    check(trace)
    for format_ in (files.PFTRACE, files.JSON):
        data = b"".join(format_.write(trace))
        read = _read(data, format_)
        assert said(read) == kept(trace)
        assert b"".join(format_.write(read)) == data
    log = _read(b"".join(files.LOG.write(trace)), files.LOG)
    assert log.is_kind(PASS).sum() == trace.is_kind(PASS).sum()


def _read(data: bytes, format_: files.Format) -> Trace:
    """What is in a file of ours: it is known for one, and there is nothing to mend in it."""
    assert files.sniff(data) is format_
    read = format_.read(data).build()
    check(read)
    # Lanes of one thread are one in a log.
    assert format_ is files.LOG or not read.findings, list(read.findings)
    return read
