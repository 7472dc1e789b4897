"""What a trace keeps of an exception."""

from __future__ import annotations

from tilelang_trace.trace.error_argument import error_argument
from tilelang_trace.trace.json_values import Json


def describe(error: BaseException) -> dict[str, Json]:
    """The `error` argument of the slice that failed with this exception."""
    cause = "interrupt" if isinstance(error, KeyboardInterrupt) else "exception"
    return error_argument(type(error).__name__, cause, _text(error))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        # Somebody's __str__ raises: the exception itself is still worth telling.
        return f"(the text of this {type(error).__name__} can't be had: {type(second).__name__})"
