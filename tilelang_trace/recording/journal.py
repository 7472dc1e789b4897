"""The journal: a `.pftrace` that grows while a compile runs, one a process.

Whole packets are appended to a shared memory map, so that what was written survives the process
however it ends, without a system call an event. The blocks of the file are allocated before they
are mapped: a write into a hole on a full disk would be a SIGBUS in the compile. Behind the last
packet there are zeros up to the end of the block, which Perfetto and our own reader pass by.

    +-----------------------------------------------+---------------------------+
    | packet | packet | packet | ...       | packet | 00 00 00 ...              |
    +-----------------------------------------------+---------------------------+
    ^ block 0                    ^ block 1          ^ position                   ^ end of the last
    block
"""

from __future__ import annotations

import itertools
import mmap
import os
import threading
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 1 << 20
SUFFIX = ".pftrace"

if BLOCK_BYTES % mmap.ALLOCATIONGRANULARITY:
    raise AssertionError("a block must be a whole number of pages")


class Journal:
    """An open journal. A lock on the file says that its process is alive.

    `started` says when its process started: journals sort by that. Raises OSError if the file or a
    further block can't be had (the disk is full, for example).
    """

    def __init__(self, folder: Path, started: int = 0) -> None:
        self._lock = threading.RLock()
        self.path, self._descriptor = _new_file(folder, started)
        _lock_file(self._descriptor)
        self._allocated = 0
        """Bytes of the file that have their place on the disk."""
        self._start = 0
        """Offset of the mapped block in the file."""
        self._position = 0
        """Offset of the next packet in the mapped block."""
        self._allocate(2 * BLOCK_BYTES)
        self._map = self._block(0)

    def append(self, packet: bytes) -> None:
        """Append one whole packet."""
        with self._lock:
            begin = self._position
            end = begin + len(packet)
            if end <= BLOCK_BYTES:
                self._map[begin:end] = packet
                self._position = end
            else:
                # One block more than needed, so that `close` finds room on a disk that is full.
                self._allocate(self._start + end + BLOCK_BYTES)
                self._append_across(packet)

    def has(self, packet: bytes) -> bool:
        """Whether this packet was appended, among the last ones."""
        with self._lock:
            end = self._start + self._position
            begin = max(0, end - len(packet) - BLOCK_BYTES)
            return packet in os.pread(self._descriptor, end - begin, begin)

    def close(self, last: bytes = b"") -> None:
        """Append a last packet of less than a block, cut the zeros off and close the file."""
        with self._lock:
            self._append_across(last)
            self._map.close()
            os.ftruncate(self._descriptor, self._start + self._position)
            os.close(self._descriptor)

    def abandon(self) -> None:
        """Close this process's view after a fork; the parent goes on writing the file."""
        self._map.close()
        os.close(self._descriptor)

    def _append_across(self, packet: bytes) -> None:
        """Append a packet that may end in a later block; its place has been allocated."""
        rest = memoryview(packet)
        while rest:
            room = BLOCK_BYTES - self._position
            if not room:
                following = self._block(self._start + BLOCK_BYTES)
                self._map.close()
                self._map = following
                self._start += BLOCK_BYTES
                self._position, room = 0, BLOCK_BYTES
            piece, rest = rest[:room], rest[room:]
            self._map[self._position : self._position + len(piece)] = piece
            self._position += len(piece)

    def _block(self, start: int) -> mmap.mmap:
        return mmap.mmap(self._descriptor, BLOCK_BYTES, offset=start)

    def _allocate(self, end: int) -> None:
        """Give the file its place on the disk, in whole blocks, up to this offset at least."""
        while self._allocated < end:
            _allocate(self._descriptor, self._allocated)
            self._allocated += BLOCK_BYTES


def _new_file(folder: Path, started: int) -> tuple[Path, int]:
    """A new file in the folder, named so that journals sort by the start of their process; of those
    that started at once, the lower pid was first. A process that replaced itself (`exec`) has two.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    for number in itertools.count():
        path = folder / f"{started:020d}-{os.getpid():010d}-{number}{SUFFIX}"
        with suppress(FileExistsError):
            return path, os.open(path, flags, 0o666)
    raise AssertionError("count() ended")


def _allocate(descriptor: int, start: int) -> None:
    """Give the block at `start` its place on the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, BLOCK_BYTES)
    else:
        os.pwrite(descriptor, bytes(BLOCK_BYTES), start)


def _lock_file(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_alive(path: Path) -> bool:
    """Whether the process that writes this journal still runs (it holds the lock)."""
    import fcntl

    with open(path, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
