"""What differs around the passes: targets, options, versions, caches, machines, command lines.

They come in the order in which they usually explain a difference. What is told of kernels and
contexts is told of those that are matched, as the first run of each side has them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilelang_trace.analysis.compare.comparison import ContextChange
from tilelang_trace.analysis.compare.sides import AllRuns
from tilelang_trace.trace.arguments import CONTEXT
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Ids, Trace

_LONGEST = 160
"""Characters of a text; of a longer one the part that differs is shown."""

_LEFT_OUT = "\N{HORIZONTAL ELLIPSIS}"

_OPTIONS = ("opt_level", "required_pass", "disabled_pass")

Arguments = Mapping[str, Json]


@dataclass(frozen=True)
class _Place:
    """Two matched kernels or contexts: the kernel's name, and their arguments."""

    kernel: str
    base: Arguments
    new: Arguments


@dataclass(frozen=True)
class _Change:
    what: str
    kernel: str
    """Empty for what is said of the whole."""
    base: Json
    new: Json


def context_changes(base: AllRuns, new: AllRuns, new_of: Ids) -> list[ContextChange]:
    """All that differs, what helps most first. `new_of` is the counterpart of each node of base."""
    old, young = base.runs[0].trace, new.runs[0].trace
    kernels, contexts = _places(base, new, new_of)
    found = [
        *(change for place in kernels for change in _of_target(place)),
        *(change for place in contexts for change in _of_options(place)),
        *_around_one_side(base, new_of, "base"),
        *_around_one_side(new, _counterparts(new_of, len(new.forest)), "new"),
        *_by_key("version of {}", old.metadata.get("versions"), young.metadata.get("versions")),
        *_by_key("{}", _recorded(old), _recorded(young)),
        *(
            _Change(what, place.kernel, place.base.get(what), place.new.get(what))
            for what in ("backend", "configuration", "cache")
            for place in kernels
            if what in place.base and what in place.new
        ),
        *_by_key("{} of the host", old.metadata.get("host"), young.metadata.get("host")),
        *_by_key(
            "environment {}", old.metadata.get("environment"), young.metadata.get("environment")
        ),
        *_by_key("{}", _started(old), _started(young)),
    ]
    return list(_told([change for change in found if change.base != change.new]))


def _told(found: Sequence[_Change]) -> Iterator[ContextChange]:
    """Each change once; with the name of the kernel where it is not the same for all of them."""
    values: dict[str, set[tuple[str, str]]] = {}
    for change in found:
        values.setdefault(change.what, set()).add((_text(change.base), _text(change.new)))
    told = set()
    for change in found:
        one_of_several = change.kernel and len(values[change.what]) > 1
        what = f"{change.what} of {change.kernel}" if one_of_several else change.what
        texts = _shortened(_text(change.base), _text(change.new))
        if (what, texts) not in told:
            told.add((what, texts))
            yield ContextChange(what, *texts)


def _places(base: AllRuns, new: AllRuns, new_of: Ids) -> tuple[list[_Place], list[_Place]]:
    """The matched kernels and the matched contexts (a kernel of plain TVM is one of both). Where
    there is no kernel, the whole Trace stands for one.
    """
    old, young = base.runs[0], new.runs[0]
    kernel_of = new.forest.outermost_kernels()
    is_kernel = new.forest.kinds.are("kernel")
    kernels, contexts = [], []
    b_nodes = np.flatnonzero(new_of >= 0)
    b_nodes = b_nodes[~new.forest.is_pass[new_of[b_nodes]]]
    b_nodes = b_nodes[(base.rows[0, b_nodes] >= 0) & (new.rows[0, new_of[b_nodes]] >= 0)]
    n_nodes = new_of[b_nodes]
    rows = base.rows[0, b_nodes], new.rows[0, n_nodes]
    is_context = old.trace.is_kind(CONTEXT)[rows[0]] & young.trace.is_kind(CONTEXT)[rows[1]]
    whole = _of_whole(old.trace), _of_whole(young.trace)
    for n, both_contexts, arguments, its_arguments in zip(
        n_nodes.tolist(),
        is_context.tolist(),
        old.trace.arguments.of_rows(rows[0]),
        young.trace.arguments.of_rows(rows[1]),
    ):
        kernel = new.forest.names[kernel_of[n]] if kernel_of[n] >= 0 else ""
        place = _Place(
            kernel,
            {**whole[0], **arguments},
            {**whole[1], **its_arguments},
        )
        if is_kernel[n]:
            kernels.append(place)
        if both_contexts:
            contexts.append(place)
    return kernels or [_Place("", *whole)], contexts


