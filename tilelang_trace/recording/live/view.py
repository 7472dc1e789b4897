"""A running compile, seen from outside: what its journals say that it does at this moment.

Nothing of the compile is touched, and it need not answer: it may sit in one C++ pass for an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilelang_trace.recording import folder
from tilelang_trace.recording.live.live_journal import LiveJournal, Thread
from tilelang_trace.trace.arguments import CONTEXT, PASS

_MS = 10**6


class LiveView:
    """The state of what records into a folder of journals, as of the last `update`.

    Each update reads only what was appended since the one before.
    """

    def __init__(self, journals: Path) -> None:
        self._folder = journals
        self._journals: dict[Path, LiveJournal] = {}

    def update(self) -> None:
        """Look again: at what was appended, at new journals, at processes that ended."""
        for path in folder.journals_in(self._folder):
            if path not in self._journals:
                self._journals[path] = LiveJournal(path)
        for journal in self._journals.values():
            if not journal.ended:
                journal.update()

    @property
    def passes(self) -> int:
        """How many passes have ended so far, in all processes."""
        return sum(journal.passes for journal in self._journals.values())

    def journals(self) -> dict[Path, int]:
        """The journals that are being written, and the pids of their processes."""
        return {path: known.pid for path, known in self._journals.items() if not known.ended}

    def threads(self) -> list[Thread]:
        """The threads of the processes that still run, in the order in which they came."""
        return [
            thread
            for journal in self._journals.values()
            if not journal.ended
            for thread in journal.threads()
        ]


def where(thread: Thread) -> str:
    """What a thread does, outermost first: `gemm > lower > tirx.StmtSimplify`."""
    names: list[str] = []
    for slice_ in thread.open:
        if slice_.kind == CONTEXT and slice_ is not thread.open[-1]:
            continue
        if slice_.phase and slice_.phase not in names:
            names.append(slice_.phase)
        names.append(slice_.name)
    return " > ".join(_printable(name) for name in names)


def longest(threads: Sequence[Thread]) -> Thread | None:
    """The thread that has been longest in what it does now, of those that run a pass if any does:
    around a pass of another thread or process, one may only be waiting.
    """
    busy = [thread for thread in threads if thread.open]
    in_pass = [thread for thread in busy if thread.open[-1].kind == PASS]
    return min(in_pass or busy, key=lambda thread: thread.open[-1].begun_ns, default=None)


def passes(count: int) -> str:
    """`1 pass`, `41 passes`."""
    return f"{count} {'pass' if count == 1 else 'passes'}"


def span(ns: int) -> str:
    """A time for people: `850 ms`, `12.3 s`, `63 min 12 s`, `2 h 5 min`."""
    ms = max(round(ns / _MS), 0)
    if ms < 1000:
        return f"{ms} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    minutes, rest = divmod(round(ms / 1000), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _printable(name: str) -> str:
    """No name acts on the terminal."""
    return "".join(character if character.isprintable() else "?" for character in name)
