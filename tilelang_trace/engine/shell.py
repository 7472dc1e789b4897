"""Perfetto's own program for traces, `trace_processor_shell`: asked once for each trace.

It reads SQL from a file (`-q`, in all versions) and prints rows as CSV, in which it escapes
nothing. When it can't load the trace, its exit code is 1, and the reason ends what it writes to
stderr. Source: trace_processor_shell.cc and shell/query.cc in Perfetto's src/trace_processor.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tilelang_trace.engine.errors import (
    EngineCrashed,
    EngineError,
    EngineUnavailable,
    TimeLimitExceeded,
    TraceRefused,
)
from tilelang_trace.engine.problems import Problem, problems_sql

_NULL = "[NULL]"
_ROW = re.compile(
    rf'"(?P<name>\w+)",(?P<idx>-?\d+|"{re.escape(_NULL)}"),"(?P<severity>\w+)",(?P<value>-?\d+),'
    r'"(?P<description>.*)"'
)
_ONE_LINE = "replace(description, char(10), ' ')"
_LOG = re.compile(r"(?m)^(?:\[[\d.]+\]|Loading trace:).*$")


class Shell:
    """The program at this path."""

    def __init__(self, binary: str, time_limit: float = 60.0) -> None:
        self.time_limit = time_limit  # seconds for one trace; may be changed at any time
        self._binary = binary
        self.version = ""

    def __enter__(self) -> Shell:
        self.version = self._run("--version").stdout.partition("\n")[0].strip()
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close: each question has a process of its own."""

    def problems_of(self, trace: str | os.PathLike[str] | bytes) -> list[Problem]:
        """Loads a trace; what Perfetto counted as wrong or lost in it."""
        with tempfile.TemporaryDirectory() as folder:
            sql = Path(folder, "problems.sql")
            sql.write_text(problems_sql(_ONE_LINE), encoding="utf-8")
            if isinstance(trace, bytes):
                file = Path(folder, "trace")
                file.write_bytes(trace)
            else:
                file = Path(trace).absolute()  # else it might be taken for an option
            done = self._run("-q", str(sql), str(file))
        if done.returncode:
            said = _LOG.sub("", done.stderr.replace("\r", "\n")).strip()
            if done.returncode < 0:
                raise EngineCrashed(f"{self._binary} was ended by signal {-done.returncode}")
            raise TraceRefused(said or f"exit code {done.returncode}")
        return _problems(done.stdout)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self._binary, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self.time_limit,
            )
        except OSError as error:
            raise EngineUnavailable(f"{self._binary} can't be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise TimeLimitExceeded(f"no answer from Perfetto in {self.time_limit:g} s") from None


def _problems(printed: str) -> list[Problem]:
    """The rows below the line with the names of the columns."""
    return [_problem(line) for line in printed.splitlines()[1:]]


def _problem(line: str) -> Problem:
    row = _ROW.fullmatch(line)
    if row is None:
        raise EngineError(f"no row of Perfetto's table of problems: {line}")
    return Problem(
        name=row["name"],
        idx=None if _NULL in row["idx"] else int(row["idx"]),
        severity=row["severity"],
        value=int(row["value"]),
        description=None if row["description"] == _NULL else row["description"],
    )
