"""Fixtures that put a trace before the real Perfetto: `perfetto_engine` and `perfetto_ui`.

Where Perfetto cannot run, the tests that need it are skipped with the reason. Under continuous
integration (the environment variable CI is set) they fail instead: there, a missing package is a
mistake in the set-up, and skipping would hide that nothing was tested.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NoReturn

import pytest

from tests.perfetto.engine import Engine
from tests.perfetto.ui import PerfettoUI
from tilelang_trace.engine.errors import EngineUnavailable


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker of the slow tests, so that `-m "not browser"` leaves them out."""
    config.addinivalue_line("markers", "browser: opens the Perfetto UI in a headless browser")


def cannot_run(reason: EngineUnavailable) -> NoReturn:
    """Skips the test, or fails it where skipping would be wrong."""
    if os.environ.get("CI"):
        raise pytest.fail.Exception(f"Perfetto must run here: {reason}", pytrace=False) from None
    pytest.skip(str(reason))


@pytest.fixture(scope="session")
def perfetto_engine() -> Iterator[Engine]:
    """Perfetto's SQL engine, shared by all tests: each loads its own trace into it."""
    with ExitStack() as resources:
        try:
            engine = resources.enter_context(Engine())
        except EngineUnavailable as reason:
            cannot_run(reason)
        yield engine


@pytest.fixture
def perfetto_ui() -> Iterator[Callable[..., PerfettoUI]]:
    """A function that opens a trace file in the Perfetto UI.

    It takes the arguments of `PerfettoUI`. One page is open at a time: opening another trace
    closes the page before it, because playwright runs only once in a thread.
    """
    with ExitStack() as resources:

        def open_trace(trace: str | os.PathLike[str] | None = None, **options: Any) -> PerfettoUI:
            resources.close()
            try:
                return resources.enter_context(PerfettoUI(trace, **options))
            except EngineUnavailable as reason:
                cannot_run(reason)

        yield open_trace
