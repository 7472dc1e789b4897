"""Instants of threads in Chrome JSON, some of which are ends of arrows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json


class Instant(NamedTuple):
    """An event without a duration; its time in ns."""

    lane: int
    time: int
    number: int
    name: str
    category: str
    arguments: dict[str, Json]


class Instants:
    """Collects the instants of threads until it is known which ones have arrows."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._instants: list[Instant] = []

    def take(self, instant: Instant) -> None:
        """Take an instant, in the order of the file."""
        self._instants.append(instant)

    def settle(self, with_arrows: set[tuple[int, int]], add: Callable[[Instant], None]) -> None:
        """Put the instants into the builder, but for the last one at each of these lanes and times:
        for Perfetto all instants are slices, and arrows may join them. In a Trace arrows join
        slices: `add` makes a slice of these.
        """
        joined = {}
        for number, instant in enumerate(self._instants):
            if (instant.lane, instant.time) in with_arrows:
                joined[instant.lane, instant.time] = number
        slices = set(joined.values())
        for number, instant in enumerate(self._instants):
            if number in slices:
                add(instant)
            else:
                self._builder.instant(
                    instant.lane,
                    instant.time,
                    instant.name,
                    instant.category,
                    instant.arguments,
                )
