"""The report by kernel as JSON, for scripts. Texts are whole; times are integer nanoseconds.

    {
      "file": "tune.pftrace",
      "complete": true,              whether the recording has all that happened
      "reasons": [],                 why not
      "total_ns": 9,                 top-level slices of all threads, added up; it is
                                     compiles_ns + outside_ns
      "compiles_ns": 7,              compiles that lie in no other one
      "outside_ns": 2,               time in no compile
      "outside_passes": 0,           runs of passes in no compile
      "count": 4,                    of all compiles, shown or not
      "failed": [4],                 the numbers of those that failed
      "compiles": [{"number",        place among all compiles by begin, from 1
                    "kernel",
                    "configuration": {"block_M": 128},        empty if nothing tells
                    "target",        empty if nothing tells, like the texts below
                    "start_ns",      since the first slice of the trace began
                    "inclusive_ns",
                    "self_ns",       without the passes in it
                    "passes",        runs in it, also those that were left out of the file
                    "status",        "ok", "failed", "incomplete" (something in it failed), "open"
                    "failed_in",     the name of the slice that failed and took the compile along
                    "error",         first line
                    "cache",         "hit", "miss"
                    "thread",
                    "nested",        it lies in another compile, which has its time
                    "own_name"}],    of its slice
      "left_out": {"compiles", "inclusive_ns"}                what --top and --min-ms left out
    }

Names may be added to this; those that are there keep their meaning.
"""

from __future__ import annotations

from tilelang_trace.reports.as_json import dumped
from tilelang_trace.reports.kernels.report import KernelReport


def render(report: KernelReport) -> str:
    """The report as one JSON object."""
    found = report.all
    return dumped(
        {
            "file": report.source,
            "complete": report.recording.complete,
            "reasons": report.recording.reasons,
            "total_ns": found.total_ns,
            "compiles_ns": found.compiles_ns,
            "outside_ns": found.outside_ns,
            "outside_passes": found.outside_passes,
            "count": len(found.compiles),
            "failed": found.failed,
            "compiles": report.shown,
            "left_out": report.left_out,
        }
    )
