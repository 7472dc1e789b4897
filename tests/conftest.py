"""What all tests share: fixtures that put a trace before the real Perfetto, or run a pytest."""

import os
import signal
from contextlib import suppress

import pytest

# Shared checks tell what differs, as tests do.
pytest.register_assert_rewrite("tests.peers")

pytest_plugins = ["pytester", "tests.perfetto.fixtures"]

# A program that a shell starts in the background ignores these, and so does what it starts: tests
# that press Ctrl-C or Ctrl-\ would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# Random traces: a few when somebody waits; more in CI, the same ones each time, so that a change is
# judged by what it does.
with suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("quick", max_examples=15, deadline=None)
    settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
    settings.load_profile("ci" if os.environ.get("CI") else "quick")
