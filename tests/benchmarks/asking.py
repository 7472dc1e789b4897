"""Asking a Trace: `report`, also by kernel, and `compare`, after reading, until the text is there.

Times are this process's CPU time. Compared are two Traces of `--size` slices each: equal but for
their times; with each context's compile changed alike; and with a pass left out of each context, a
different one in each. Asked for: 3 s; and five times the slices take at most 6 times as long.
Memory: what the Trace itself takes, and by how much comparing rises above both Traces.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure, interleaved, peak_bytes
from tilelang_trace.comparing import Runs, compare_runs
from tilelang_trace.reports import as_json, as_table
from tilelang_trace.reports import report as by_pass
from tilelang_trace.reports.choice import Choice
from tilelang_trace.reports.compare import as_table as compared_table
from tilelang_trace.reports.compare import choice as compare_choice
from tilelang_trace.reports.compare import report as compare_report
from tilelang_trace.reports.kernels import as_csv
from tilelang_trace.reports.kernels import as_table as kernel_table
from tilelang_trace.reports.kernels import report as by_kernel
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

SIZE, REPEATS = 1_000_000, 3
_TIMES = 5


def run(size: int, repeats: int) -> Iterator[Figure]:
    times = _times(with_phases(synthetic.trace(size)), repeats)
    for name, taken in times.items():
        yield Figure(name, taken, "s", "<= 3")
    longer = _times(
        with_phases(synthetic.trace(_TIMES * size)), repeats, only="compare, other times"
    )
    for name, taken in longer.items():
        yield Figure(f"{name}, {_TIMES} x the slices", taken / times[name], "x", "<= 6")
    yield Figure("a Trace", held(size) / size, "bytes a slice", "<= 200")
    peak = peak_bytes(_MAKE_TWO, _COMPARE, str(size))
    yield Figure("comparing, above both Traces", peak / (2 * size), "bytes a slice")


def _times(trace: Trace, repeats: int, only: str = "compare") -> dict[str, float]:
    """What each question takes; of the comparisons only these."""
    ways: dict[str, Callable[[], object]] = {
        "report": lambda: report(trace),
        "report --by kernel": lambda: report_by_kernel(trace),
    }
    for name, change in (
        ("compare, other times", retimed),
        ("compare, changed alike", partial(without, sequence=synthetic.PASSES // 2)),
        ("compare, each changed", without),
    ):
        if name.startswith(only):
            ways[name] = partial(compare, trace, change(trace))
    return {name: times.least for name, times in interleaved(ways, repeats).items()}


def report(trace: Trace) -> tuple[str, str]:
    """The report as a table and as JSON."""
    found = by_pass.make_report(trace, "x.pftrace", Choice())
    return as_table.render(found), as_json.render(found)


def report_by_kernel(trace: Trace) -> tuple[str, str]:
    """The report by kernel as a table, with a row for each context, and as CSV."""
    found = by_kernel.make_report(trace, "x.pftrace", Choice())
    return kernel_table.render(found), as_csv.render(found)


def compare(base: Trace, new: Trace) -> str:
    """The comparison as a table."""
    found = compare_runs(Runs(("base",), (base,)), Runs(("new",), (new,)), 0, None)
    choice = compare_choice.Choice("pass", 25, unchanged=False)
    return compared_table.render(compare_report.make_report(found, choice))


def retimed(trace: Trace) -> Trace:
    """The same compile on a machine of half the speed."""
    parts = Parts.of(trace)
    return assemble(replace(parts, begin=2 * parts.begin, end=2 * parts.end))


def without(trace: Trace, sequence: int | None = None) -> Trace:
    """The compile without the pass of this number in each context, if nothing is in it there; None:
    without a random one in each.
    """
    parts = Parts.of(trace)
    slices = trace.slices
    (sequences,) = trace.arguments.named("sequence")
    drawn = np.random.default_rng(1).integers(1, synthetic.PASSES, len(slices))
    wanted = drawn[slices.parent[sequences.rows]] if sequence is None else sequence
    is_leaf = np.ones(len(slices), np.bool_)
    is_leaf[slices.parent[slices.parent >= 0]] = False
    gone = np.zeros(len(slices), np.bool_)
    gone[sequences.rows[sequences.values == wanted]] = True
    kept = np.flatnonzero(~(gone & is_leaf))
    new_row = np.full(len(slices), -1, np.int32)
    new_row[kept] = np.arange(len(kept))
    columns = []
    for column in parts.columns:
        rows = new_row[column.rows]
        columns.append(replace(column, rows=rows[rows >= 0], values=column.values[rows >= 0]))
    cut = {
        name: getattr(parts, name)[kept] for name in ("begin", "end", "name", "category", "lane")
    }
    return assemble(replace(parts, columns=columns, **cut))


def held(size: int) -> int:
    """The bytes that a Trace of so many slices holds."""
    gc.collect()
    tracemalloc.start()
    trace = synthetic.trace(size)
    gc.collect()
    bytes_, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del trace
    return bytes_


_MAKE_TWO = """
from tests.benchmarks import asking, synthetic
asking.report(synthetic.trace(1000))
base, new = (synthetic.trace(int(sys.argv[1])) for _ in range(2))
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here on
"""
_COMPARE = "asking.compare(base, new)"
