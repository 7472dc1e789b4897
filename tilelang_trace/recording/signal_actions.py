"""How faulthandler and the handlers that were there before it share a crash (Linux).

faulthandler runs on a small stack of its own, so that it can tell of a stack overflow too, and
raises the signal again at its end for the handler before it. That one would run at once, on the
same small stack: TVM's handler needs more and would write over the heap below. With the signal
blocked while faulthandler's handler runs, it comes when that has returned: to the previous handler,
on the thread's own stack, at the instruction that crashed, as if nobody had been there. After a
stack overflow there is no room for it, and the process dies at once, as it would have.
"""

from __future__ import annotations

import ctypes
import signal

_SA_NODEFER = 0x40000000


class _Action(ctypes.Structure):
    """`struct sigaction` of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def let_previous_handlers_have_the_stack() -> None:
    """Block the signals that faulthandler handles while it does so, just after it was enabled."""
    sigaction = ctypes.CDLL(None).sigaction
    for number in (
        signal.SIGSEGV,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
    ):
        action = _Action()
        # Without the flag that faulthandler sets, the structure is not as it is taken to be here.
        if sigaction(int(number), None, ctypes.byref(action)) == 0 and action.flags & _SA_NODEFER:
            action.flags &= ~_SA_NODEFER
            sigaction(int(number), ctypes.byref(action), None)
