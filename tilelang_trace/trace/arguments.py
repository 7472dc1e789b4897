"""The argument contract: every name that this project puts on a slice, in one table.

Writers take the order of arguments from it, readers and the recorder the names, the documentation
its rows. Readers of traces (SQL, `report`, `compare`) rely on the names, so a row is only ever
added; `since` says with which `FORMAT_VERSION` it came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMAT_VERSION = 1
"""Version of the argument contract and of the metadata; it goes into every file."""

COMPILE = "compile"
CONTEXT = "context"
PHASE = "phase"
PASS = "pass"
CODEGEN = "codegen"
STEP = "step"
TOOL = "tool"

KINDS = (COMPILE, CONTEXT, PHASE, PASS, CODEGEN, STEP, TOOL)
"""The kinds of slice, outermost first; a slice's kind is the first of its categories."""

DIFFERENCE = "difference"
"""First category of what a comparison shows between its sides: no work of a compile, so no kind."""

COMPARISON = "comparison"
"""Metadata of a Trace that holds both sides of a comparison and their differences."""

CONTEXT_NAME = "PassContext"
"""Name of every context slice."""

OK = "ok"
FAILED = "failed"
INCOMPLETE = "incomplete"
OPEN = "open"

STATUSES = (OK, FAILED, INCOMPLETE, OPEN)
ERROR_STATUSES = (FAILED, INCOMPLETE)
ERROR_CATEGORY = "error"

CAUSES = (
    "exception",
    "signal",
    "timeout",
    "interrupt",
    "instrument",
    "mismatch",
    "detached",
    "unknown",
)
"""Values of `error.cause`: what ended a slice that has no proper end."""

MESSAGE_LIMIT = 500
"""Characters of `error.message`, the first line of an error's text."""

DETAIL_LIMIT = 32 * 1024
"""Bytes (UTF-8) of `error.detail`, the whole text of an error."""

IR_TEXT_LIMIT = 64 * 1024
"""Bytes (UTF-8) of `ir.before` and of `ir.after`, the printed modules."""


@dataclass(frozen=True)
class Argument:
    """One row of the contract: what a name on a slice means."""

    name: str
    type: Literal["int", "string", "array", "object"]
    kinds: tuple[str, ...]
    """Kinds of slice that may bear it."""
    since: int
    meaning: str


CONTRACT: tuple[Argument, ...] = (
    Argument("sequence", "int", (PASS,), 1, "execution order within its PassContext, from 0"),
    Argument("depth", "int", (PASS,), 1, "nesting depth among the open passes, 0 is outermost"),
    Argument(
        "parent_sequence",
        "int",
        (PASS,),
        1,
        "sequence of the nearest observed enclosing pass; absent at the top",
    ),
    Argument(
        "phase",
        "string",
        (PASS,),
        1,
        "phase label active when the pass began; absent if there was none",
    ),
    Argument("status", "string", KINDS, 1, "`ok`, `failed`, `incomplete` or `open`"),
    Argument(
        "context",
        "int",
        (CONTEXT,),
        1,
        "number of the PassContext in its process; (context, sequence) identifies a pass",
    ),
    Argument(
        "kernel",
        "string",
        (COMPILE, CONTEXT),
        1,
        "label of the module at the first pass of the compile",
    ),
    Argument("target", "string", (COMPILE,), 1, "target of the kernel, as TVM writes it"),
    Argument("backend", "string", (COMPILE,), 1, "TileLang's execution backend"),
    Argument("file", "string", (COMPILE,), 1, "source file of the kernel function"),
    Argument("line", "int", (COMPILE,), 1, "line at which the kernel function begins there"),
    Argument(
        "configuration",
        "object",
        (COMPILE,),
        1,
        "values that the autotuner tries; absent outside of an autotune",
    ),
    Argument(
        "cache",
        "string",
        (COMPILE,),
        1,
        "`hit` if the kernel came from TileLang's cache, else `miss`; absent without a cache",
    ),
    Argument("label", "string", (CONTEXT,), 1, "what TileLang says the PassContext is for"),
    Argument("opt_level", "int", (CONTEXT,), 1, "optimisation level of the PassContext"),
    Argument(
        "required_pass",
        "array",
        (CONTEXT,),
        1,
        "passes that the PassContext requires; absent if none",
    ),
    Argument(
        "disabled_pass",
        "array",
        (CONTEXT,),
        1,
        "passes that the PassContext disables; absent if none",
    ),
    Argument(
        "config", "object", (CONTEXT,), 1, "options of the PassContext as text; absent if none"
    ),
    Argument(
        "command",
        "array",
        (TOOL,),
        1,
        "command line of the program; what looks like a secret is masked",
    ),
    Argument("exit_code", "int", (TOOL,), 1, "exit code, or minus the number of a signal"),
    Argument(
        "error",
        "object",
        KINDS,
        1,
        "why it has no proper end: `type`, `cause`, `message` (first line, and the first cause of "
        "what was raised again) and, where it failed, `detail` (the whole text, with that of all "
        "causes)",
    ),
    Argument(
        "ir",
        "object",
        (PASS,),
        1,
        "`changed`, `hash`, `size_before`, `size_after` (lines), `before`, `after` (text); `kept`: "
        "number of the failed pass in the metadata's `failed_passes`",
    ),
    Argument("hidden", "object", KINDS, 1, "passes that were left out of it: `count`, `ns`"),
    Argument(
        "compare",
        "object",
        (PASS, CODEGEN, STEP, TOOL),
        1,
        "in a comparison, also on differences: `change`, `verdict`, `base_ns`, `new_ns`, "
        "`delta_ns`, `self_delta_ns`, `base_status`, `new_status`, `base_name` if it was renamed",
    ),
    Argument(
        "recorded",
        "object",
        KINDS,
        1,
        "in a comparison that aligns passes: when it really began, since the compile's start, and "
        "how long it took: `begin_ns`, `ns`",
    ),
)

RANK = {argument.name: rank for rank, argument in enumerate(CONTRACT)}
"""Position of a name in the contract: the order in which writers put arguments on a slice."""


def kind_of(category: str) -> str | None:
    """The kind of a slice with this category text (`pass`, `pass,error`), None for a foreign
    category.
    """
    first = category.partition(",")[0]
    return first if first in KINDS else None
