"""What a Trace is of, in a few words: the kernels or the command, how it ended, with what versions.

The title of a picture and that of an issue say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilelang_trace.trace.arguments import COMPILE, CONTEXT, DIFFERENCE, OPEN, PASS
from tilelang_trace.trace.failures import Failure, failures, main_failure
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

_KERNELS_NAMED = 3
_VERSIONS = {"tilelang": "TileLang", "tvm": "TVM", "tvm_ffi": "tvm-ffi", "python": "Python"}
VERSION_NAMES = (*_VERSIONS.values(), "host", "target")
"""Those names in `Headline.versions` that are not from the trace."""


@dataclass(frozen=True)
class Headline:
    """A Trace in a few words; the texts are as the trace has them, so they may hold anything."""

    kernels: tuple[str, ...]
    """Labels of the kernels by begin, each once; empty if none is known, and for a comparison."""
    command: str
    """The command line, else the name of the process; empty if unknown."""
    wall_ns: int
    """From the first begin to the last end."""
    passes: int
    failure: Failure | None
    """The failure that matters most."""
    failed_after_ns: int
    """From the first begin to that."""
    failures: int
    is_open: bool
    """Something still ran when the Trace was taken."""
    versions: tuple[tuple[str, str], ...]
    """Name and value: TileLang, TVM, Python, the host, the target."""

    @property
    def what(self) -> str:
        """What was compiled: the kernels, else the command."""
        if not self.kernels:
            return self.command or "compile"
        more = len(self.kernels) - _KERNELS_NAMED
        named = ", ".join(self.kernels[:_KERNELS_NAMED])
        return f"{named} and {more} more kernels" if more > 0 else named


def headline(trace: Trace) -> Headline:
    """What a Trace is of."""
    slices = trace.slices
    start = int(slices.begin.min()) if len(slices) else 0
    all_failures = failures(trace)
    main = main_failure(trace, all_failures)
    return Headline(
        kernels=() if _is_comparison(trace) else tuple(_kernels(trace)),
        command=_command(trace),
        wall_ns=int(slices.end.max()) - start if len(slices) else 0,
        passes=int(trace.is_kind(PASS).sum()),
        failure=main,
        failed_after_ns=0 if main is None else main.time - start,
        failures=len(all_failures),
        is_open=_is_open(trace),
        versions=tuple(_versions(trace)),
    )


def _is_comparison(trace: Trace) -> bool:
    """Whether two compiles stand in it, which its process names."""
    return any(text.partition(",")[0] == DIFFERENCE for text in trace.strings)


def _kernels(trace: Trace) -> list[str]:
    """The labels of the compiles; in plain TVM, where there are none, those of the contexts."""
    labels = trace.arguments.strings("kernel", len(trace.slices))
    for kind in (COMPILE, CONTEXT):
        rows = np.flatnonzero(trace.is_kind(kind) & (labels >= 0))
        ordered = labels[rows[np.argsort(trace.slices.begin[rows], kind="stable")]].tolist()
        if found := [text for i in dict.fromkeys(ordered) if (text := trace.strings[i])]:
            return found
    of_trace = _text(trace.metadata.get("kernel"))
    return [of_trace] if of_trace else []


def _is_open(trace: Trace) -> bool:
    if OPEN not in trace.strings:
        return False
    status = trace.arguments.strings("status", len(trace.slices))
    return bool((status == trace.strings.index(OPEN)).any())


def _command(trace: Trace) -> str:
    command = trace.metadata.get("command")
    if isinstance(command, list) and command:
        return " ".join(map(str, command))
    return next((process.name for process in trace.processes if process.name), "")


def _versions(trace: Trace) -> Iterator[tuple[str, str]]:
    versions = _object(trace.metadata.get("versions"))
    for key, name in _VERSIONS.items():
        if versions.get(key):
            yield name, str(versions[key])
    host = _object(trace.metadata.get("host"))
    system = [str(host[key]) for key in ("platform", "machine") if host.get(key)]
    if system:
        # The name of the platform often ends with the machine's.
        told = system[0] if system[-1] in system[0] else " ".join(system)
        yield "host", told
    targets = [trace.metadata.get("target"), *trace.arguments.values("target").values()]
    known = dict.fromkeys(_short_target(text) for target in targets if (text := _text(target)))
    if known:
        yield "target", ", ".join(known)
    for key, value in versions.items():
        if key not in _VERSIONS and value:
            yield key, str(value)


def _short_target(target: str) -> str:
    """The kind and architecture of a target that is written as JSON, as TVM does."""
    try:
        value = json.loads(target)
    except (ValueError, RecursionError):
        return target
    parts = [_text(_object(value).get(key)) for key in ("kind", "arch", "mcpu")]
    return " ".join(filter(None, parts)) or target


def _object(value: Json) -> dict[str, Json]:
    # In a file of another tool anything may stand there.
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
