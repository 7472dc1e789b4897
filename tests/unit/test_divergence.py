"""The first place in which two compiles differ."""

from __future__ import annotations

from typing import Any

from tests.compiled import INCOMPLETE, Tree, a_compile, a_context, a_pass, failed, trace
from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.comparison import (
    Divergence,
)
from tilelang_trace.trace.model import Trace


def diverging(*base: Trace, new: Trace | list[Trace]) -> Divergence | None:
    news = new if isinstance(new, list) else [new]
    return compare_traces(base, news, ["base"] * len(base), ["new"] * len(news)).first_divergence


def hashed(*hashes: str, **metadata: Any) -> Trace:
    passes = [a_pass(f"P{n}", ir={"changed": True, "hash": h}) for n, h in enumerate(hashes)]
    return trace(a_context(*passes), **metadata)


def test_the_first_pass_after_which_hashes_differ():
    found = diverging(hashed("a", "b", "c", "d"), new=hashed("a", "b", "x", "y"))
    assert found is not None
    assert (found.kind, found.path) == ("ir", ("P2",))
    assert "hash c in base, x in new" in found.detail
    assert "it was the same after P1" in found.detail
    assert "hashes can't tell whether only an order differs" in found.detail
    assert found.diff == "" and "may be TVM's own disorder" in found.caution
    assert diverging(hashed("a", "b"), new=hashed("a", "b")) is None


def test_the_very_first_pass_differs():
    found = diverging(hashed("a", "b"), new=hashed("x", "b"))
    assert found is not None and found.path == ("P0",)
    assert "this is the first pass of which it is known" in found.detail


def test_passes_end_from_the_inside_out():
    def nested(inner: str, outer: str) -> Trace:
        inside = a_pass("inner", ir={"changed": True, "hash": inner})
        return trace(a_pass("outer", 10, inside, ir={"changed": True, "hash": outer}))

    found = diverging(nested("a", "b"), new=nested("x", "y"))
    assert found is not None and found.path == ("outer", "inner")
    found = diverging(nested("a", "b"), new=nested("a", "y"))
    assert found is not None and found.path == ("outer",)


def test_what_ran_on_one_side_only_is_named_with_it():
    base = trace(a_pass("A", ir={"hash": "a"}), a_pass("B", ir={"hash": "b"}))
    extra = a_pass("Extra", ir={"hash": "e"})
    new = trace(a_pass("A", ir={"hash": "a"}), extra, a_pass("B", ir={"hash": "x"}))
    found = diverging(base, new=new)
    assert found is not None and (found.kind, found.path) == ("ir", ("B",))
    assert "in between ran Extra (only in new)" in found.detail
    # It changed nothing in the end: the passes are what differs.
    same = trace(a_pass("A", ir={"hash": "a"}), extra, a_pass("B", ir={"hash": "b"}))
    found = diverging(base, new=same)
    assert found is not None and (found.kind, found.path) == ("passes", ("Extra",))


def test_caution_depends_on_what_was_recorded():
    fixed: dict[str, Any] = {"recording": {"deterministic": True}}
    found = diverging(hashed("a", "b", **fixed), new=hashed("a", "x", **fixed))
    assert found is not None and found.caution == ""
    found = diverging(hashed("a", "b", **fixed), new=hashed("a", "x"))
    assert found is not None and "--deterministic" in found.caution


def test_repeats_of_base_prove_it():
    found = diverging(hashed("a", "b", "c"), hashed("a", "b", "z"), new=hashed("a", "x", "y"))
    assert found is not None and found.path == ("P1",) and found.caution == ""
    found = diverging(hashed("a", "b"), hashed("a", "b"), hashed("a", "z"), new=hashed("a", "x"))
    assert found is not None
    assert found.caution == (
        "may be TVM's own disorder: run 3 of base differs from its run 1 here too"
    )
    found = diverging(hashed("a", "b"), hashed("q", "z"), new=hashed("a", "x"))
    assert found is not None and "run 2 of base differs from its run 1 after P0" in found.caution


def with_text(*texts: str | None) -> Trace:
    """Passes after which the module is this; None for one that changes nothing."""
    passes: list[Tree] = []
    before = "def start()"
    for number, after in enumerate(texts):
        facts: dict[str, Any] = {
            "changed": after is not None,
            "size_before": len(before.splitlines()),
            "size_after": len((after or before).splitlines()),
        }
        if after is not None:
            facts |= {"before": before, "after": after}
            before = after
        passes.append(a_pass(f"P{number}", ir=facts))
    return trace(*passes)


