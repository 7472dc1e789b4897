"""A failed pass, to be had again: a script that loads the module as it was before the pass, enters
the same PassContext and Target, makes the pass, runs it, and ends in the same error.

- `reproducer`: what a Reproducer is, and how it is made from a Trace;
- `verify`: runs one in a new process and says whether it ended in the same error.
"""

from __future__ import annotations

from tilelang_trace.sharing.reproducer.reproducer import (
    Reproducer,
    failed_pass_of,
    make_reproducer,
)
from tilelang_trace.sharing.reproducer.verify import Verdict, verify, write_files

__all__ = ["Reproducer", "Verdict", "failed_pass_of", "make_reproducer", "verify", "write_files"]
