"""What the reader of a report may choose. Apart from the rest, which takes time to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Sort: TypeAlias = Literal["self", "inclusive", "count", "name"]
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True)
class Choice:
    """What the reader of a report wants to see."""

    sort: Sort = "self"
    """Order of the passes. The slowest runs are by inclusive time for `inclusive`, else by self."""
    top: int | None = None
    """At most so many passes and slowest runs; by default all passes and `SLOWEST` runs."""
    min_ns: int | None = None
    """Passes, runs and slices with less inclusive time are left out; None: see `tree`."""
