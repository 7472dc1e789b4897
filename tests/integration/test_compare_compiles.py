"""Real compiles compared: what was changed in one of them, and nothing else, is what is found."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
)
from tilelang_trace.trace.model import Trace

Compile = Callable[..., Trace]


@pytest.fixture(scope="module")
def compiled(tvm: Any, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`compiled(extra, wrapped, mark, ir, **context)`: a product of matrices through a pipeline of
    passes, `extra` in the middle of it. With `wrapped` the middle is a Sequential of its own. The
    last pass writes `mark` into the IR.
    """
    folder = tmp_path_factory.mktemp("compiles")

    @cache
    def compile_(
        extra: str = "", wrapped: bool = False, mark: int = 0, ir: str = "off", **context: Any
    ) -> Trace:
        @tvm.transform.module_pass(opt_level=0, name="user.Mark")
        def marked(mod: Any, context: Any) -> Any:
            return tvm.IRModule({"main": mod["main"].with_attr("mark", mark)})

        transform = tvm.tirx.transform
        first = [transform.StmtSimplify(), transform.RemoveNoOp()]
        middle = [transform.VectorizeLoop(), transform.UnrollLoop(), transform.StmtSimplify()]
        if extra:
            middle.insert(1, getattr(transform, extra)())
        if wrapped:
            middle = [tvm.transform.Sequential(middle, name="wrapper")]
        passes = tvm.transform.Sequential([*first, *middle, marked], name="all")
        options = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in context.items()
        }
        path = folder / "x.pftrace"
        with tilelang_trace.record(path, ir=ir), tvm.transform.PassContext(**options):
            passes(a_module(tvm))
        return tilelang_trace.read(path)

    return compile_


def a_module(tvm: Any) -> Any:
    te = tvm.te
    a = te.placeholder((64, 64), name="a")
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="b")
    return tvm.IRModule({"main": te.create_prim_func([a, b]).with_attr("global_symbol", "main")})


def compared(base: Trace, new: Trace) -> Comparison:
    found = compare_traces([base], [new], ["base"], ["new"])
    total = found.total
    assert sum(p.self_delta_ns for p in found.passes) + total.between_delta_ns == total.delta_ns
    assert total.delta_ns == total.new_ns - total.base_ns != 0
    return found


def told(found: Comparison) -> list[str]:
    return [f"{p.change} {'/'.join(p.path)}" for p in found.passes if p.change != "matched"]


def test_a_pass_that_is_disabled(compiled: Compile):
    found = compared(compiled(), compiled(disabled_pass=("tirx.UnrollLoop",)))
    assert told(found) == ["removed all/tirx.UnrollLoop"]
    assert [(c.what, c.base, c.new) for c in found.context_changes] == [
        ("disabled_pass", "", "tirx.UnrollLoop")
    ]


def test_a_lower_opt_level(compiled: Compile):
    found = compared(compiled(opt_level=3), compiled(opt_level=1))
    assert [(c.what, c.base, c.new) for c in found.context_changes] == [("opt_level", "3", "1")]


def test_a_pass_that_is_added_and_one_that_wraps(compiled: Compile):
    assert told(compared(compiled(), compiled(extra="StorageRewrite"))) == [
        "added all/tirx.StorageRewrite"
    ]
    assert told(compared(compiled(), compiled(wrapped=True))) == ["added all/wrapper"]
    assert told(compared(compiled(wrapped=True), compiled(extra="StorageRewrite"))) == [
        "removed all/wrapper",
        "added all/tirx.StorageRewrite",
    ]


def test_where_the_ir_differs_first(compiled: Compile):
    hashes = compared(compiled(ir="hash"), compiled(ir="hash", mark=1)).first_divergence
    assert hashes is not None
    assert (hashes.kind, hashes.path) == ("ir", ("all", "user.Mark"))
    assert "it was the same after tirx.StmtSimplify" in hashes.detail
    assert "may be TVM's own disorder" in hashes.caution

    texts = compared(compiled(ir="text"), compiled(ir="text", mark=1)).first_divergence
    assert texts is not None
    assert (texts.kind, texts.path) == ("ir", ("all", "user.Mark"))
    differing = [line for line in texts.diff.splitlines()[2:] if line[0] in "-+"]
    assert [line[0] for line in differing] == ["-", "+"]
    assert '"mark": 0' in differing[0] and '"mark": 1' in differing[1]


def test_a_pass_that_changes_nothing_is_told_as_what_it_is(compiled: Compile):
    found = compared(compiled(ir="hash"), compiled(ir="hash", wrapped=True)).first_divergence
    assert found is not None and (found.kind, found.path) == ("passes", ("all", "wrapper"))
