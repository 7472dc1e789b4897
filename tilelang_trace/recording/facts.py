"""What a trace says about where and how it was recorded: its metadata."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from tilelang_trace.secret_values import masked
from tilelang_trace.trace.json_values import Json


def clocks() -> dict[str, int]:
    """What the clocks show now, in ns: monotonic (that of all times), real, and boot time where
    there is one.
    """
    shown = {"monotonic_ns": time.monotonic_ns(), "realtime_ns": time.time_ns()}
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    if boot is not None:
        shown["boottime_ns"] = time.clock_gettime_ns(boot)
    return shown


def process_start() -> int:
    """When this process started, in ns of a clock that all processes share, to order them by."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            # The 22nd field; the second is the name in parentheses, which may hold anything.
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
        return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):  # not Linux
        return time.monotonic_ns()


def process_name() -> str:
    """The name of what runs: the script, the module of `python -m`, or the interpreter."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name).removesuffix(".__main__")
    if sys.argv and sys.argv[0] not in ("", "-c", "-m", "-"):
        return Path(sys.argv[0]).name
    return Path(sys.executable).name or "python"


def versions() -> dict[str, str]:
    """Versions of what takes part in the compile, of those that are loaded now."""
    found = {}
    for name in ("tilelang", "tvm", "tvm_ffi"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    found["python"] = platform.python_version()
    return found


def metadata(tool_version: str) -> dict[str, Json]:
    """The metadata that is known when a recording starts."""
    return {
        "tool": f"tilelang-trace {tool_version}",
        "process_name": process_name(),
        "command": masked(sys.orig_argv),
        "working_directory": _working_directory(),
        "start": clocks(),
        "versions": versions(),
        "host": {
            "platform": _platform(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def of_context(context: Any) -> dict[str, Json]:
    """The options of a PassContext, as arguments of its slice. Values of `config` are TVM objects:
    their text.
    """
    options: dict[str, Json] = {"opt_level": int(context.opt_level)}
    for name in ("required_pass", "disabled_pass"):
        passes = [str(name) for name in getattr(context, name)]
        if passes:
            options[name] = passes
    config = {str(key): _plain(value) for key, value in context.config.items()}
    if config:
        options["config"] = config
    return options


def _plain(value: Any) -> Json:
    return value if isinstance(value, (bool, int, float)) else str(value)


def _platform() -> str:
    try:
        return platform.platform()
    except OSError:  # it reads files, and this process may have too many open
        return sys.platform


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""
