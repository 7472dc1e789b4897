"""Fuzzes one target in this process: `python -m tests.fuzzing.one TARGET` and options of libFuzzer.

For `__main__`, which names a corpus and a time.
"""

from __future__ import annotations

import io
import pkgutil
import sys
import tempfile
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path

import atheris

# It tells of each module on stderr.
with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["tilelang_trace"]):
    import tilelang_trace.formats
    import tilelang_trace.trace

    # Formats import what they need when they are used, which is too late for instruments.
    for package in (tilelang_trace.formats, tilelang_trace.trace):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)

    from tests.fuzzing.oracle import judge
    from tests.fuzzing.targets import TARGETS


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    _, name, *options = sys.argv
    file_of = TARGETS[name].file
    # A file in memory where there is such a place: one is written for each input.
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        path = Path(folder) / "input"

        def try_one(data: bytes) -> None:
            path.write_bytes(file_of(data))
            judge(path)

        atheris.Setup([sys.argv[0], *options], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
