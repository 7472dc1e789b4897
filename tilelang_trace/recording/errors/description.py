"""What a trace keeps of an exception: its type and text, and those of what it came from."""

from __future__ import annotations

from typing import NamedTuple

from tilelang_trace.recording.errors import ffi_errors
from tilelang_trace.recording.signals import codes
from tilelang_trace.trace.error_argument import error_argument
from tilelang_trace.trace.json_values import Json

INSTRUMENT = "instrument"
"""Cause of an error that a pass instrument raised, or an observer in it, and no pass."""

_CALLBACKS = frozenset(
    {"enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass"}
)
_CALLER = "PassContext::Instrument"
"""Begins the names of TVM's functions that call instruments: the tracebacks of its errors have the
frames of C++ too.
"""


class Told(NamedTuple):
    """One exception."""

    type: str
    text: str
    id: int
    """`id` of the exception object."""


def tell(error: BaseException) -> list[Told]:
    """An exception and, behind it, what it came from: the last is the first cause."""
    chain: list[Told] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        for one in ffi_errors.told_of(following) or [_tell_one(following)]:
            if not chain or one[:2] != chain[-1][:2]:
                chain.append(one)
        hidden = following.__suppress_context__
        following = following.__cause__ or (None if hidden else following.__context__)
    return chain


def describe(error: BaseException, before: int = 0) -> dict[str, Json]:
    """The `error` argument of the slice that failed with this exception.

    `before` is the `id` of an exception that was being handled when the compile began: that one is
    no cause of anything in it (of a compile that is tried again with other options, for example).
    """
    chain = tell(error)
    earlier = next((index for index, one in enumerate(chain) if one.id == before), len(chain))
    final, *causes = chain[: max(earlier, 1)]
    return error_argument(
        final.type, _cause(error, [final, *causes]), final.text, [one[:2] for one in causes]
    )


def _cause(error: BaseException, chain: list[Told]) -> str:
    if any(one.type == KeyboardInterrupt.__name__ for one in chain):
        return "interrupt"
    return INSTRUMENT if _is_of_an_instrument(error) else "exception"


def _is_of_an_instrument(error: BaseException) -> bool:
    """Whether an instrument raised this in one of its callbacks: of what TVM called last, on the
    way to where it was raised, was it an instrument or a pass?
    """
    for code in reversed(codes(error.__traceback__)):
        if code.co_name in _CALLBACKS or _CALLER in code.co_name:
            return True
        if code.co_name == "__call__" and code.co_filename.endswith("transform.py"):
            return False
    return False


def _tell_one(error: BaseException) -> Told:
    text = _text(error)
    notes = getattr(error, "__notes__", ())
    return Told(type(error).__name__, "\n".join([text, *map(str, notes)]), id(error))


def _text(error: BaseException) -> str:
    try:
        across = ffi_errors.text_across(error)
        return str(error) if across is None else across
    except Exception as second:
        # Somebody's __str__ raises: the exception itself is still worth telling.
        return f"(the text of this {type(error).__name__} can't be had: {type(second).__name__})"
