"""What a Reproducer is, and how it is made from a Trace. Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang_trace.trace.model import Trace

SCRIPT = "reproducer.py"
MODULE_TEXT = "ir/before.py"
MODULE_JSON = "ir/before.json"


@dataclass(frozen=True)
class Expected:
    """How the failed pass ended."""

    type: str
    """Type of the exception, or the name of a signal such as `SIGSEGV`."""
    line: str = ""
    """First line of the exception's text."""

    @property
    def is_signal(self) -> bool:
        """Whether a signal ended the process."""
        return self.type.startswith("SIG")


@dataclass(frozen=True)
class Reproducer:
    """A failed pass as files, or why there is no script for it.

    The files may be there without a script: the module of a pass that can't be made elsewhere is
    still worth reading.
    """

    name: str
    """The pass; what failed, if that is no pass; empty if nothing failed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts by their relative names with slashes: `reproducer.py`, `ir/before.py`,
    `ir/before.json`.
    """
    why_not: str = ""
    """In plain words why there is no script; empty if there is one."""
    notes: tuple[str, ...] = ()
    """What the script takes that is not known from the trace, in plain words."""
    expected: Expected = Expected("")
    """How it has to end."""


def failed_pass_of(trace: Trace) -> int | None:
    """Row of the slice that a Reproducer is made for: the last failed pass of which the module was
    kept, else the last that failed; None if nothing failed.
    """
    raise NotImplementedError


def make_reproducer(trace: Trace, row: int | None = None) -> Reproducer:
    """The Reproducer of one failed slice, by default that of `failed_pass_of`.

    The trace may come from a stranger: its texts stand in the script as string literals only.
    """
    raise NotImplementedError
