"""Where packets stand in a file, by their numbers: for findings."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from tilelang_trace.formats.pftrace.packet_chunks import Chunk
from tilelang_trace.formats.pftrace.wire_columns import Ints


class Places:
    """The places of all packets of a file. A packet takes 4 bytes here, so it is only known how
    far behind the first one of its chunk it begins.
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._begins: list[int] = []
        self._offsets: list[npt.NDArray[np.uint32] | Ints] = []

    def add(self, chunk: Chunk) -> None:
        """Take the packets of the next chunk."""
        begin = chunk.places[0]
        self._firsts.append(chunk.first)
        self._begins.append(begin)
        offsets = np.array(chunk.places, np.int64) - begin
        is_small = offsets[-1] < 1 << 32
        self._offsets.append(offsets.astype(np.uint32) if is_small else offsets)

    def of(self, number: int) -> int:
        """The byte at which the packet with this number begins."""
        chunk = bisect_right(self._firsts, number) - 1
        return self._begins[chunk] + int(self._offsets[chunk][number - self._firsts[chunk]])
