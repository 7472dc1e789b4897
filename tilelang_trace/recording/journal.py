"""The journal: a `.pftrace` that grows while a compile runs, one a process.

Whole packets are appended to a shared memory map, so that what was written survives the process
however it ends, without a system call an event. The blocks of the file are allocated before they
are mapped: a write into a hole on a full disk would be a SIGBUS in the compile. Behind the last
packet there are zeros up to the end of the block, which Perfetto and our own reader pass by.

    +--------+--------+--------+-----+--------+---------------------------+
    | packet | packet | packet | ... | packet | 00 00 00 ...              |
    +--------+--------+--------+-----+--------+---------------------------+
                   ^ start of the map         ^ position                  ^ end of the last block

The process may die in the middle of a packet, and somebody may read it then. So the key that makes
a packet of what follows is written last. Until then a key stands there that says: a field of
another kind, as long as that, which every reader passes by.

    7a <length> <half a TracePacket> 00 00 ...     ->     0a <length> <TracePacket> 00 00 ...
"""

from __future__ import annotations

import itertools
import mmap
import os
import sys
import threading
from pathlib import Path

from tilelang_trace.formats.pftrace.numbers import KEY

BLOCK_BYTES = 1 << 20
SUFFIX = ".pftrace"

UNFINISHED = 0x7A
"""The key of field 15, with a length: no trace has one."""

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether only one thread at a time runs Python."""

_CLOSED = -1
"""In place of the room that there is, once there is none."""

if BLOCK_BYTES % mmap.ALLOCATIONGRANULARITY:
    raise AssertionError("a block must be a whole number of pages")


class Journal:
    """An open journal. A lock on the file says that its process is alive.

    `started` says when its process started: journals sort by that. Raises OSError if the file or a
    further block can't be had (the disk is full, for example).
    """

    def __init__(self, folder: Path, started: int = 0) -> None:
        self.lock = threading.RLock()
        self.path = _new_path(folder, started)
        # Under another name until it is locked: nobody is to take it for that of a dead process.
        new = self.path.with_suffix(".new")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(new, flags, 0o666)
        self._allocated = 0
        """Bytes of the file that have their place on the disk."""
        self.start = 0
        """Offset of the map in the file."""
        self.position = 0
        """Offset of the next packet in the map."""
        try:
            _lock_file(self._descriptor)
            self.map, self.room = self._window(0, 1)
            new.rename(self.path)
        except BaseException:
            os.close(self._descriptor)
            new.unlink()
            raise

    def _append(self, packet: bytes) -> None:
        """Append one whole packet.

        There is no lock, which would cost more than the rest: CPython changes to another thread, or
        to a signal's handler, only where something is called or a jump is taken. So what calls
        something comes first, and from the `if` on, which is passed without a jump, the place is
        taken by nobody else.
        """
        size = len(packet) + 1
        while True:
            begin = self.position
            end = begin + size
            behind_key = slice(begin + 1, end)
            if self.position == begin and end <= self.room:
                self.map[begin] = UNFINISHED
                self.map[behind_key] = packet
                self.position = end
                self.map[begin] = KEY
                return
            self.make_room(size)

    def _append_locked(self, packet: bytes) -> None:
        with self.lock:
            self._append(packet)

    append = _append if HAS_GIL else _append_locked

    def byte_at(self, offset: int) -> int:
        """The byte at this offset in the file, of what was appended."""
        return os.pread(self._descriptor, 1, offset)[0]

    def close(self, last: bytes = b"") -> None:
        """Append a last packet of less than a block, if any, cut the zeros off and close the
        file.
        """
        with self.lock:
            try:
                if last:
                    self.room += BLOCK_BYTES  # what was kept for it
                    self.append(last)
                self.room = _CLOSED
                os.ftruncate(self._descriptor, self.start + self.position)
            finally:
                self.abandon()

    def abandon(self) -> None:
        """Close this process's view after a fork; the parent goes on writing the file."""
        self.room = _CLOSED
        self.map.close()
        os.close(self._descriptor)

    def make_room(self, size: int) -> None:
        """Move the map on, if it must be, to where the next packet begins, with room for this many
        bytes.
        """
        with self.lock:
            if self.room == _CLOSED:
                raise ValueError("the journal is closed")
            while self.position + size > self.room:
                position = self.start + self.position
                offset = position % mmap.ALLOCATIONGRANULARITY
                start = position - offset
                window, room = self._window(start, offset + size)
                old = self.map  # not to be unmapped in the middle of the next line
                if self.start + self.position == position:  # else something was appended
                    self.map, self.room, self.start, self.position = window, room, start, offset
                del old

    def _window(self, start: int, size: int) -> tuple[mmap.mmap, int]:
        """A map of the file from `start` on, and how much of it can be filled: at least `size`."""
        # One block more than needed, so that `close` finds room on a disk that is full.
        while self._allocated < start + size + BLOCK_BYTES:
            _allocate(self._descriptor, self._allocated)
            self._allocated += BLOCK_BYTES
        length = self._allocated - start
        return mmap.mmap(self._descriptor, length, offset=start), length - BLOCK_BYTES


def _new_path(folder: Path, started: int) -> Path:
    """A new name in the folder, so that journals sort by the start of their process; of those that
    started at once, the lower pid was first. A process that replaced itself (`exec`) has two.
    """
    names = (f"{started:020d}-{os.getpid():010d}-{n}{SUFFIX}" for n in itertools.count())
    return next(path for path in map(folder.joinpath, names) if not path.exists())


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
