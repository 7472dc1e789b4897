"""What all tests share: fixtures that put a trace before the real Perfetto, or run a pytest."""

pytest_plugins = ["pytester", "tests.perfetto.fixtures"]
