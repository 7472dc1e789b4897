"""The `error` argument: what a trace keeps of an error's text, within the contract's limits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilelang_trace.trace.arguments import DETAIL_LIMIT, MESSAGE_LIMIT
from tilelang_trace.trace.json_values import Json, storable
from tilelang_trace.trace.long_text import cut

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Escape sequences of terminals: CSI, OSC, and the two-character ones (ECMA-48)."""


def error_argument(
    type_: str, cause: str, text: str, came_from: Sequence[tuple[str, str]] = ()
) -> dict[str, Json]:
    """An `error` argument: the first line as message and the whole text as detail, both within
    their limits.

    `came_from` is the type and text of what led to this error, the first cause last: the message
    names that one too, the detail has them all.
    """
    texts = [_readable(text)]
    message = first_line(texts[0])
    for its_type, its_text in came_from:
        texts.append(f"caused by {its_type}: {_readable(its_text).lstrip()}")
    if came_from:
        first = _short(
            f"first cause: {first_line(texts[-1]).removeprefix('caused by ')}", MESSAGE_LIMIT // 2
        )
        own = _short(message, MESSAGE_LIMIT - len(first) - len(" ()"))
        message = f"{own} ({first})" if own else first
    return {
        "type": type_,
        "cause": cause,
        "message": _short(message, MESSAGE_LIMIT),
        "detail": cut("\n\n".join(texts), DETAIL_LIMIT),
    }


def _readable(text: str) -> str:
    """The text without terminal escapes, and with a sign for what no format or viewer takes."""
    plain: str = storable(_ANSI.sub("", text).replace("\0", "\N{SYMBOL FOR NULL}"))
    return plain


def first_line(text: str) -> str:
    """The first line that says something, as `error.message` has it, at any length."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _short(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def enclosing(error: dict[str, Json]) -> dict[str, Json]:
    """The `error` argument of the slices around the one that failed: the whole text stands only
    there.
    """
    return {key: value for key, value in error.items() if key != "detail"}
