"""What the integration tests share: a real TVM, and passes made of plain functions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.trace.model import Trace

Run = Callable[[Callable[[list[Any]], None]], Trace]


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


COMPILES = '''
"""`compile_it(NAME, body)`: one pass in a PassContext, which calls the body; returns the pid."""
import os

def compile_it(name, body=lambda: None):
    import tvm

    @tvm.transform.module_pass(opt_level=0, name=name)
    def run(mod, context):
        body()
        return mod

    with tvm.transform.PassContext():
        run(tvm.IRModule({}))
    return os.getpid()
'''


@pytest.fixture
def python(tvm: Any, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`python(*arguments, **environment)`: runs a Python of its own in `tmp_path`, where there is a
    module `compiles` (see `COMPILES`).
    """
    (tmp_path / "compiles.py").write_text(COMPILES)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(p for p in (str(tmp_path), os.environ.get("PYTHONPATH", "")) if p)
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


@pytest.fixture(params=["record", "instrument"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs something that is given the instruments for its contexts, and returns the trace of it:
    once under `record`, without an instrument, and once with a `TraceInstrument`.
    """

    def under_record(body: Callable[[list[Any]], None]) -> Trace:
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            body([])
        return tilelang_trace.read(tmp_path / "x.pftrace")

    def with_instrument(body: Callable[[list[Any]], None]) -> Trace:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        body([instrument])
        instrument.write()
        return tilelang_trace.read(tmp_path / "x.pftrace")

    return under_record if request.param == "record" else with_instrument
