"""What is kept of a pass that failed (see `trace.failed_passes`): the module that was held, and how
the pass can be made again.

Holding a module costs nothing; everything here happens only once a pass has failed, or before each
pass with `--ir disk`. No Exception leaves this module: it runs in the middle of somebody's failure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic_ns
from typing import Any

from tilelang_trace.recording import deep_stack, pass_makers
from tilelang_trace.recording.ir_facts import COST
from tilelang_trace.recording.say import reason
from tilelang_trace.trace.failed_passes import MODULE_LIMIT, TOTAL_LIMIT
from tilelang_trace.trace.json_values import Json, storable
from tilelang_trace.trace.long_text import cut
from tilelang_trace.tvm_values import plain

FAILED_PASS = "failed_pass"
"""Name of an argument that failed passes have in a journal only: their entry, as JSON text. The
reader of journals moves it to the metadata.
"""

_TEXT_OF_LARGE_MODULE = 64 * 1024
"""Bytes that are kept of a text that is too long: enough to see what it is."""


class FailedPasses:
    """What a process keeps of its failed passes, as text for the journal."""

    def __init__(self) -> None:
        self._room = TOTAL_LIMIT

    def arguments(self, mod: Any, info: Any, called: Any) -> dict[str, Json]:
        """The entry of a pass that failed, and what it cost, as arguments of its end in a journal:
        of the module before it, its PassInfo, and the pass that Python called, which may be a
        Sequential around it.
        """
        begun = monotonic_ns()
        entry = describe(mod, info, called, self._room)
        self._room -= len(entry.get("text", "")) + len(entry.get("json", ""))
        return {FAILED_PASS: as_text(entry), COST: {"after_ns": monotonic_ns() - begun}}


def describe(mod: Any, info: Any, called: Any = None, room: int = MODULE_LIMIT) -> dict[str, Json]:
    """The entry of a pass, with at most `room` characters of its module."""
    return with_module(about_pass(info, called), module_texts(mod, room))


def with_module(entry: dict[str, Json], texts: dict[str, Json]) -> dict[str, Json]:
    """An entry with what `module_texts` gave: the JSON on one line, and without TVM's escapes, so
    that a path reads as a path, for who looks for it.
    """
    if isinstance(texts.get("json"), str):
        module = json.loads(texts["json"])
        texts = {**texts, "json": json.dumps(module, ensure_ascii=False, separators=(",", ":"))}
    left_out = {**entry.get("left_out", {}), **texts.get("left_out", {})}
    return {**entry, **texts, "left_out": left_out}


def as_text(entry: dict[str, Json]) -> str:
    """An entry as JSON text."""
    text: str = storable(json.dumps(entry, ensure_ascii=False))
    return text


def about_pass(info: Any, called: Any) -> dict[str, Json]:
    """All of an entry but the module."""
    found: dict[str, Json] = {"name": "", "left_out": {}}
    steps: tuple[Callable[[], dict[str, Json]], ...] = (
        lambda: {"name": str(info.name), "opt_level": int(info.opt_level)},
        lambda: pass_makers.maker(info),
        lambda: _sequential(info, called),
        lambda: {"context": _context()},
        _target,
    )
    for step in steps:
        try:
            found.update(step())
        except Exception as error:  # of a TVM that is built otherwise: the rest is still worth it
            found["left_out"].setdefault("entry", reason(error))
    return found


def module_texts(mod: Any, room: int = MODULE_LIMIT) -> dict[str, Json]:
    """`text` and `json` of a module, and under `left_out` why one of them is not there."""
    try:
        return deep_stack.run(partial(_module_texts, mod, room))
    except Exception as error:
        return {"left_out": dict.fromkeys(("text", "json"), reason(error))}


def _module_texts(mod: Any, room: int) -> dict[str, Json]:
    left_out: dict[str, Json] = {}
    found: dict[str, Json] = {"left_out": left_out}
    limit = max(0, min(room, MODULE_LIMIT))
    for key, form in (("text", _script), ("json", _json)):
        try:
            text = form(mod, limit)
        except _TooLarge as error:
            left_out[key] = str(error)
            continue
        except Exception as error:
            left_out[key] = reason(error)
            continue
        if len(text) <= limit:
            found[key] = text
            limit -= len(text)
            continue
        left_out[key] = f"it has {len(text)} characters"
        if key == "text":
            found[key] = cut(text, _TEXT_OF_LARGE_MODULE)
    return found


class _TooLarge(Exception):
    """Its text says what is."""


def _script(mod: Any, limit: int) -> str:
    text: str = storable(str(mod.script()))
    return text


def _json(mod: Any, limit: int) -> str:
    if _save_json_crashes():
        raise _TooLarge("this apache-tvm crashes on save_json with this apache-tvm-ffi")
    size = _constant_bytes(mod)
    if size > limit // 2:  # base64 takes a third more
        raise _TooLarge(f"it holds {size} bytes of constants")
    return str(sys.modules["tvm.ir"].save_json(mod))


def _save_json_crashes() -> bool:
    """Whether TVM dies of it: apache-tvm up to 0.27 does with apache-tvm-ffi from 0.1.15 on, which
    no exception tells.
    """
    versions = []
    for name in ("tvm", "tvm_ffi"):
        words = str(getattr(sys.modules.get(name), "__version__", "0")).split(".")
        versions.append(tuple(int(word) for word in words if word.isdecimal()))
    return versions[0] < (0, 28) and versions[1] >= (0, 1, 15)


def _constant_bytes(mod: Any) -> int:
    """Bytes of the tensors in a module's Relax functions. They may be all weights of a model, which
    as text would take more memory than there is.
    """
    relax = sys.modules.get("tvm.relax")
    if relax is None:
        return 0
    tensors: dict[int, int] = {}

    def see(expression: Any) -> None:
        # Relax's Constant has `data`, since 0.27 it is a GenericConst with `value`.
        tensor: Any = getattr(expression, "data", getattr(expression, "value", None))
        if hasattr(tensor, "shape") and hasattr(tensor, "dtype"):
            size = getattr(tensor.dtype, "itemsize", 8)
            for extent in tensor.shape:
                size *= int(extent)
            tensors[hash(expression)] = size

    for function in mod.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, see)
    return sum(tensors.values())


def _sequential(info: Any, called: Any) -> dict[str, Json]:
    """The innermost Sequential that the pass is a part of, or that it is itself."""
    passes = getattr(called, "passes", None)
    if passes is None:
        return {}
    if called.info.same_as(info):
        return {"passes": [pass_makers.made(one.info) for one in passes]}
    for at, one in enumerate(passes):
        found = _sequential(info, one)
        if found:
            return found
        if one.info.same_as(info):
            names = [str(one.info.name) for one in passes]
            return {"sequential": {"name": str(called.info.name), "passes": names, "at": at}}
    return {}


def _context() -> dict[str, Json]:
    context = sys.modules["tvm.ir.transform"].PassContext.current()
    found: dict[str, Json] = {
        "opt_level": int(context.opt_level),
        "required_pass": [str(name) for name in context.required_pass],
        "disabled_pass": [str(name) for name in context.disabled_pass],
    }
    config, left_out = {}, []
    for key, value in context.config.items():
        try:
            config[str(key)] = plain(value)
        except TypeError:
            left_out.append(str(key))
    return {**found, "config": config, "left_out": left_out}


def _target() -> dict[str, Json]:
    target = sys.modules["tvm.target"].Target.current(allow_none=True)
    return {} if target is None else {"target": plain(target.export())}
