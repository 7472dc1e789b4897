"""What makes two runs of one script compile to the same IR: the same addresses, the same hash seed.

TVM walks through some of its tables in the order of addresses, Python through sets of texts in the
order of a random hash. Both reach the IR: the order of functions, for one.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tilelang_trace.recording.say import say

ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""Environment of a process whose hashes are those of every other run."""

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFF_FFFF


@contextmanager
def fixed_addresses() -> Iterator[bool]:
    """Processes that this thread starts meanwhile get a fixed address layout, and so do those that
    they start. Whether that is so; if it can't be had, one line on stderr says why.
    """
    try:
        before = _personality(_ASK)
        _personality(before | _ADDR_NO_RANDOMIZE)
    except OSError as error:
        say(f"addresses are not fixed, the IR may differ from run to run: {error.strerror}")
        yield False
        return
    try:
        yield True
    finally:
        _personality(before)


def _personality(value: int) -> int:
    """personality(2): this thread's execution domain, of which a new process starts with a copy."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "personality", None)
    if call is None:
        raise OSError(errno.ENOSYS, "this system has no such setting")
    call.argtypes = [ctypes.c_ulong]
    before = int(call(value))
    if before == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"this system forbids it ({os.strerror(number)})")
    return before
