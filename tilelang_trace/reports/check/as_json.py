"""What was found, for scripts.

    {"files": [{
       "file": "trace.json",
       "ok": false,               true: nothing was found
       "error": null,             why it is no trace
       "engine": "Perfetto v52",  the Perfetto that was asked too, or null
       "findings": 12,            how many there are of all rules
       "rules": [{"rule", "count",
                  "loss",         true: the file doesn't hold all that happened
                  "perfetto",     what Perfetto makes of it
                  "mend",         what to do about it
                  "places": [{"place", "done"}],  the first, at most 1000; done: by the reader
                  "more"}],       how many more places there are
       "mend": ["..."],           commands that mend what can be mended
       "notes": ["..."]           what is no fault of the file
    }]}

Names may be added to this; those that are there keep their meaning.
"""

from __future__ import annotations

from typing import Any

from tilelang_trace.reports.as_json import dumped
from tilelang_trace.reports.check.report import Broken, Checked, Report, broken, command_for


def render(report: Report) -> str:
    """All files as one JSON object."""
    return dumped({"files": [_file(file, report.top) for file in report.files]})


def _file(file: Checked, top: int | None) -> dict[str, Any]:
    return {
        "file": file.path,
        "ok": not file.error and not file.findings.total,
        "error": file.error or None,
        "engine": file.engine or None,
        "findings": file.findings.total,
        "rules": [_rule(entry) for entry in broken(file.findings, top)],
        "mend": [command_for(path, file.path) for path in file.to_mend],
        "notes": file.notes,
    }


def _rule(entry: Broken) -> dict[str, Any]:
    return {
        "rule": entry.rule.name,
        "count": entry.count,
        "loss": entry.rule.is_loss,
        "perfetto": entry.rule.perfetto,
        "mend": entry.rule.mend,
        "places": [{"place": each.place, "done": each.done} for each in entry.places],
        "more": entry.count - len(entry.places),
    }
