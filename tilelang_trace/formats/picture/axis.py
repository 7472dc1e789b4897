"""The time axis: where it has ticks, and what stands at them."""

from __future__ import annotations

_UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


def duration(ns: int) -> str:
    """A time in the unit that suits it, with three digits: `93.2 ms`."""
    for unit, size in _UNITS:
        if ns >= size:
            value = ns / size
            decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{0 if size == 1 else decimals}f} {unit}"
    return "0 ms"


def ticks(length: int, at_most: int) -> list[tuple[int, str]]:
    """Round times from 0 to `length` ns, at most so many, each with its text."""
    step = _step(length, at_most)
    unit, size = next(u for u in _UNITS if step * 2 >= u[1] or u[1] == 1)
    return [(t, _number(t, size) + f" {unit}") for t in range(0, length + 1, step)]


def _step(length: int, at_most: int) -> int:
    """1, 2 or 5 times a power of ten."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if length // (digit * power) < at_most:
                return digit * power
        power *= 10


def _number(ns: int, size: int) -> str:
    return f"{ns / size:g}" if ns % size else str(ns // size)
