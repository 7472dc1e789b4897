"""The report as JSON, for scripts. Names and texts are whole; times are integer nanoseconds.

    {
      "file": "mlp.pftrace",
      "complete": false,             whether the recording has all that happened
      "reasons": ["..."],            why not
      "total_ns": 9,                 top-level slices of all threads, added up; it is
                                     between_passes_ns + self_ns of all passes + that of left_out
      "wall_ns": 9,                  from the first begin to the last end
      "between_passes_ns": 2,        time of slices that no pass encloses
      "between_passes_by_kind": {"context": 2},
      "of_all_categories": false,    true: there are no passes; "passes" are slices of other tools
      "runs": 3,                     of all passes
      "failed": 1, "incomplete": 1, "open": 0,        slices of all kinds with this status
      "hidden": {"count", "ns",      passes that were left out of the file
                 "outside_ns"},      time of those with no slice around: it is in no number here
      "off_threads": 0,              slices on rows of no thread, which are in no number here
      "largest_off_threads": [["Source", 9]],         names with the most time there, and that
      "sums": 0,                     slices that sum up the others, which are in no number here
      "passes": [{"name", "count", "self_ns", "inclusive_ns",
                  "share", "inclusive_share",         parts of total_ns, 0 to 1
                  "failed", "incomplete", "open"}],   how many of the runs
      "left_out": {"passes", "count", "self_ns"},     what --top and --min-ms left out
      "slowest": [{"name", "start_ns", "inclusive_ns", "self_ns", "status", "thread", "phase",
                   "kernel", "detail"}],           detail: what another tool says it was about
      "slowest_by": "self",          or "inclusive"
      "running": [...],              as slowest: the innermost slices that were still open
      "failures": [{"name", "path": ["..."], "type", "cause", "message", "detail", "phase",
                    "kernel", "inclusive_ns"}],
      "tree": {"min_ns",             null: all but the longest slices are hidden
               "hidden": {"count", "ns"},
               "lines": [{"depth", "name", "kind", "start_ns", "inclusive_ns", "status", "lane",
                          "thread", "detail", "hidden": {"count", "ns"}}]},
      "findings": [{"place", "rule", "done"}]         what was mended when reading the file
    }

Names may be added to this; those that are there keep their meaning.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from tilelang_trace.reports.report import Report


def render(report: Report) -> str:
    """The report as one JSON object."""
    summary = report.summary
    value = {
        "file": report.source,
        "complete": summary.recording.complete,
        "reasons": summary.recording.reasons,
        "total_ns": summary.total_ns,
        "wall_ns": summary.wall_ns,
        "between_passes_ns": summary.between_passes_ns,
        "between_passes_by_kind": summary.between_by_kind,
        "of_all_categories": summary.of_all_categories,
        "runs": summary.runs,
        "failed": summary.failed,
        "incomplete": summary.incomplete,
        "open": summary.open,
        "hidden": {
            "count": summary.hidden,
            "ns": summary.hidden_ns,
            "outside_ns": summary.hidden_outside_ns,
        },
        "off_threads": summary.off_threads,
        "largest_off_threads": summary.largest_off_threads,
        "sums": summary.sums,
        "passes": report.passes,
        "left_out": report.left_out,
        "slowest": report.slowest,
        "slowest_by": report.slowest_by,
        "running": summary.running,
        "failures": summary.failures,
        "tree": report.tree,
        "findings": [*summary.findings],
    }
    return dumped(value)


def dumped(value: Any) -> str:
    """A value, which may hold dataclasses, as JSON text that may be shown on a terminal."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    # JSON lets DEL and the C1 controls stand as they are, but some of them act on terminals.
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)
