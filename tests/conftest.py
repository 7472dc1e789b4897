"""What all tests share: fixtures that put a trace before the real Perfetto, or run a pytest."""

import signal

pytest_plugins = ["pytester", "tests.perfetto.fixtures"]

# A program that a shell starts in the background ignores these, and so does what it starts: tests
# that press Ctrl-C or Ctrl-\ would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
