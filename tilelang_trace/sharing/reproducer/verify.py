"""Runs a Reproducer in a new process and says whether it ended in the same error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tilelang_trace.errors import UserError
from tilelang_trace.sharing.reproducer.reproducer import SCRIPT, Expected, Reproducer
from tilelang_trace.sharing.reproducer.script import ENDED, RUNNING
from tilelang_trace.trace.error_argument import first_line

_OUTPUT_LIMIT = 4000
"""Characters of the output that are worth showing: its end."""

_UNWANTED = ("TILELANG_TRACE", "TVM_LOG_DEBUG", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONDEVMODE")
"""Beginnings of variables that would record this run too, or change how it ends."""


@dataclass(frozen=True)
class Verdict:
    """What came of running a Reproducer."""

    same: bool
    """Whether it ended in the same error: type and first line, or signal."""
    words: str
    """One line: what it ended in, and what else was expected."""
    output: str = ""
    """The last of what it printed, if it ended otherwise."""


def verify(
    reproducer: Reproducer,
    *,
    python: str = sys.executable,
    timeout: float = 300.0,
    shown: Callable[[str], str] = str,
) -> Verdict:
    """Write it to a temporary folder and run its script, with this Python, for at most `timeout`
    seconds. If there is no script, nothing is run, and the verdict says why.

    `shown` is what was done to the texts of the trace (what is private was hidden), and so has to
    be done to what is printed before they are compared.

    This runs TVM on what the trace holds: ask first, if it comes from a stranger.
    """
    if reproducer.why_not:
        return Verdict(False, f"there is no reproducer: {reproducer.why_not}")
    with tempfile.TemporaryDirectory(prefix="tilelang-trace-") as folder:
        write_files(reproducer, folder)
        try:
            done = subprocess.run(
                [python, SCRIPT],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            printed = shown((late.stdout or b"").decode("utf-8", "replace"))
            return Verdict(False, f"it still ran after {timeout:g} s", _end_of(printed))
        except OSError as error:
            return Verdict(False, f"{python} can't be run: {error.strerror}")
    printed = shown(done.stdout.decode("utf-8", "replace"))
    return _judged(done.returncode, printed, reproducer.expected)


def write_files(reproducer: Reproducer, folder: str) -> None:
    """Write the files of a Reproducer below a folder. Raises UserError if that can't be done."""
    for name, text in reproducer.files.items():
        path = Path(folder, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        except OSError as error:
            raise UserError(f"{path}: can't be written: {error.strerror}") from None


def _environment() -> dict[str, str]:
    # Of the rest TVM needs an unknown part: where its libraries and its compiler are.
    kept = {k: v for k, v in os.environ.items() if not k.upper().startswith(_UNWANTED)}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def _judged(code: int, printed: str, expected: Expected) -> Verdict:
    lines = printed.splitlines()
    if not any(line.startswith(RUNNING) for line in lines):
        return Verdict(False, "it failed before it ran the pass", _end_of(printed))
    endings = _endings(code, lines)
    if not expected.type:
        words = f"it ended in {_told(endings[0])}; what the trace ended in is not known"
        return Verdict(False, words, _end_of(printed))
    if expected in endings:
        return Verdict(True, f"it ended in the same error, {_told(expected)}")
    words = f"it ended in {_told(endings[0])}, the trace in {_told(expected)}"
    return Verdict(False, words, _end_of(printed))


def _endings(code: int, lines: list[str]) -> list[Expected]:
    """What a run ended in, by the names that its type has."""
    if code < 0:
        try:
            return [Expected(signal.Signals(-code).name)]
        except ValueError:
            return [Expected(f"SIG{-code}")]
    if code == 0:
        return [Expected("")]
    told = [line.removeprefix(ENDED) for line in lines if line.startswith(ENDED)]
    try:
        types, text = json.loads(told[-1])
        return [Expected(str(name), first_line(str(text))) for name in types]
    except (IndexError, ValueError, TypeError):
        return [Expected(f"exit code {code}")]


def _told(ending: Expected) -> str:
    if not ending.type:
        return "no error"
    return f"{ending.type}: {ending.line}" if ending.line else ending.type


def _end_of(printed: str) -> str:
    # What a stranger's trace makes TVM print goes to a terminal: no escapes.
    text = printed.strip()[-_OUTPUT_LIMIT:]
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
