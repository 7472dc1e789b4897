"""Shows on a terminal how far work is that takes long; elsewhere nothing, and no work is slower."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from tilelang_trace.long_work import BYTES, State, Work, watched

AFTER_S = 2.0
"""What is done by then shows nothing."""
_EVERY_S = 0.1
_MEGABYTE = 10**6


@contextmanager
def shown() -> Iterator[None]:
    """Show how far the work in the block is, in the last line of the terminal that stderr is.

    Nothing must be printed in the block; behind it the line is gone.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    over = Event()
    with watched(Work()) as work:
        thread = Thread(target=_show, args=(work, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _show(work: Work, over: Event) -> None:
    if over.wait(AFTER_S):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[far]}", markup=False),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None, far="")
        while not over.wait(_EVERY_S):
            now = work.now
            bar.tasks[0].total = now.total or None  # None: a bar that only moves to and fro
            bar.update(task, description=now.what, completed=now.done, far=_far(now))
            bar.refresh()


def _far(now: State) -> str:
    """How far it is, in words; empty if nothing tells."""
    if not now.total:
        return ""
    if now.unit == BYTES:
        return f"{now.done / _MEGABYTE:,.0f} of {now.total / _MEGABYTE:,.0f} MB"
    return f"{now.done:,} of {now.total:,} {now.unit}"
