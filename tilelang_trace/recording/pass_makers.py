"""How a pass was made: by which global function of TVM or TileLang, and with which arguments.

A PassInfo tells neither. The function is found by the pass's name (`tirx.VerifyMemory` is made by
`tirx.transform.VerifyMemory`, `LegalizeOps` by `relax.transform.LegalizeOps`). The arguments are
those of the call, if it was seen: TVM's Python functions that make passes call the global ones
through modules named `_ffi_api`, which are wrapped while something is recorded. A pass that was
made before that gets what TVM's Python function of that name gives by default.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tilelang_trace.recording.wrapping import Patches
from tilelang_trace.trace.json_values import Json
from tilelang_trace.tvm_values import plain

_API = ".transform._ffi_api"
"""Ending of the modules through which passes are made."""

_OF_PYTHON = ("tvm.ir._ffi_transform_api", "MakeModulePass")
"""And what makes one of a Python function; the module's other functions run passes."""

_FUNCTION = "Function"
"""Name of the type of TVM's functions; what is wrapped already is another."""

_SPACES = ("relax", "tirx", "s_tir", "tl")
"""Where a name without a dot is looked for first: Relax's passes have none."""

_KEPT_NAMES, _KEPT_CALLS = 2048, 64
"""Names of passes, and calls for each, that are remembered: a compile makes some hundred passes."""


class _Call(NamedTuple):
    """A pass that was made."""

    info: Any
    attribute: str
    """Name of the function in its module, and behind the last dot of its global name."""
    arguments: list[Json] | None
    """None if they are no JSON values."""
    python: str | None
    """Name of the Python function that it was made of, if it was."""


class _Seen(threading.local):
    """The last call of this thread."""

    def __init__(self) -> None:
        self.call: _Call | None = None


_seen = _Seen()
_calls: dict[str, deque[_Call]] = {}
"""The last ones by the pass's name, of all threads."""


def wrap(patches: Patches) -> None:
    """Remember how passes are made, from now on, by what is imported already."""
    for name, module in list(sys.modules.items()):
        if name.endswith(_API):
            for attribute, function in list(vars(module).items()):
                if type(function).__name__ == _FUNCTION:
                    patches.wrap(module, attribute, _remembering(attribute))
    name, attribute = _OF_PYTHON
    makes = sys.modules.get(name)
    if type(getattr(makes, attribute, None)).__name__ == _FUNCTION:
        patches.wrap(makes, attribute, _remembering(attribute))


def forget() -> None:
    """Nothing is recorded any longer."""
    _calls.clear()
    _by_name.cache_clear()


def _remembering(attribute: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(*arguments: Any) -> Any:
            made = original(*arguments)
            with suppress(Exception):  # what it gives is no pass, for one
                functions = [one for one in arguments if inspect.isroutine(one)]
                python = _name_of(functions[0]) if functions else None
                _seen.call = _Call(made.info, attribute, _plain(arguments), python)
                _remember(_seen.call)
            return made

        return make

    return wrapper


def _remember(call: _Call) -> None:
    name = str(call.info.name)
    if name in _calls or len(_calls) < _KEPT_NAMES:
        _calls.setdefault(name, deque(maxlen=_KEPT_CALLS)).append(call)


def _name_of(function: Any) -> str:
    """`module.function` of what a pass is made of; TVM's own wrapper of a class says nothing."""
    module = str(function.__module__)
    return "" if module.startswith("tvm.") else f"{module}.{function.__qualname__}"


def _plain(arguments: tuple[Any, ...]) -> list[Json] | None:
    """The arguments as JSON values. They themselves are not held: they may be all of a model's
    weights.
    """
    try:
        return [plain(argument) for argument in arguments]
    except TypeError:
        return None


def made(info: Any) -> dict[str, Json]:
    """A pass's name, and how it was made as far as that is known."""
    return {"name": str(info.name), **maker(info)}


def maker(info: Any) -> dict[str, Json]:
    """`python`, or `function`, `arguments` and `arguments_from` of an entry in
    `trace.failed_passes`, as far as they are known. May raise.
    """
    name = str(info.name)
    for call in list(reversed(_calls.get(name, ()))):
        if call.info.same_as(info):
            if call.python is not None:
                return {"python": call.python}
            function = next(_functions(name, call.attribute), None)
            return _found(function, call.arguments, "call") if function else {}
    return _by_name(name)


@functools.cache
def _by_name(name: str) -> dict[str, Json]:
    """What is found by the name alone."""
    function = next(_functions(name), None)
    if function is None:
        return {}
    default = _by_default(function)
    if default is None or str(default.info.name) != name:
        return {"function": function}
    return _found(function, default.arguments, "default")


def _found(function: str, arguments: list[Json] | None, whence: str) -> dict[str, Json]:
    if arguments is None:
        return {"function": function}
    return {"function": function, "arguments": arguments, "arguments_from": whence}


def _functions(name: str, attribute: str = "") -> Iterator[str]:
    """The global functions that may make a pass of this name, the likeliest first."""
    space, _, short = name.rpartition(".")
    spaces = [space] if space else list(_SPACES)
    names = set(sys.modules["tvm_ffi"].registry.list_global_func_names())
    ending = f".transform.{attribute or short}"
    likely = [f"{space}{ending}" for space in spaces]
    others = sorted(name for name in names if name.endswith(ending) and name not in likely)
    yield from (name for name in (*likely, *others) if name in names)


def _by_default(function: str) -> _Call | None:
    """The call that TVM's Python function of this name makes if it is given nothing; None if there
    is none.
    """
    space, _, short = function.rpartition(".transform.")
    package = "tilelang" if space == "tl" else f"tvm.{space}"
    python = getattr(sys.modules.get(f"{package}.transform"), short, None)
    if python is None or not inspect.isfunction(python):
        return None
    _seen.call = None
    with suppress(Exception):
        python()
    call, _seen.call = _seen.call, None
    return call
