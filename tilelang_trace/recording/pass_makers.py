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
from typing import Any, NamedTuple, TypeAlias

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

_KEPT_CALLS = 64
"""Calls of each function that are remembered: a compile makes some hundred passes."""

_SIMPLE = (bool, int, float, str, type(None))


_Values: TypeAlias = "tuple[tuple[Json, ...], dict[str, Json]] | None"
"""Arguments of a call, None if they are no JSON values."""

_NONE: _Values = ((), {})


class _Maker(NamedTuple):
    """A function that makes passes."""

    name: str
    """Module, dot, name."""
    function: Callable[..., Any]
    calls: deque[tuple[Any, _Values]]
    """The last ones, of all threads: the pass or its PassInfo, and the arguments."""


_makers: list[_Maker] = []


def wrap(patches: Patches) -> None:
    """Remember how passes are made, from now on, by the functions of what is imported already."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGES) and name.endswith(_ENDING) and _is_outermost(name):
            for attribute, function in list(vars(module).items()):
                if _makes_passes(attribute, function):
                    patches.wrap(module, attribute, _remembering(f"{name}.{attribute}"))


def forget() -> None:
    """Nothing is recorded any longer."""
    _makers.clear()
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


def _remembering(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        calls: deque[tuple[Any, _Values]] = deque(maxlen=_KEPT_CALLS)
        _makers.append(_Maker(name, original, calls))

        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            try:
                made = original(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            if not args and not kwargs:  # nearly always: the least work
                calls.append((made, _NONE))
            else:
                with suppress(Exception):  # what it gives may be no pass
                    # Not the pass, which may hold what it was given: all of a model's weights.
                    calls.append((made.info, _values(args, kwargs)))
            return made

        return make

    return wrapper


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Values:
    if all(type(value) in _SIMPLE for value in (*args, *kwargs.values())):
        return args, kwargs
    try:
        return tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}
    except TypeError:
        return None


def made(info: Any) -> dict[str, Json]:
    """A pass's name, and how it was made as far as that is known."""
    return {"name": str(info.name), **maker(info)}


def maker(info: Any) -> dict[str, Json]:
    """`maker`, `function`, `arguments` and `arguments_from` of an entry in `trace.failed_passes`,
    as far as they are known. May raise.
    """
    for known in list(_makers):
        for one, values in list(known.calls):
            if info.same_as(getattr(one, "info", one)):
                return {"maker": known.name, **_called_with(known.function, values)}
    return _by_name(str(info.name))


def _called_with(function: Callable[..., Any], values: _Values) -> dict[str, Json]:
    if values is None:
        return {}
    bound = inspect.signature(function).bind(*values[0], **values[1])
    given: dict[str, Json] = {}
    for parameter in inspect.signature(function).parameters.values():
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
