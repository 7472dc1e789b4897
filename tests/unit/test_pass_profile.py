"""The pass timing report of a recorded compile: one for each context, with the right times."""

from __future__ import annotations

import re

from tests.traces import main_thread
from tilelang_trace.reports.pass_profile import render
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace


def compiles() -> Trace:
    """A pass in the default context, a compile that ends well, and one that fails."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    ok = {"status": "ok"}
    builder.slice(lane, 0, 1_000_000, "Alone", "pass", ok)
    builder.slice(
        lane,
        2_000_000,
        12_000_000,
        "PassContext",
        "context",
        {"context": 0, "kernel": "gemm", **ok},
    )
    builder.slice(lane, 2_500_000, 11_500_000, "lower", "phase", ok)
    builder.slice(lane, 2_500_000, 11_500_000, "Outer", "pass", ok)
    builder.slice(lane, 3_000_000, 10_000_000, "Inner", "pass", ok)
    error = {"type": "E", "cause": "exception", "message": "no such tile"}
    failed = {"status": "incomplete", "error": error}
    builder.slice(lane, 20_000_000, 25_000_000, "PassContext", "context", {"context": 1, **failed})
    builder.slice(lane, 21_000_000, 24_000_000, "Sequence", "pass", failed)
    builder.slice(
        lane, 22_000_000, 23_500_000, "Deep", "pass", {"status": "failed", "error": error}
    )
    return builder.build()


def rows(report: str) -> set[tuple[str, ...]]:
    """(self ms, inclusive ms, number, pass) of the lines of a report."""
    found = re.findall(r"^ +([\d.]+) +([\d.]+) +(\d+)  +(.+)$", report, re.MULTILINE)
    return set(found)


def test_each_top_level_context_has_a_report_with_its_times() -> None:
    alone, gemm, failing = re.split(r"\n\n(?=Pass timing)", render(compiles()))
    assert rows(alone) == {("1.000", "1.000", "0", "Alone")}
    assert "gemm" in gemm.splitlines()[0]
    assert rows(gemm) == {("2.000", "9.000", "0", "Outer"), ("7.000", "7.000", "1", "Inner")}
    assert rows(failing) == {
        ("1.500", "3.000", "0", "Sequence  (incomplete)"),
        ("1.500", "1.500", "1", "Deep  (incomplete)"),
    }
    assert "Deep did not end: no such tile" in failing


def test_the_threshold_hides_short_passes_and_counts_them() -> None:
    _, gemm, failing = re.split(r"\n\n(?=Pass timing)", render(compiles(), threshold_ms=8.0))
    assert {row[3] for row in rows(gemm)} == {"Outer"}
    assert "1 pass under 8 ms not shown" in gemm
    assert {row[3] for row in rows(failing)} == {"Sequence  (incomplete)", "Deep  (incomplete)"}


def test_a_trace_without_passes_has_no_report() -> None:
    assert render(TraceBuilder().build()) == ""
