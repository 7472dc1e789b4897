"""Passes that really fail, and the scripts that make them fail again, in new processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from fixtures.record import ROOT
from tilelang_trace.sharing.reproducer import Reproducer, make_reproducer, verify
from tilelang_trace.trace.model import Trace

Python = Callable[..., "subprocess.CompletedProcess[str]"]

VERIFY_MEMORY = """
import tvm
from tvm import tirx
from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"target": T.target("cuda")})
    for i in range(16):
        B[i] = A[i] + T.float32(1)

config = {"s_tir.LoopPartition": {"partition_const_loop": True}, "tirx.disable_vectorize": True}
passes = [tirx.transform.StmtSimplify(), tirx.transform.VerifyMemory()]
with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=1, config=config):
    tvm.transform.Sequential(passes, name="finalize")(tvm.IRModule({"main": main}))
"""

CONSTANTS = """
import numpy as np
import tvm
from tvm import relax

type_ = getattr(relax, "TensorStructInfo", None) or relax.TensorType
builder = relax.BlockBuilder()
x = relax.Var("x", type_((4, 4), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        weights = relax.const(np.arange(16, dtype="float32").reshape(4, 4))
        sum_ = builder.emit_output(relax.op.add(x, weights))
    builder.emit_func_output(sum_)

@tvm.transform.module_pass(opt_level=0, name="pipeline")
def pipeline(mod, context):
    bind = relax.transform.BindSymbolicVars({"n": 4}, "absent")
    return tvm.transform.Sequential([relax.transform.FuseOps(fuse_opt_level=3), bind])(mod)

pipeline(builder.get())
"""

PYTHON_PASS = """
import tvm

@tvm.transform.module_pass(opt_level=0, name="MyPass")
def my_pass(mod, context):
    raise ValueError("mine")

my_pass(tvm.IRModule({}))
"""

OVERFLOW = """
import tvm
from tvm import tirx

x = tirx.Var("x", "int32")
expression = x
for i in range(5500):
    expression = tirx.Add(expression, tirx.FloorMod(x, tirx.IntImm("int32", i + 2)))
function = tirx.PrimFunc([x], tirx.Evaluate(expression)).with_attr("global_symbol", "main")
with tvm.transform.PassContext():
    steps = [tirx.transform.StmtSimplify()]
    tvm.transform.Sequential(steps, name="lower")(tvm.IRModule({"main": function}))
"""


@pytest.fixture
def recorded(python: Python, tmp_path: Path) -> Callable[..., Trace]:
    """`recorded(script, *options)`: the trace of a script under `tilelang-trace run`."""

    def run(script: str, *options: str) -> Trace:
        (tmp_path / "script.py").write_text(script)
        done = python("-m", "tilelang_trace", "run", *options, "-o", "x.pftrace", "script.py")
        assert done.returncode not in (0, 2), done.stderr
        return tilelang_trace.read(tmp_path / "x.pftrace")

    return run


def test_a_pass_of_tvm_in_a_sequential(recorded: Callable[..., Trace]) -> None:
    trace = recorded(VERIFY_MEMORY)
    made = make_reproducer(trace)
    assert (made.name, made.why_not, made.notes) == ("tirx.VerifyMemory", "", ())
    [entry] = trace.metadata["failed_passes"]
    assert entry["sequential"] == {
        "name": "finalize",
        "passes": ["tirx.StmtSimplify", "tirx.VerifyMemory"],
        "at": 1,
    }
    assert entry["context"]["opt_level"] == 1
    assert entry["context"]["config"]["tirx.disable_vectorize"] is True
    assert entry["context"]["config"]["s_tir.LoopPartition"]["partition_const_loop"] is True
    assert entry["target"]["kind"] == "llvm"
    verdict = verify(made)
    assert verdict.same, verdict
    assert "Memory verification failed" in verdict.words


def test_an_error_that_another_module_would_not_have_is_another(
    recorded: Callable[..., Trace],
) -> None:
    made = make_reproducer(recorded(VERIFY_MEMORY))
    files = {**made.files, "ir/before.json": made.files["ir/before.json"].replace("cuda", "llvm")}
    verdict = verify(Reproducer(made.name, files, expected=made.expected))
    assert not verdict.same
    assert verdict.output


def test_constants_and_the_arguments_of_a_pass_inside_a_python_pass(
    recorded: Callable[..., Trace],
) -> None:
    pytest.importorskip("tvm.relax")
    made = make_reproducer(recorded(CONSTANTS))
    assert (made.name, made.why_not, made.notes) == ("relax.BindSymbolicVars", "", ())
    assert verify(made).words == (
        'it ended in the same error, ValueError: Cannot find global var "absent" in the Module'
    )


def test_the_constants_are_those_of_the_module(recorded: Callable[..., Trace]) -> None:
    tvm = pytest.importorskip("tvm")
    pytest.importorskip("tvm.relax")
    made = make_reproducer(recorded(CONSTANTS))
    mod = tvm.ir.load_json(made.files["ir/before.json"])
    found: list[Any] = []

    def see(expression: Any) -> None:
        tensor = getattr(expression, "data", getattr(expression, "value", None))
        if hasattr(tensor, "numpy"):
            found.append(tensor.numpy().tolist())

    tvm.relax.analysis.post_order_visit(mod["main"], see)
    assert found == [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]]


def test_a_pass_of_the_user_can_t_be_packed_but_its_module_is_kept(
    recorded: Callable[..., Trace],
) -> None:
    made = make_reproducer(recorded(PYTHON_PASS))
    assert sorted(made.files) == ["ir/before.json", "ir/before.py"]
    assert "MyPass: it is defined in Python" in made.why_not
    assert not verify(made).same


class TestCrash:
    """A stack overflow in a real pass, on a module so deep that printing it takes a deep stack."""

    def test_with_ir_disk(self, recorded: Callable[..., Trace], tmp_path: Path) -> None:
        made = make_reproducer(recorded(OVERFLOW, "--ir", "disk"))
        assert (made.name, made.why_not) == ("tirx.StmtSimplify", "")
        assert verify(made).words == "it ended in the same error, SIGSEGV"
        assert not list(tmp_path.glob("**/*.module"))

    def test_without_it_says_what_to_do(self, recorded: Callable[..., Trace]) -> None:
        made = make_reproducer(recorded(OVERFLOW))
        assert not made.files
        assert "--ir disk" in made.why_not


def test_the_command_asks_and_reports(
    recorded: Callable[..., Trace], python: Python, tmp_path: Path
) -> None:
    recorded(VERIFY_MEMORY)
    asked = python("-m", "tilelang_trace", "reproduce", "x.pftrace")
    assert asked.returncode == 2
    assert "add --yes" in asked.stderr
    done = python("-m", "tilelang_trace", "reproduce", "--yes", "x.pftrace")
    assert done.returncode == 0, done.stderr
    assert "this runs the pass 'tirx.VerifyMemory'" in done.stderr
    assert "it ended in the same error" in done.stderr
    written = python("-m", "tilelang_trace", "reproduce", "-o", "out", "x.pftrace")
    assert written.stdout.split() == ["out/reproducer.py", "out/ir/before.py", "out/ir/before.json"]
    # The script needs nothing of this package.
    alone = python(
        "-c",
        (
            "import runpy, sys; sys.modules['tilelang_trace'] = None;"
            "runpy.run_path('out/reproducer.py', run_name='__main__')"
        ),
    )
    assert "RuntimeError: Memory verification failed" in alone.stderr


@pytest.mark.usefixtures("tvm")
def test_disk_leaves_nothing_of_passes_that_ended(python: Python, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import os, tilelang_trace, tvm
from tvm import tirx

def files():
    return [n for n in os.listdir("x.pftrace.journal") if n.endswith(".module")]

x = tirx.Var("x", "int32")
mod = tvm.IRModule({"main": tirx.PrimFunc([x], tirx.Evaluate(x + 1 + 2))})
with tilelang_trace.record("x.pftrace", ir="disk"):
    with tvm.transform.PassContext():
        for _ in range(3):
            mod = tirx.transform.StmtSimplify()(mod)
        print(len(files()))
    print(len(files()))
""")
    assert python("script.py").stdout.split() == ["1", "0"]


@pytest.mark.tilelang
@pytest.mark.skipif(not find_spec("tilelang"), reason="TileLang is not installed")
def test_tilelang(tmp_path: Path) -> None:
    script = ROOT / "fixtures/compiles/tilelang_fails.py"
    subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", "-o", str(tmp_path / "x.pftrace"), script],
        check=False,
        capture_output=True,
    )
    made = make_reproducer(tilelang_trace.read(tmp_path / "x.pftrace"))
    assert (made.name, made.why_not, made.notes) == ("tl.LayoutInference", "", ())
    verdict = verify(made)
    assert verdict.same, verdict
    assert "InternalError: Layout infer conflict" in verdict.words
