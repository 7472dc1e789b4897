"""What a person chose to keep of a Trace. Apart from the rest, which takes time to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tilelang_trace.errors import UserError

Split: TypeAlias = Literal["kernel"]


@dataclass(frozen=True)
class Selection:
    """What to keep of a Trace. By default all of it, in one piece."""

    only: tuple[str, ...] = ()
    """Shell patterns; kernels that none of them matches are left out. Empty: all kernels stay."""
    min_ns: int = 0
    """Shorter passes are left out; the slice around them says how many and how long (`hidden`)."""
    split: Split | None = None
    """`kernel`: a Trace for each kernel, and one for the passes outside of them, if any."""


def selection(only: str | Sequence[str] | None, min_ms: float, split: Split | None) -> Selection:
    """A Selection from what a person gives: one pattern or several, a time in ms. Raises
    UserError.
    """
    patterns = (only,) if isinstance(only, str) else tuple(only or ())
    if not all(patterns):
        raise UserError("only: an empty pattern matches no kernel")
    if not 0 <= min_ms < 2**63 / 1e6:
        raise UserError(f"min_ms: {min_ms!r} is no time in milliseconds")
    if split not in (None, "kernel"):
        raise UserError(f"split: a trace is split by 'kernel', not by {split!r}")
    return Selection(patterns, round(min_ms * 1e6), split)
