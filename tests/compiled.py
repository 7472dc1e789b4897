"""Traces of compiles for tests, made of nested slices that say how long each takes by itself."""

from __future__ import annotations

from typing import Any

from tests.traces import main_thread
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

Tree = tuple[str, str, int, dict[str, Any], tuple[Any, ...]]


def a_pass(name: str, own_ns: int = 10, *inside: Tree, **arguments: Any) -> Tree:
    """A pass that takes this long beside what is inside."""
    return "pass", name, own_ns, arguments, inside


def a_context(*inside: Tree, own_ns: int = 5, **arguments: Any) -> Tree:
    """A PassContext."""
    return "context", "PassContext", own_ns, {"context": 0, "opt_level": 3, **arguments}, inside


def a_compile(name: str, *inside: Tree, own_ns: int = 7, **arguments: Any) -> Tree:
    """A compile slice, as TileLang's hooks make it."""
    return "compile", name, own_ns, {"kernel": name, **arguments}, inside


def failed(message: str) -> dict[str, Any]:
    """Arguments of the slice nearest to a failure."""
    error = {"type": "ValueError", "cause": "exception", "message": message}
    return {"status": "failed", "error": error}


INCOMPLETE = {"status": "incomplete", "error": {"type": "ValueError", "cause": "exception"}}


def trace(*trees: Tree, **metadata: Any) -> Trace:
    """These slices one after the other, 1 ns between them, on one thread."""
    builder = TraceBuilder()
    builder.metadata = metadata
    lane = main_thread(builder)

    def add(tree: Tree, begin: int) -> int:
        kind, name, own_ns, arguments, inside = tree
        row = builder.slice(lane, begin, begin + 1, name, kind, {"status": "ok", **arguments})
        time = begin
        for child in inside:
            time = add(child, time)
        builder.ends[row] = time + own_ns
        return builder.ends[row]

    time = 1000
    for tree in trees:
        time = add(tree, time) + 1
    return with_phases(builder.build())
