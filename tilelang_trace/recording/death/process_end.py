"""How a recorded process ended without ending its recording, as far as that can be known: from its
parent, and from the Python stack that it left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilelang_trace.recording.death.memory import size
from tilelang_trace.trace.arguments import DETAIL_LIMIT
from tilelang_trace.trace.error_argument import error_argument
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.long_text import cut

_SIGNALS = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
"""faulthandler's words for the signals that it handles."""

_FATAL = re.compile(r"^Fatal Python error: (.*)$", re.MULTILINE)
_CURRENT = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)


@dataclass(frozen=True)
class TimeOut:
    """That the script was ended because it took too long."""

    seconds: float
    """What it was given."""
    time_ns: int
    """When that was over, monotonic clock."""
    stacks: dict[Path, str]
    """The journals that were being written then, and the Python stacks of their processes."""

    def words(self) -> str:
        """What ended it, in words."""
        return f"--timeout: ended after {self.seconds:g} s"

    def error(self, journal: Path) -> dict[str, Json]:
        """The `error` of what ran in the process of this journal."""
        text = f"{self.words()}\n\n{_current_first(self.stacks.get(journal, ''))}"
        return error_argument("SIGTERM", "timeout", text.strip())


@dataclass(frozen=True)
class ProcessEnd:
    """How the process that was recorded ended, as its parent saw it."""

    pid: int
    time_ns: int
    """Monotonic clock."""
    code: int
    """Exit code, or minus the number of the signal that killed it, as `subprocess` says it."""
    signal: str = ""
    """Name of that signal, such as `SIGSEGV`."""
    process_name: str = ""
    peak_memory: int = 0
    """The most memory that it had, in bytes, if that may have been the reason."""
    out_of_memory: bool = False
    """Whether the system killed a process for lack of memory while it ran."""
    timeout: TimeOut | None = None
    """If it was ended because it took too long."""

    def words(self) -> str:
        """What killed it, in words."""
        if self.timeout is not None:
            return self.timeout.words()
        lack = ", for lack of memory" if self.out_of_memory else ""
        used = f"; it had used {size(self.peak_memory)}" if self.peak_memory else ""
        return f"the process was killed by {self.signal}{lack}{used}"

    def metadata(self) -> dict[str, Json]:
        """The end as the trace's metadata has it (`exit`)."""
        found: dict[str, Json] = {"code": self.code}
        if self.signal:
            found["signal"] = self.signal
        if self.peak_memory:
            found["peak_memory"] = self.peak_memory
        if self.out_of_memory:
            found["out_of_memory"] = True
        if self.timeout is not None:
            found["timeout"] = self.timeout.seconds
        return found


@dataclass(frozen=True)
class Death:
    """What is known of the death of one process."""

    signal: str
    """Name of the signal that killed it; empty if that is not known, or none did."""
    error: dict[str, Json]
    """The `error` of what failed by it."""
    stack: str
    """The Python stack of all threads, the one that crashed first; empty if there is none."""
    culprit: int | None
    """The thread that crashed, as `threading.get_ident` numbers it; None if that is not known."""


def death_of(end: ProcessEnd | None, stack: str) -> Death:
    """What the parent's word and the stack that faulthandler wrote, each if there is one, tell."""
    fatal = _FATAL.search(stack)
    culprit = None
    if fatal is not None:
        current = _CURRENT.search(stack, fatal.end())
        culprit = int(current[1], 16) if current is not None else None
    signal = _SIGNALS.get(fatal[1].strip(), "") if fatal is not None else ""
    if end is not None:
        signal = end.signal
    if signal:
        cause = "interrupt" if signal == "SIGINT" else "signal"
        text = end.words() if end is not None else f"the process was killed by {signal}"
    else:
        cause, text = "unknown", "the process ended while this was running"
        if end is not None:
            text = f"the process exited with code {end.code} while this was running"
    stack = _current_first(stack[fatal.start() if fatal is not None else 0 :])
    error = error_argument(signal, cause, f"{text}\n\n{stack}" if stack else text)
    return Death(signal, error, cut(stack, DETAIL_LIMIT), culprit)


def _current_first(stack: str) -> str:
    """The stack with the current thread before the others: of a long text the middle is cut out."""
    return "\n\n".join(sorted(stack.strip().split("\n\n"), key=_order))


def _order(block: str) -> int:
    return 0 if _FATAL.match(block) else 1 if _CURRENT.match(block) else 2
