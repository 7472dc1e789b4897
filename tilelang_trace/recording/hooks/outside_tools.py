"""Outside programs that a compile runs (nvcc, g++, hipcc, ...), as `tool` slices.

TileLang and TVM start them with `subprocess`. Its `Popen` is wrapped while something is recorded,
and makes slices only on a thread that compiles a kernel at that time.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

from tilelang_trace.recording.hooks.spans import Span
from tilelang_trace.recording.wrapping import Patches, around
from tilelang_trace.secret_values import masked, masked_text
from tilelang_trace.trace.json_values import Json

_ATTRIBUTE = "_tilelang_trace_tool"

OpenTool = Callable[[str, dict[str, Json]], "Span | None"]


class ToolFailedError(Exception):
    """An outside program that ended with an exit code other than 0, with what it said."""


class _Tool:
    """A program that runs, from its start until somebody has waited for it."""

    def __init__(self, span: Span, process: subprocess.Popen[Any], name: str) -> None:
        self._span = span
        self._process = process
        self._name = name
        self._started = False
        self._calls = 0
        """Calls that wait for it and have not returned: `communicate` calls `wait`."""

    def enter_call(self) -> _Tool:
        self._calls += 1
        return self

    def end(self, result: Any, error: BaseException | None) -> None:
        """A call that waits for the program, or starts it, has ended."""
        self._calls -= 1
        if error is not None:  # after a timeout of `communicate` the program still runs
            if not self._started:
                self._span.close(error)
            return
        self._started = True
        code = self._process.returncode
        if code is not None and self._calls == 0:
            self._span.late["exit_code"] = code
            self._span.close(_failure(self._name, code, result) if code else None)


def wrap(patches: Patches, open_tool: OpenTool) -> None:
    """See every program that is started while `open_tool` gives a span for it."""

    def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Tool | None:
        process, command = args[0], words_of(args[1] if len(args) > 1 else kwargs["args"])
        name = os.path.basename(command[0]) if command else ""
        span = open_tool(name, {"command": list(masked(command))})
        if span is None:
            return None
        tool = _Tool(span, process, name)
        setattr(process, _ATTRIBUTE, tool)
        return tool.enter_call()

    def wait(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Tool | None:
        tool: _Tool | None = vars(args[0]).get(_ATTRIBUTE)
        return None if tool is None else tool.enter_call()

    patches.wrap(subprocess.Popen, "__init__", lambda original: around(original, start))
    for name in ("communicate", "wait", "poll"):
        patches.wrap(subprocess.Popen, name, lambda original: around(original, wait))


def words_of(command: Any) -> list[str]:
    """The words of a command as `subprocess` takes it: a sequence, a path, or the text for a shell
    (split at blanks only: it is to be read, not to be run).
    """
    if isinstance(command, (str, bytes)):
        return os.fsdecode(command).split()
    if isinstance(command, os.PathLike):
        return [os.fsdecode(command)]
    return [os.fsdecode(word) for word in command]


def _failure(name: str, code: int, result: Any) -> ToolFailedError:
    """The error of a program, its first line being the first one in which the program says so."""
    said = ""
    if isinstance(result, tuple):
        said = "\n".join(_text(stream).strip() for stream in result if stream)
    said = masked_text(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines
    ending = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
    first = f"{name}: {ending}" + (f": {telling[0]}" if telling else "")
    return ToolFailedError(f"{first}\n{said}" if said else first)


def _text(stream: Any) -> str:
    return stream if isinstance(stream, str) else bytes(stream).decode(errors="replace")
