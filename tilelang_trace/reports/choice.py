"""What the reader of a report may choose. Apart from the rest, which takes time to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Sort: TypeAlias = Literal["self", "inclusive", "count", "name", "start"]
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True)
class Choice:
    """What the reader of a report wants to see."""

    sort: Sort | None = None
    """Order of the passes (None: self) or kernels (None: inclusive); `start` is for kernels only.
    The slowest runs are by inclusive time for `inclusive`, else by self.
    """
    top: int | None = None
    """At most so many passes and slowest runs, or kernels; by default all, and `SLOWEST` runs."""
    min_ns: int | None = None
    """Passes, runs, slices and kernels with less inclusive time are left out; None: see `tree`."""
