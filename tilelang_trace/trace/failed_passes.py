"""What a trace keeps of a pass that failed, so that the failure can be had again: its metadata
`failed_passes`, a list with an entry for each (null for one that was left out).

It is metadata and no argument of the slice, because it is large: a viewer shows all arguments of
the slice that is selected, and a module of 500 kB would bury the error. The slice has the number of
its entry, `ir.kept`. An entry is an object:

| key | meaning |
| --- | --- |
| `name` | the pass |
| `opt_level` | from which level on a Sequential runs it |
| `maker` | Python function of TVM or TileLang that makes it; absent if none is known |
| `arguments` | what it was given, by name, as JSON values; absent if that is not known |
| `arguments_from` | `call`: what it was given; `default`: not known, none were given |
| `function` | global function that makes a pass of that name; absent if none was found |
| `passes` | if it is a Sequential: its passes, with `name`, `maker` and so on |
| `sequential` | the Sequential that it was part of: `name`, `passes` (names), `at` (its place) |
| `context` | the PassContext: `opt_level`, `required_pass`, `disabled_pass`, `config`, and the |
|  | names of options that are no JSON values, `left_out` |
| `target` | the current Target as a JSON value; absent if there was none |
| `text` | the module before the pass, as TVMScript |
| `json` | the same as TVM's `save_json` gives it, on one line: what loads again |
| `left_out` | why `text` or `json` is not there, or not whole: an object with these keys |

Who changes names or texts in a trace must treat both `text` and `json`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

FAILED_PASSES = "failed_passes"
"""Key of the list in a Trace's metadata."""

KEPT = "kept"
"""Key in the argument `ir` of a failed pass: the number of its entry in the list."""

MODULE_LIMIT = 32 * 1024 * 1024
"""Characters of `text`, and of `json`: what is longer is left out, and `left_out` says so."""

TOTAL_LIMIT = 64 * 1024 * 1024
"""Characters of all modules that one process keeps of its failed passes."""


def kept_of(trace: Trace, row: int) -> dict[str, Any] | None:
    """The entry of a failed pass; None if nothing was kept of it."""
    entries = trace.metadata.get(FAILED_PASSES)
    number = _number(trace.arguments.of(row).get("ir"))
    if not isinstance(entries, list) or number is None or not 0 <= number < len(entries):
        return None
    return dict(entries[number]) if isinstance(entries[number], dict) else None


def only_those_that_failed_in(trace: Trace) -> Trace:
    """A part of a Trace with the entries of the passes that are in it; null stands for the others,
    so that the numbers stay right.
    """
    entries = trace.metadata.get(FAILED_PASSES)
    if not isinstance(entries, list):
        return trace
    used = {_number(ir) for ir in trace.arguments.values("ir").values()}
    left = [entry if number in used else None for number, entry in enumerate(entries)]
    return replace(trace, metadata={**trace.metadata, FAILED_PASSES: left})


def _number(ir: Json) -> int | None:
    number = ir.get(KEPT) if isinstance(ir, dict) else None
    return number if type(number) is int else None