def test_the_diff_of_the_texts():
    found = diverging(with_text("a\nb\nc", "d\ne"), new=with_text("a\nx\nc", "d\ne"))
    assert found is not None and found.path == ("P0",)
    assert found.diff.splitlines() == [
        "--- base",
        "+++ new",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "+x",
        " c",
    ]
    assert "it was the same before" in found.detail


def test_the_diff_where_one_side_changed_nothing():
    found = diverging(with_text("a\nb", None), new=with_text("a\nb", "a\nz"))
    assert found is not None and found.path == ("P1",)
    assert found.diff.splitlines()[-2:] == ["-b", "+z"]
    assert "it was the same after P0" in found.detail


def test_a_long_diff_is_cut_with_a_mark():
    base, new = ("\n".join(f"{side} {n}" for n in range(500)) for side in ("old", "new"))
    found = diverging(with_text(base), new=with_text(new))
    assert found is not None
    assert len(found.diff.splitlines()) == 201
    assert found.diff.endswith("[... 803 lines left out ...]")
    found = diverging(with_text("x" * 30_000 + "\nb"), new=with_text("y" * 30_000 + "\nb"))
    assert found is not None and len(found.diff.encode()) <= 16 * 1024
    assert "characters left out" in found.diff


def test_lines_in_another_order_are_disorder_even_with_fixed_addresses():
    found = diverging(with_text("a\nb\nc"), new=with_text("b\na\nc"))
    assert found is not None and "only their order differs" in found.caution


def test_without_ir_the_first_difference_in_the_passes():
    base = trace(a_pass("A"), a_pass("B"), a_pass("C"), a_pass("D"))
    new = trace(a_pass("A"), a_pass("C"), a_pass("E"), a_pass("D"))
    found = diverging(base, new=new)
    assert found == Divergence("passes", ("B",), "only base runs this pass")
    found = diverging(new, new=base)
    assert found == Divergence("passes", ("B",), "only new runs this pass")


def test_a_failure_on_one_side():
    whole = trace(a_context(a_pass("A"), a_pass("B", 10, a_pass("x")), a_pass("C")))
    broken = trace(
        a_context(a_pass("A"), a_pass("B", 10, a_pass("x"), **failed("no layout")), **INCOMPLETE)
    )
    found = diverging(whole, new=broken)
    assert found == Divergence("failure", ("B",), "fails in new only: no layout")
    found = diverging(broken, new=whole)
    assert found == Divergence("failure", ("B",), "fails in base only: no layout")


def test_what_comes_first_is_told():
    whole = trace(a_context(a_pass("A"), a_pass("B"), a_pass("C")))
    broken = trace(a_context(a_pass("Z"), a_pass("A"), a_pass("B", **failed("no")), **INCOMPLETE))
    found = diverging(whole, new=broken)
    assert found is not None and (found.kind, found.path) == ("passes", ("Z",))
    inside = trace(
        a_context(a_pass("A"), a_pass("B", 10, a_pass("New"), **failed("no")), **INCOMPLETE)
    )
    found = diverging(whole, new=inside)
    assert found is not None and (found.kind, found.path) == ("passes", ("B", "New"))


def test_the_same_failure_on_both_sides_is_none():
    def broken(message: str) -> Trace:
        return trace(a_context(a_pass("A"), a_pass("B", **failed(message)), **INCOMPLETE))

    assert diverging(broken("no"), new=broken("no")) is None
    found = diverging(broken("no"), new=broken("never"))
    assert found == Divergence("failure", ("B",), "fails on both sides; in base: no; in new: never")


def test_a_code_generator_that_fails():
    def compiled(**arguments: Any) -> Trace:
        codegen: Tree = ("codegen", "codegen llvm", 5, arguments, ())
        around = INCOMPLETE if arguments else {}
        return trace(a_compile("gemm", a_pass("A"), codegen, **around))

    found = diverging(compiled(), new=compiled(**failed("no such instruction")))
    assert found == Divergence(
        "failure", ("codegen llvm",), "fails in new only: no such instruction"
    )
    broken = compiled(**failed("no"))
    assert diverging(broken, new=broken) is None


def test_a_failure_before_the_ir_differs():
    def tried(hash_: str, **arguments: Any) -> Trace:
        return trace(
            a_context(
                a_pass("A", ir={"hash": "a"}),
                a_pass("Try", **arguments),
                a_pass("B", ir={"hash": hash_}),
            )
        )

    found = diverging(tried("b"), new=tried("x", **failed("no schedule")))
    assert found == Divergence("failure", ("Try",), "fails in new only: no schedule")
