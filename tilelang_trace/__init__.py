"""Turns a TVM or TileLang compile into a timeline that ui.perfetto.dev opens: every pass a nested
slice.

    with tilelang_trace.record("mlp.pftrace"):
        tvm.compile(mod, target="llvm")

Importing this package imports neither TVM nor TileLang; each name below brings in what it needs
when it is first used.
"""

from __future__ import annotations

from importlib import import_module

from tilelang_trace.version import __version__

TYPE_CHECKING = False  # as typing has it, which every recorded process would have to import
if TYPE_CHECKING:
    from typing import Any

    from tilelang_trace.analysis.summary import summarize
    from tilelang_trace.checking import check
    from tilelang_trace.comparing import compare
    from tilelang_trace.errors import UserError
    from tilelang_trace.formats.files import read, write
    from tilelang_trace.recording.instrument import TraceInstrument
    from tilelang_trace.recording.record import record
    from tilelang_trace.recording.switch import disable, enable
    from tilelang_trace.trace.model import Trace

__all__ = [
    "Trace",
    "TraceInstrument",
    "UserError",
    "__version__",
    "check",
    "compare",
    "disable",
    "enable",
    "read",
    "record",
    "summarize",
    "write",
]

_HOME = {
    "Trace": "trace.model",
    "TraceInstrument": "recording.instrument",
    "UserError": "errors",
    "check": "checking",
    "compare": "comparing",
    "disable": "recording.switch",
    "enable": "recording.switch",
    "load_ipython_extension": "integrations.notebook",
    "read": "formats.files",
    "record": "recording.record",
    "summarize": "analysis.summary",
    "write": "formats.files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
