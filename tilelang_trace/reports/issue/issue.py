"""What an issue about a compile says, found once for its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilelang_trace.analysis.runs import Failed
from tilelang_trace.analysis.summary import Summary, summarize
from tilelang_trace.trace.arguments import COMPILE, CONTEXT
from tilelang_trace.trace.failures import failures, main_failure
from tilelang_trace.trace.headline import Headline, headline
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

SLOWEST = 10
"""Passes in the table."""

_CONTEXT_OPTIONS = ("opt_level", "required_pass", "disabled_pass", "config")


@dataclass(frozen=True)
class Issue:
    """A compile that somebody reports."""

    headline: Headline
    summary: Summary
    failed: Failed | None
    """The failure that the issue is about."""
    others: tuple[Failed, ...]
    """The other failures, by time."""
    context: Mapping[str, Json]
    """Options of the PassContext: of that around the failure, else of the longest one."""
    targets: tuple[str, ...]
    """Whole, as TVM writes them."""
    metadata: Mapping[str, Json]


def make_issue(trace: Trace) -> Issue:
    """Find what an issue about this Trace says."""
    summary = summarize(trace, slowest=0)
    found = failures(trace)
    main = main_failure(trace, found)
    at = found.index(main) if main is not None else -1
    return Issue(
        headline=headline(trace),
        summary=summary,
        failed=None if main is None else summary.failures[at],
        others=tuple(f for number, f in enumerate(summary.failures) if number != at),
        context=_context(trace, None if main is None else main.row),
        targets=tuple(_targets(trace)),
        metadata=trace.metadata,
    )


def _context(trace: Trace, failed: int | None) -> dict[str, Json]:
    is_context = trace.is_kind(CONTEXT)
    row = -1 if failed is None else failed
    while row >= 0 and not is_context[row]:
        row = int(trace.slices.parent[row])
    if row < 0:
        contexts = np.flatnonzero(is_context)
        if not len(contexts):
            return {}
        row = int(contexts[np.argmax(trace.slices.duration[contexts])])
    arguments = trace.arguments.of(row)
    return {name: arguments[name] for name in _CONTEXT_OPTIONS if name in arguments}


def _targets(trace: Trace) -> dict[str, None]:
    of_compiles = trace.is_kind(COMPILE)
    values = trace.arguments.values("target").items()
    found = [trace.metadata.get("target"), *(v for row, v in values if of_compiles[row])]
    return dict.fromkeys(value for value in found if isinstance(value, str) and value)
