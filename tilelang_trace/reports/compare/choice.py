"""What the reader of a comparison may choose. Apart from the rest, which takes time to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

By: TypeAlias = Literal["pass", "phase", "kernel", "path"]
BYS: tuple[By, ...] = get_args(By)


@dataclass(frozen=True)
class Choice:
    """What the reader of a comparison wants to see."""

    by: By = "pass"
    """What a row is: all runs of the passes of one name, all passes in one phase or kernel, or
    (`path`) one compared pass.
    """
    top: int | None = None
    """At most so many rows."""
    min_ns: int = 0
    """Rows with less inclusive time on both sides are left out."""
    unchanged: bool = True
    """Whether to show rows in which nothing differs, not by a nanosecond."""
