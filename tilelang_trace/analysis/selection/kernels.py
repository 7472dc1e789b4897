"""Some of the kernels that a Trace shows."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from tilelang_trace.analysis.ancestry import nearest_above
from tilelang_trace.analysis.compiles import kernels, plain_name
from tilelang_trace.analysis.selection.leave_out import leave_out
from tilelang_trace.trace.model import Trace


def only_kernels(trace: Trace, *patterns: str) -> Trace:
    """The compile slices and contexts whose kernel matches one of the shell patterns, with all that
    lies in them and all that encloses them.

    `main` matches the label `main +9 more` too. What encloses them says in `hidden` what was left
    out; instants and counters stay.
    """
    parent = trace.slices.parent
    keep = np.zeros(len(trace.slices), np.bool_)
    matches = matching(trace, patterns)
    keep[matches] = True
    keep |= nearest_above(parent, keep) >= 0
    for row in matches:
        while (row := int(parent[row])) >= 0 and not keep[row]:
            keep[row] = True
    return leave_out(trace, ~keep)


def matching(trace: Trace, patterns: Sequence[str]) -> list[int]:
    """The rows of the compile slices and contexts whose kernel matches one of the patterns."""
    return [
        row
        for row, kernel in kernels(trace).items()
        if any(
            fnmatchcase(name, pattern)
            for pattern in patterns
            for name in (kernel, plain_name(kernel))
        )
    ]
