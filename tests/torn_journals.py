"""What a journal can look like to somebody who reads it while a packet is being appended, or after
the process died just then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilelang_trace.recording.journal import Journal


class _Stores(bytearray):
    """In place of a journal's map: notes what is stored in it, one after the other."""

    def __init__(self, map_: Any) -> None:
        super().__init__(map_[:])
        self._map = map_
        self.noted: list[tuple[int, bytes]] = []

    def __setitem__(self, place: Any, value: Any) -> None:
        self.take_packed()
        super().__setitem__(place, value)
        self.take_packed()

    def take_packed(self) -> None:
        """Note what has changed: `struct` writes without a method of this being called."""
        here, there = np.frombuffer(bytes(self), np.uint8), np.frombuffer(self._map[:], np.uint8)
        changed = np.flatnonzero(here != there).tolist()
        if changed:
            start, stop = changed[0], changed[-1] + 1
            self.noted.append((start, bytes(self[start:stop])))
            self._map[start:stop] = self[start:stop]

    def close(self) -> None:
        self._map.close()


def torn(
    journal: Journal, packet: bytes | Callable[[], None], *, head_last: bool = False
) -> Iterator[bytes]:
    """The journal's file while this packet is appended, or what this call writes, byte by byte:
    first without, last with it.

    The bytes of each store come in order, or the first 32 of a longer one last: some machines copy
    so. The packet must fit into the journal's map.
    """
    data = bytearray(journal.path.read_bytes())
    start = journal.start
    stores = journal.map = _Stores(journal.map)  # type: ignore[assignment]
    if callable(packet):
        packet()
    else:
        journal.append(packet)
    yield bytes(data)
    for at, value in stores.noted:
        steps = [range(place, place + 1) for place in range(len(value))]
        if head_last and len(value) > 32:
            steps = [*steps[32:], range(32)]
        for step in steps:
            for place in step:
                data[start + at + place] = value[place]
            yield bytes(data)
    assert data == journal.path.read_bytes()
