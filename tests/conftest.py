"""What all tests share: the fixtures that put a trace before the real Perfetto."""

pytest_plugins = ["tests.perfetto.fixtures"]
