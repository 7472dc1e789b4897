"""What is compiled is the same with and without a recording: each module that a pass gives, the
program for Relax's virtual machine, and the source that LLVM generates.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilelang_trace.recording.launch import determinism

Python = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import relax_mlp, tvm

modules = []

@tvm.ir.instrument.pass_instrument
class Keep:
    def run_after_pass(self, mod, info):
        modules.append((str(info.name), mod.script()))

with tvm.transform.PassContext(opt_level=3, instruments=[Keep()]):
    executable = relax_mlp.compile_mlp()

def libraries(module):
    for library in module.imports:
        yield library
        yield from libraries(library)

for name, text in modules:
    print("====", name, text, sep="\\n")
print(executable.as_text())
for library in libraries(executable.mod):
    if library.kind == "llvm":
        print(library.inspect_source())
"""

FIXTURES = Path(__file__).parents[2] / "fixtures" / "compiles"


def lines(text: str) -> list[str]:
    """The lines, without the numbers that LLVM gives to values and the addresses that TVM names
    metadata after; sorted, because TVM walks through some tables in the order of addresses, and
    a recorder has some memory of its own.
    """
    return sorted(re.sub(r'[%!][\w.]+|#\d+|"0x[0-9a-f]+', "", line) for line in text.splitlines())


def test_the_compiled_module_is_the_same(tmp_path: Path, python: Python, tvm: Any) -> None:
    pytest.importorskip("tvm.relax.frontend.nn")
    (tmp_path / "script.py").write_text(SCRIPT)
    with determinism.fixed_addresses() as fixed:
        if not fixed:
            pytest.skip("this system forbids a fixed address layout")
        plain = python("script.py", str(FIXTURES), **determinism.ENVIRONMENT)
    recorded = python(
        *("-m", "tilelang_trace", "run", "--deterministic", "-o", "out.pftrace"),
        *("script.py", str(FIXTURES)),
    )
    assert (plain.returncode, recorded.returncode) == (0, 0), plain.stderr + recorded.stderr
    assert plain.stdout.count("====") > 50
    assert "define" in plain.stdout
    assert lines(plain.stdout) == lines(recorded.stdout)
