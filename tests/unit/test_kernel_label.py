"""The name of what a module compiles to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tilelang_trace.kernel_label import kernel_label


class PrimFunc:
    """An operator, as TVM's class of this name."""

    def __init__(self, symbol: str | None = None) -> None:
        self.attrs = {} if symbol is None else {"global_symbol": symbol}


class Function(PrimFunc):
    """A graph function, as Relax's class of this name."""


class GlobalVar:
    def __init__(self, name: str) -> None:
        self.name_hint = name


def module(**functions: PrimFunc) -> SimpleNamespace:
    return SimpleNamespace(functions={GlobalVar(name): f for name, f in functions.items()})


def test_global_symbol_comes_before_the_name_in_the_module() -> None:
    assert kernel_label(module(main=PrimFunc("my_kernel"))) == "my_kernel"
    assert kernel_label(module(main=PrimFunc())) == "main"


def test_function_without_attributes_is_named_by_the_module() -> None:
    function = PrimFunc()
    function.attrs = None  # type: ignore[assignment]

    assert kernel_label(module(main=function)) == "main"


def test_several_functions_are_named_by_the_first_by_name_and_counted() -> None:
    assert kernel_label(module(b=PrimFunc("b"), a=PrimFunc("a"))) == "a +1 more"
    assert kernel_label(module(a=PrimFunc("z"), b=PrimFunc("y"), c=PrimFunc("x"))) == "x +2 more"


def test_exported_function_comes_before_private_ones() -> None:
    assert kernel_label(module(add=PrimFunc(), main=PrimFunc("main"))) == "main +1 more"


def test_graph_function_comes_before_the_operators_it_calls() -> None:
    operators = {f"add{i}": PrimFunc(f"add{i}") for i in range(9)}

    assert kernel_label(module(**operators, forward=Function())) == "forward +9 more"


@pytest.mark.parametrize("mod", [None, 3, "text", object(), module(), module(main=object())])  # type: ignore[arg-type]
def test_module_that_cannot_be_read_has_no_label(mod: Any) -> None:
    assert kernel_label(mod) == ""


def test_functions_of_a_real_module_are_named() -> None:
    tvm = pytest.importorskip("tvm")
    te = pytest.importorskip("tvm.te")
    a = te.placeholder((4,), name="a")
    function = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + a[i], name="b")])
    private = function.without_attr("global_symbol")
    named = function.with_attr("global_symbol", "my_kernel")

    assert kernel_label(tvm.IRModule({"main": private})) == "main"
    assert kernel_label(tvm.IRModule({"main": named})) == "my_kernel"
    assert type(kernel_label(tvm.IRModule({"main": named}))) is str
    assert kernel_label(tvm.IRModule({"a": private, "main": named})) == "my_kernel +1 more"
    assert kernel_label(tvm.IRModule({})) == ""
