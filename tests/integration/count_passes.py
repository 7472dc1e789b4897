"""Runs a script and writes down its passes, without any code of the package.

`python count_passes.py OUT SCRIPT` runs SCRIPT as `python SCRIPT` would and writes a JSON list of
`[name, depth, ended]`, in the order in which the passes began: the truth a trace is held against.
"""

from __future__ import annotations

import json
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("tilelang"):  # its TVM can be imported only after it
    import tilelang  # noqa: F401
import tvm

passes: list[list[object]] = []


@tvm.ir.instrument.pass_instrument
class Counter:
    """The passes of one PassContext."""

    def __init__(self):
        self.open = []

    def run_before_pass(self, mod, info):
        passes.append([str(info.name), len(self.open), False])
        self.open.append(passes[-1])

    def run_after_pass(self, mod, info):
        # What lies above is passes whose exception was caught.
        while (ended := self.open.pop())[0] != str(info.name):
            pass
        ended[2] = True


def counting(original):
    """`PassContext.__init__` with a counter among the instruments."""

    def __init__(self, *, instruments=(), **options):  # noqa: N807
        original(self, instruments=[*instruments, Counter()], **options)

    return __init__


if __name__ == "__main__":
    output, script = sys.argv[1:]
    sys.argv[:] = [script]
    sys.path[0] = str(Path(script).parent)
    context = tvm.ir.transform.PassContext
    context.__init__ = counting(context.__init__)
    context.current().override_instruments([Counter()])
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        Path(output).write_text(json.dumps(passes), encoding="utf-8")
