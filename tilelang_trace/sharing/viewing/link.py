"""The address at which the Perfetto UI opens a file and shows one slice of it.

Source of the parameters: Perfetto's docs/visualization/deep-linking-to-perfetto-ui.md and
ui/src/plugins/dev.perfetto.DeeplinkQuerystring; of the commands, which run once the trace is
loaded: docs/visualization/commands-automation-reference.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from tilelang_trace.trace.failures import ROW_NAME

ONLINE = "https://ui.perfetto.dev"

_MARGIN = 2
"""What is shown before the slice, and behind it: so many times its duration."""
_LEAST_MARGIN_NS = 1_000

_FAILURES = (
    "SELECT s.name, a.string_value AS error FROM slice s JOIN args a USING (arg_set_id) "
    "WHERE category GLOB '*,error' AND a.key GLOB '*.error.message' "
    "ORDER BY ts DESC, depth DESC"
)
"""What failed, from the inside out, and why: the page does not open the tab of what it selects."""


@dataclass(frozen=True)
class View:
    """What the page shows first: a slice, in ns on the clock that the page shows the file by."""

    begin: int
    duration: int
    first: int
    """When the first of all events is, and the last: the page ignores a view that goes beyond."""
    last: int
    failures: bool
    """Whether there is a row of failures, to be pinned."""
    shared_times: bool = False
    """Whether slices around this one begin and end when it does."""

    def window(self) -> tuple[int, int]:
        """The times at the left and right edge of the page."""
        margin = max(_MARGIN * self.duration, _LEAST_MARGIN_NS)
        end = self.begin + self.duration
        return max(self.first, self.begin - margin), min(self.last, end + margin)


def link(page: str, file: str, view: View | None) -> str:
    """The address of a page of the Perfetto UI that opens the file at another address."""
    parameters = {"url": file}
    if view is not None:
        left, right = view.window()
        # The page puts the duration as it is into the query that looks for the slice, and takes the
        # first row: of slices at the same times this makes it the innermost.
        order = " order by depth desc" if view.shared_times else ""
        parameters |= {
            "ts": str(view.begin),
            "dur": f"{view.duration}{order}",
            "visStart": str(left),
            "visEnd": str(right),
        }
    if view is not None and view.failures:
        parameters["startupCommands"] = json.dumps(_commands(), separators=(",", ":"))
    return f"{page}/#!/?{urlencode(parameters, quote_via=quote, safe='')}"


def _commands() -> list[dict[str, object]]:
    """For a trace with failures. (The rows of what is selected are unfolded without a command.)"""
    return [
        # In JSON the row is a thread, whose id follows the name.
        {"id": "dev.perfetto.PinTracksByRegex", "args": [rf"^{ROW_NAME}( \d+)?$"]},
        {"id": "dev.perfetto.RunQueryAndShowTab", "args": [_FAILURES, ROW_NAME]},
    ]
