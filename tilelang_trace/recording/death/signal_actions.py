"""How faulthandler and the handlers that were there before it share a crash (Linux).

faulthandler runs on a small stack of its own, so that it can tell of a stack overflow too, and
raises the signal again at its end for the handler before it. That one would run at once, on the
same small stack: TVM's handler needs more and would write over the heap below. With the signal
blocked while faulthandler's handler runs, it comes when that has returned: to the previous handler,
on the thread's own stack, at the instruction that crashed, as if nobody had been there. After a
stack overflow there is no room for it, and the process dies at once, as it would have.

faulthandler gives such a stack to the thread that enables it only; the others get one here.
"""

from __future__ import annotations

import ctypes
import mmap
import signal
import threading

_FATAL = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""The signals that faulthandler handles."""

_SA_NODEFER = 0x40000000
_SS_DISABLE = 2

_STACK_BYTES = 1 << 16
"""faulthandler needs some 7 kB of it (measured, with AVX-512); what is not used takes no memory."""

_LIBC = ctypes.CDLL(None)


class _Action(ctypes.Structure):
    """`struct sigaction` of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Stack(ctypes.Structure):
    """`stack_t` of the C library."""

    _fields_ = (
        ("start", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    )


_stacks = threading.local()
"""The memory that each thread's signal stack is in, as long as the thread lives."""


def let_previous_handlers_have_the_stack() -> None:
    """Block the signals that faulthandler handles while it does so, just after it was enabled."""
    for number in _FATAL:
        action = _Action()
        known = _LIBC.sigaction(number, None, ctypes.byref(action)) == 0
        # Without the flag that faulthandler sets, the structure is not as it is taken to be here.
        if known and action.flags & _SA_NODEFER:
            action.flags &= ~_SA_NODEFER
            _LIBC.sigaction(number, ctypes.byref(action), None)


def give_this_thread_a_signal_stack() -> None:
    """Let faulthandler tell of a stack overflow in this thread too."""
    stack = _Stack()
    if _LIBC.sigaltstack(None, ctypes.byref(stack)) == 0 and stack.flags & _SS_DISABLE:
        memory = mmap.mmap(-1, _STACK_BYTES)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        if _LIBC.sigaltstack(ctypes.byref(_Stack(start, 0, _STACK_BYTES)), None) == 0:
            _stacks.memory = memory
