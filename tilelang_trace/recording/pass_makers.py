"""How a pass was made: by which function of TVM or TileLang, and with which arguments.

A PassInfo tells neither. TVM's Python functions that make passes (`relax.transform.FuseOps`) are
wrapped while something is recorded, and remember their calls. A pass that they did not make is
looked for by its name: `tirx.VerifyMemory` is made by the global function
`tirx.transform.VerifyMemory`, and by the Python function of that name with nothing given.

The global functions themselves can't be wrapped, though that would see all calls: TVM hands them to
C code that takes them for what they are without a look, and crashes.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from tilelang_trace.recording.wrapping import Patches, leave_no_frame
from tilelang_trace.trace.json_values import Json
from tilelang_trace.tvm_values import plain

_PACKAGES = ("tvm.", "tilelang.")
_ENDING = ".transform"
"""Of the modules with functions that make passes; `.transform.transform` is the inside of one."""

_DECORATOR = "_pass"
"""Ending of the names of functions there that make a pass of a user's function."""

_SPACES = ("relax", "tirx", "s_tir", "tl")
"""Where a name without a dot is looked for first: Relax's passes have none."""

_KEPT_NAMES, _KEPT_CALLS = 2048, 64
"""Names of passes, and calls for each, that are remembered: a compile makes some hundred passes."""

_SIMPLE = (bool, int, float, str, type(None))


class _Call(NamedTuple):
    """A pass that was made."""

    info: Any
    maker: str
    """The Python function: module, dot, name."""
    function: Callable[..., Any]
    values: tuple[tuple[Json, ...], dict[str, Json]] | None
    """Its arguments, None if they are no JSON values."""


_calls: dict[str, deque[_Call]] = {}
"""The last ones by the pass's name, of all threads."""


def wrap(patches: Patches) -> None:
    """Remember how passes are made, from now on, by the functions of what is imported already."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGES) and name.endswith(_ENDING) and _is_outermost(name):
            for attribute, function in list(vars(module).items()):
                if _makes_passes(attribute, function):
                    patches.wrap(module, attribute, _remembering(f"{name}.{attribute}"))


def forget() -> None:
    """Nothing is recorded any longer."""
    _calls.clear()
    _by_name.cache_clear()


def _is_outermost(name: str) -> bool:
    return not name.removesuffix(_ENDING).endswith(_ENDING)


def _makes_passes(attribute: str, function: Any) -> bool:
    return (
        inspect.isfunction(function)
        and not attribute.startswith("_")
        and not attribute.endswith(_DECORATOR)
        and str(function.__module__).startswith(_PACKAGES)
    )


def _remembering(maker: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            try:
                made = original(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            with suppress(Exception):  # what it gives may be no pass
                info = made.info
                _remember(str(info.name), _Call(info, maker, original, _values(args, kwargs)))
            return made

        return make

    return wrapper


def _values(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Json, ...], dict[str, Json]] | None:
    """The arguments as JSON values. They themselves are not held: they may be all of a model's
    weights.
    """
    if not args and not kwargs:  # nearly always
        return args, kwargs
    if all(type(value) in _SIMPLE for value in (*args, *kwargs.values())):
        return args, kwargs
    try:
        return tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}
    except TypeError:
        return None


def _remember(name: str, call: _Call) -> None:
    calls = _calls.get(name)
    if calls is not None:
        calls.append(call)
    elif len(_calls) < _KEPT_NAMES:
        _calls[name] = deque((call,), _KEPT_CALLS)


def made(info: Any) -> dict[str, Json]:
    """A pass's name, and how it was made as far as that is known."""
    return {"name": str(info.name), **maker(info)}


def maker(info: Any) -> dict[str, Json]:
    """`maker`, `function`, `arguments` and `arguments_from` of an entry in `trace.failed_passes`,
    as far as they are known. May raise.
    """
    name = str(info.name)
    for call in list(reversed(_calls.get(name, ()))):
        if call.info.same_as(info):
            return {"maker": call.maker, **_called_with(call)}
    return _by_name(name)


def _called_with(call: _Call) -> dict[str, Json]:
    if call.values is None:
        return {}
    bound = inspect.signature(call.function).bind(*call.values[0], **call.values[1])
    given: dict[str, Json] = {}
    for parameter in inspect.signature(call.function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            if parameter.name in bound.arguments:
                given[parameter.name] = bound.arguments[parameter.name]
        elif parameter.name in bound.arguments:
            return {}  # nothing of TVM's; it can't be given by name
    return {"arguments": given, "arguments_from": "call"}


@functools.cache
def _by_name(name: str) -> dict[str, Json]:
    """What is found by the pass's name alone."""
    space, _, short = name.rpartition(".")
    names = set(sys.modules["tvm_ffi"].registry.list_global_func_names())
    likely = [f"{space}{_ENDING}.{short}" for space in ([space] if space else _SPACES)]
    others = sorted(one for one in names if one.endswith(f"{_ENDING}.{short}"))
    function = next((one for one in (*likely, *others) if one in names), None)
    if function is None:
        return {}
    space = function.removesuffix(f"{_ENDING}.{short}")
    module = f"tilelang{_ENDING}" if space == "tl" else f"tvm.{space}{_ENDING}"
    python = getattr(sys.modules.get(module), short, None)
    if not inspect.isfunction(python):
        return {"function": function}
    parameters = inspect.signature(python).parameters.values()
    if any(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters):
        return {"function": function}
    whence = "default" if parameters else "call"  # without parameters there is nothing to know
    return {
        "function": function,
        "maker": f"{module}.{short}",
        "arguments": {},
        "arguments_from": whence,
    }
