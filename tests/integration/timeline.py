"""A Trace as lines of text, to compare with those that are right."""

from __future__ import annotations

from tilelang_trace.trace.model import Trace


def tree(trace: Trace) -> list[str]:
    """A line for each slice, indented by its level: name, and the number of a context; the status
    if it is not `ok`.
    """
    levels: list[int] = []
    lines = []
    for row, parent in enumerate(trace.slices.parent.tolist()):
        levels.append(levels[parent] + 1 if parent >= 0 else 0)
        arguments = trace.arguments.of(row)
        words = [trace.name(row)]
        if "context" in arguments:
            words = [f"context {arguments['context']}"]
        if arguments["status"] != "ok":
            words.append(arguments["status"])
        lines.append("  " * levels[row] + " ".join(words))
    return lines
