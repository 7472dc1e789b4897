"""Numbers that still add up when they are rounded."""

from __future__ import annotations

from collections.abc import Iterable

from tilelang_trace.analysis.compare.compared_pass import (
    Ns,
)


def whole(value: Ns, unit: int = 1) -> int:
    """How many units, rounded half up."""
    return int((2 * value + unit) // (2 * unit))


def size(value: Ns) -> Ns:
    """The absolute value (mypy knows none of a union)."""
    return -value if value < 0 else value


def adding_up(parts: Iterable[Ns], unit: int = 1) -> list[int]:
    """Each part in units, so that the numbers add up to the rounded sum of the parts.

    Each is off by less than one unit, has no other sign than its part, and 0 stays 0. Whole units
    stay as they are.
    """
    exact: Ns = 0
    given = 0
    numbers = []
    for part in parts:
        exact += part
        numbers.append(whole(exact, unit) - given)
        given += numbers[-1]
    return numbers
