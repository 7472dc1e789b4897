"""The `error` argument: what a trace keeps of an error's text, within the contract's limits."""

from __future__ import annotations

import re

from tilelang_trace.trace.arguments import DETAIL_LIMIT, MESSAGE_LIMIT
from tilelang_trace.trace.json_values import Json, storable
from tilelang_trace.trace.long_text import cut

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Escape sequences of terminals: CSI, OSC, and the two-character ones (ECMA-48)."""


def error_argument(type_: str, cause: str, text: str) -> dict[str, Json]:
    """An `error` argument: the first line as message and the whole text as detail, both within
    their limits.
    """
    text = storable(_ANSI.sub("", text).replace("\0", "\N{SYMBOL FOR NULL}"))
    message = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(message) > MESSAGE_LIMIT:
        message = message[: MESSAGE_LIMIT - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return {"type": type_, "cause": cause, "message": message, "detail": cut(text, DETAIL_LIMIT)}


def enclosing(error: dict[str, Json]) -> dict[str, Json]:
    """The `error` argument of the slices around the one that failed: the whole text stands only
    there.
    """
    return {key: value for key, value in error.items() if key != "detail"}
