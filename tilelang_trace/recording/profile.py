"""`TILELANG_PASS_PROFILE=1` under `tilelang-trace run`: the pass timing report, for plain TVM too."""

from __future__ import annotations

from collections.abc import Mapping

from tilelang_trace.trace.model import Trace


def pass_profile(trace: Trace, environment: Mapping[str, str]) -> str:
    return ""
