"""The pytest option `--tilelang-trace DIR`: a trace of each test that compiles something.

pytest imports this in every run, wherever this package is installed: what records is imported only
if the option is given. Hooks are written as old releases of pytest take them as well.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tilelang_trace.integrations.traces_of_tests import TraceFolder

_OPTION = "--tilelang-trace"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("tilelang-trace").addoption(
        _OPTION,
        metavar="DIR",
        help="write a trace of each test that compiles something with TVM or TileLang into this "
        "folder, to open in https://ui.perfetto.dev",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Record, if the option is given."""
    name = config.getoption(_OPTION)
    if not name:
        return
    from tilelang_trace.integrations.traces_of_tests import TraceFolder

    folder = os.path.join(config.invocation_params.dir, name)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"{_OPTION}: {folder}: {error.strerror}") from None
    config.pluginmanager.register(_Recorder(TraceFolder(folder)), "tilelang-trace-recorder")


class _Recorder:
    """The hooks of a run that records."""

    def __init__(self, traces: TraceFolder) -> None:
        self._traces = traces
        self._outcome = ""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        """A test, with its fixtures."""
        self._outcome = "passed"
        with self._traces.of(item.nodeid, lambda: self._outcome):
            yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The outcome of one part of it: set-up, the test itself, or clean-up."""
        if report.outcome != "passed" and self._outcome != "failed":
            self._outcome = report.outcome
