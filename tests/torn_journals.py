"""What a journal can look like to somebody who reads it while a packet is being appended, or after
the process died just then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilelang_trace.recording.journal import Journal


class _Stores:
    """A journal's map that notes what is stored in it, one after the other."""

    def __init__(self, map_: Any) -> None:
        self._map = map_
        self.noted: list[tuple[int, bytes]] = []

    def __setitem__(self, place: int | slice, value: int | bytes) -> None:
        self._map[place] = value
        at = place.start if isinstance(place, slice) else place
        self.noted.append((at, value if isinstance(value, bytes) else bytes([value])))

    def close(self) -> None:
        self._map.close()


def torn(journal: Journal, packet: bytes, *, head_last: bool = False) -> Iterator[bytes]:
    """The journal's file while this packet is appended, byte by byte: first without, last with it.

    The bytes of each store come in order, or the first 32 of a longer one last: some machines copy
    so. The packet must fit into the journal's map.
    """
    data = bytearray(journal.path.read_bytes())
    start = journal.start
    stores = journal.map = _Stores(journal.map)  # type: ignore[assignment]
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
