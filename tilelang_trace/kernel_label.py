"""Names the kernel that a module holds, so that the passes of many compiles can be told apart."""

from __future__ import annotations

from typing import Any


def kernel_label(mod: Any) -> str:
    """A short name for what `mod` compiles to, or "" if it can't be told.

    A function is named by its `global_symbol`, the name it will have in the compiled library, else
    by its name in the module. A module of several functions is named by one and the number of
    others: "main +9 more". The one is the first by name among the most telling: a graph function
    (Relax) rather than the operators it calls, and a function that keeps its name in the library
    rather than a private helper. The order in which TVM lists functions depends on addresses and
    plays no part.

    `mod` may be anything, also None; this never raises. It costs a few microseconds a function.
    """
    try:
        ranked = [_ranked_name(var, function) for var, function in mod.functions.items()]
        if not ranked:
            return ""
        name = min(ranked)[-1]
    except Exception:  # a label is never worth a failed compile
        return ""
    return f"{name} +{len(ranked) - 1} more" if len(ranked) > 1 else name


def _ranked_name(var: Any, function: Any) -> tuple[bool, bool, str]:
    """Sorts before the others of its module if it names the module better."""
    attrs = function.attrs
    symbol = None if attrs is None else attrs.get("global_symbol")
    # By the name of the class: TVM has moved PrimFunc from one module to another between versions.
    is_operator = type(function).__name__ == "PrimFunc"
    return is_operator, symbol is None, str(var.name_hint if symbol is None else symbol)
