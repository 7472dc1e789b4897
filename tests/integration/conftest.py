"""What the integration tests share: a real TVM, and passes made of plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tvm() -> Any:
    """The real TVM; the tests are skipped where there is none."""
    return pytest.importorskip("tvm", reason="apache-tvm is not installed")


@pytest.fixture(scope="session")
def make_pass(tvm: Any) -> Callable[..., Any]:
    """`make_pass(name, body)`: a module pass that calls `body(mod)` and returns the module."""

    def make(name: str, body: Callable[[Any], Any] = lambda mod: None) -> Any:
        @tvm.transform.module_pass(opt_level=0, name=name)
        def run(mod: Any, context: Any) -> Any:
            body(mod)
            return mod

        return run

    return make


@pytest.fixture
def module(tvm: Any) -> Any:
    """An empty module: passes made with `make_pass` don't look into it."""
    return tvm.IRModule({})
