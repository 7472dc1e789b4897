"""What must hold for any file at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.traces import said
from tests.well_formed import check, kept
from tilelang_trace.checking import check_file
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.reports.check import as_json, as_table
from tilelang_trace.reports.check.report import Report
from tilelang_trace.trace import rules
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.model import Trace


def judge(path: Path) -> None:
    """Read a file, and what is in it if it is an archive.

    Raises AssertionError, or what came out of the package, if something is wrong: what is no trace
    has to be a UserError of one line, a Trace has to be well-formed and come back from files, and
    what is told of the file must be texts of one line.
    """
    _judge(lambda: files.read(path))
    _judge_check(path)
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
        _judge_error(error)
    else:
        judge_trace(trace)


def _judge_error(error: UserError) -> None:
    assert len(str(error).splitlines()) == 1, str(error)


def _judge_check(path: Path) -> None:
    """What is told of a file, whatever texts are in it, can be printed line by line."""
    try:
        checked = check_file(str(path))
    except UserError as error:
        _judge_error(error)
        return
    report = Report((checked,), None)
    assert all(map(str.isprintable, as_table.render(report).split("\n")))
    assert as_json.render(report)


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
    # Lanes of one thread are one in a log. What is too deep can't be written otherwise.
    told = [finding for finding in read.findings if finding.rule != rules.TOO_DEEP.name]
    assert format_ is files.LOG or not told, told
    return read