def _of_whole(trace: Trace) -> Arguments:
    """What the metadata says of all kernels."""
    return {
        name: trace.metadata[name]
        for name in ("target", "backend", "cache")
        if name in trace.metadata
    }


def _of_target(place: _Place) -> Iterator[_Change]:
    """The target; key by key where both sides are of one kind."""
    old, young = place.base.get("target"), place.new.get("target")
    if old is None or young is None:
        return  # not every file says it
    one, other = _parsed(old), _parsed(young)
    if not one or not other or one.get("kind") != other.get("kind"):
        yield _Change("target", place.kernel, _brief(one) or old, _brief(other) or young)
        return
    for key in sorted({*one, *other}):
        yield _Change(f"target {key}", place.kernel, one.get(key), other.get(key))


def _parsed(target: Json) -> Mapping[str, Json]:
    """A target as TVM writes it: JSON."""
    if isinstance(target, str):
        return _parsed_text(target)
    return target if isinstance(target, dict) else {}


@lru_cache(maxsize=64)
def _parsed_text(target: str) -> Mapping[str, Json]:
    try:
        value = json.loads(target)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _brief(target: Mapping[str, Json]) -> str:
    """A target by its kind and the machine it is for."""
    parts = (target.get(key) for key in ("kind", "arch", "mcpu", "mtriple"))
    return " ".join(str(part) for part in parts if part)


def _of_options(place: _Place) -> Iterator[_Change]:
    """The options of a PassContext, where both sides have them: not every file says them."""
    if "opt_level" not in place.base or "opt_level" not in place.new:
        return
    for name in _OPTIONS:
        yield _Change(name, place.kernel, place.base.get(name), place.new.get(name))
    for change in _by_key("config {}", place.base.get("config", {}), place.new.get("config", {})):
        yield _Change(change.what, place.kernel, change.base, change.new)


def _around_one_side(side: AllRuns, counterpart: Ids, called: str) -> Iterator[_Change]:
    """Contexts that only one side has, around passes that both have."""
    trace = side.runs[0].trace
    alone = np.flatnonzero(~side.forest.is_pass & (counterpart < 0) & (side.rows[0] >= 0))
    for node in alone.tolist():
        options = trace.arguments.of(int(side.rows[0, node]))
        if "opt_level" in options and (counterpart[side.forest.children.of(node)] >= 0).any():
            texts = [f"{name} {_text(options[name])}" for name in _OPTIONS if name in options]
            config = options.get("config")
            texts += [f"{k} {_text(v)}" for k, v in config.items()] if config else []
            said = ", ".join(texts)
            yield _Change("PassContext", "", *((said, None) if called == "base" else (None, said)))


def _counterparts(new_of: Ids, count: int) -> Ids:
    base_of = np.full(count, -1, np.int32)
    matched = np.flatnonzero(new_of >= 0)
    base_of[new_of[matched]] = matched
    return base_of


def _by_key(what: str, base: Json, new: Json) -> Iterator[_Change]:
    """The entries of two mappings, if both sides have them."""
    if isinstance(base, Mapping) and isinstance(new, Mapping):
        for key in sorted({*base, *new}):
            yield _Change(what.format(key), "", base.get(key), new.get(key))


def _recorded(trace: Trace) -> Json:
    """How a Trace was recorded, as far as that changes the compile or its times."""
    recording = trace.metadata.get("recording")
    if not isinstance(recording, Mapping):
        return None
    return {
        "recorded IR": recording.get("ir", "off"),
        "--deterministic": bool(recording.get("deterministic")),
    }


def _started(trace: Trace) -> Json:
    """How the program was started."""
    command = trace.metadata.get("command")
    if not isinstance(command, list) or not command:
        return None
    return {
        "command": shlex.join(map(str, [os.path.basename(str(command[0])), *command[1:]])),
        "working directory": trace.metadata.get("working_directory"),
    }


def _text(value: Json) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _shortened(base: str, new: str) -> tuple[str, str]:
    """Two texts that differ, each short; the place in which they differ is in both."""
    first = next((i for i, (a, b) in enumerate(zip(base, new)) if a != b), 0)

    def cut(text: str) -> str:
        if len(text) <= _LONGEST:
            return text
        start = max(0, min(first - _LONGEST // 4, len(text) - _LONGEST + 2))
        part = text[start : start + _LONGEST - 2]
        return f"{_LEFT_OUT * (start > 0)}{part}{_LEFT_OUT * (start + len(part) < len(text))}"

    return cut(base), cut(new)
