"""The log that `crashes.py` keeps, and whether a Trace says the same."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilelang_trace.trace.model import Trace

THREADS = 3
REGION = 1 << 22
"""Bytes of the log of one thread."""

FIELDS = struct.Struct("<B3xIQ")
"""Kind, value, time. The kind is written last: 0 is no entry."""

ENTER, LEAVE, BEGIN, END, RAISE, CATCH = range(1, 7)
"""A context is entered and left, a pass (value: its name) begins and ends, raises; an exception is
caught where so many contexts and passes are open (value). Each was so already, but for `RAISE`.
"""

CONTEXT = "PassContext"

NAMES = [
    *(f"tirx.Simplify{n}" for n in range(30)),
    "größe 漢字",
    "of 300 characters " + "x" * 282,
    "LegalizeOps",
]


THROWN = ("exception", "interrupt", "mismatch")
"""Causes of slices that an exception has ended."""


@dataclass(eq=False)
class Row:
    """A slice that must be there."""

    name: str
    level: int
    numbers: dict[str, int]
    """What a pass says of its place."""
    begun: tuple[int, int]
    """It began between these times, ns."""
    ended: tuple[int, int] | None = None
    status: str = "open"
    passes: int = 0
    """Passes that have begun in it, if it is a context."""


@dataclass
class Told:
    """What the log of one thread says."""

    rows: list[Row] = field(default_factory=list)
    open: list[Row] = field(default_factory=list)
    raised: bool = False
    """Whether an exception was on its way at the end."""
    last: int = 0
    """Time of the last entry."""

    def take(self, kind: int, value: int, time: int) -> None:
        """One more entry."""
        between = self.last, time
        self.raised = kind == RAISE
        if kind in (ENTER, BEGIN):
            numbers = self._numbers() if kind == BEGIN else {}
            name = NAMES[value] if kind == BEGIN else CONTEXT
            self.rows.append(Row(name, len(self.open), numbers, between))
            self.open.append(self.rows[-1])
        elif kind in (LEAVE, END):
            row = self.open.pop()
            row.ended, row.status = between, "ok"
        elif kind == CATCH:
            thrown = self.open[value:]
            del self.open[value:]
            for row in thrown:
                row.ended = between
                row.status = "failed" if row is thrown[-1] else "incomplete"
        self.last = time

    def _numbers(self) -> dict[str, int]:
        """Those of a pass that begins now."""
        depth = 0
        while self.open[-1 - depth].numbers:
            depth += 1
        context = self.open[-1 - depth]
        numbers = {"sequence": context.passes, "depth": depth}
        if depth:
            numbers["parent_sequence"] = self.open[-1].numbers["sequence"]
        context.passes += 1
        return numbers


def read_log(path: Path, before: int = 1 << 63) -> list[Told]:
    """What each thread did, before this time (ns)."""
    threads = []
    with open(path, "rb") as stream:
        for number in range(THREADS):
            stream.seek(number * REGION)
            told = Told()
            while entry := FIELDS.unpack(stream.read(FIELDS.size)):
                if not entry[0] or entry[2] >= before:
                    break
                told.take(*entry)
            threads.append(told)
    return threads


def rows_of(trace: Trace, number: int) -> list[dict[str, Any]]:
    """The slices of one thread, in order: `name`, `level`, `begin`, `end` and the arguments."""
    name = f"worker {number}" if number else "MainThread"
    lanes = [
        n
        for n, lane in enumerate(trace.lanes)
        if lane.thread is not None and trace.threads[lane.thread].name == name
    ]
    assert len(lanes) <= 1
    levels: dict[int, int] = {-1: -1}
    found = []
    for row, (lane, parent) in enumerate(
        zip(trace.slices.lane.tolist(), trace.slices.parent.tolist())
    ):
        levels[row] = levels[parent] + 1
        if lane in lanes:
            begin, end = int(trace.slices.begin[row]), int(trace.slices.end[row])
            if parent >= 0:
                assert trace.slices.begin[parent] <= begin < end <= trace.slices.end[parent]
            place = {"name": trace.name(row), "level": levels[row], "begin": begin, "end": end}
            found.append({**trace.arguments.of(row), **place})
    assert [row["begin"] for row in found] == sorted(row["begin"] for row in found)
    return found


def check(
    told: Told,
    found: list[dict[str, Any]],
    died: int,
    *,
    innermost: tuple[str, ...] = ("failed",),
    interrupted: bool = False,
) -> None:
    """Whether the slices of a thread are what it did, and at most one step more.

    `innermost` are the statuses that the innermost slice may have that was running at the end:
    `failed` where the process died, `incomplete` where only its recording ended. If it was
    `interrupted`, an exception came from anywhere, and ended what was running.
    """
    assert len(told.rows) <= len(found) <= len(told.rows) + 1
    for truth, row in zip(told.rows, found):
        assert (row["name"], row["level"]) == (truth.name, truth.level)
        for name in ("sequence", "depth", "parent_sequence"):
            assert row.get(name) == truth.numbers.get(name)
        assert truth.begun[0] <= row["begin"] <= truth.begun[1]
        assert row["begin"] < row["end"] <= died
        if truth.ended is not None:
            assert row["status"] == truth.status
            assert truth.ended[0] <= row["end"] <= truth.ended[1] + 1
            if truth.status != "ok":
                assert (row["error"]["type"], row["error"]["cause"]) == ("ValueError", "exception")
                assert row["error"]["message"].startswith("expected")

    # What was running at the end, less what one more step has ended, with what it has begun.
    running = [found[told.rows.index(row)] for row in told.open]
    begun = found[len(told.rows) :]
    if running and running[-1]["status"] == "ok":
        assert not begun
        assert not told.raised
        running.pop()
    for row in begun:
        assert (row["level"], told.last <= row["begin"]) == (len(running), True)
        running.append(row)
    thrown = []
    while running and running[-1].get("error", {}).get("cause") in THROWN:
        thrown.append(running.pop()["status"])
    assert not thrown or told.raised or interrupted
    if not interrupted:
        assert thrown == ["failed", *["incomplete"] * (len(thrown) - 1)][: len(thrown)]
    assert {*thrown} <= {"failed", "incomplete"}
    statuses = [row["status"] for row in running]
    if interrupted and statuses == ["open"]:  # before `__exit__` had begun: nobody left it
        assert running[0]["name"] == CONTEXT
        statuses.clear()
    assert statuses[-1:] in [[], *([status] for status in innermost)]
    assert {*statuses[:-1]} <= {"incomplete"}
