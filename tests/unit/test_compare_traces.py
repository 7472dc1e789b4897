"""What becomes of two compiles that are compared: changes, sums, kernels, what is around them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.compiled import INCOMPLETE, a_compile, a_context, a_pass, failed, trace
from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.compared_pass import (
    ComparedPass,
)
from tilelang_trace.analysis.compare.comparison import (
    Comparison,
    ContextChange,
)
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

RECORDINGS = sorted((Path(__file__).parents[2] / "fixtures/recordings").iterdir())


def compared(base: Trace | list[Trace], new: Trace | list[Trace]) -> Comparison:
    """The comparison, with what holds for all of them checked."""
    sides = [side if isinstance(side, list) else [side] for side in (base, new)]
    found = compare_traces(*sides, *([f"run {n}" for n in range(len(side))] for side in sides))
    total = found.total
    assert sum(p.self_delta_ns for p in found.passes) + total.between_delta_ns == total.delta_ns
    assert sum(total.between_by_kind.values()) == total.between_delta_ns
    for side, whole, between in (
        ("base", total.base_ns, total.base_between_ns),
        ("new", total.new_ns, total.new_between_ns),
    ):
        own = [getattr(p, side) for p in found.passes if getattr(p, side) is not None]
        assert sum(one.self_ns for one in own) + between == whole
    return found


def told(found: Comparison) -> list[str]:
    return [f"{p.change} {'/'.join(p.path)}" for p in found.passes if p.change != "matched"]


def named(found: Comparison, name: str) -> ComparedPass:
    return next(entry for entry in found.passes if entry.name == name)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_a_compile_is_the_same_as_itself(path: Path):
    recorded = with_phases(tilelang_trace.read(path))
    found = compared(recorded, recorded)
    assert {entry.change for entry in found.passes} == {"matched"}
    assert len(found.passes) == found.base.passes == summarize(recorded).runs
    assert all(p.delta_ns == 0 and p.self_delta_ns == 0 for p in found.passes)
    assert found.total.base_ns == summarize(recorded).total_ns
    assert found.total.base_between_ns == summarize(recorded).between_passes_ns
    assert (found.total.delta_ns, found.total.between_by_kind) == (0, {})
    assert (found.context_changes, found.first_divergence, found.notes) == ((), None, ())


def test_what_a_side_has_more():
    base = trace(a_context(a_pass("A", 10), a_pass("B", 20, a_pass("C", 5)), a_pass("D", 1)))
    new = trace(a_context(a_pass("A", 30), a_pass("E", 2), a_pass("D", 1), own_ns=8))
    found = compared(base, new)
    assert [(p.change, p.path) for p in found.passes] == [
        ("matched", ("A",)),
        ("removed", ("B",)),
        ("removed", ("B", "C")),
        ("added", ("E",)),
        ("matched", ("D",)),
    ]
    assert [p.self_delta_ns for p in found.passes] == [20, -20, -5, 2, 0]
    assert [p.delta_ns for p in found.passes] == [20, -25, -5, 2, 0]
    assert named(found, "A").ratio == 3.0 and named(found, "B").ratio is None
    assert (found.total.base_ns, found.total.new_ns) == (41, 41)
    assert found.total.between_by_kind == {"context": 3}
    assert found.base.passes == 4 and found.new.passes == 3


def test_small_and_large_changes():
    """Case 46: the pass that grew 30 times costs 2.9 ms, the one that grew 31 times 3 s."""
    base = trace(
        a_pass("lower", 0, a_pass("LayoutInference", 100_000_000), a_pass("Simplify", 100_000))
    )
    new = trace(
        a_pass("lower", 0, a_pass("LayoutInference", 3_100_000_000), a_pass("Simplify", 3_000_000))
    )
    found = compared(base, new)
    assert named(found, "LayoutInference").self_delta_ns == 3_000_000_000
    assert named(found, "LayoutInference").ratio == 31.0
    assert named(found, "Simplify").ratio == 30.0
    assert named(found, "lower").self_delta_ns == 0
    assert found.total.delta_ns == 3_002_900_000


def test_passes_are_told_in_the_order_in_which_they_ran():
    def run(*names: str) -> Trace:
        return trace(a_context(*map(a_pass, names)))

    found = compared(run("A", "B", "X", "C", "Y", "D"), run("C", "A", "B", "Z", "D"))
    assert [f"{p.change} {p.name}" for p in found.passes] == [
        "moved C",
        "matched A",
        "matched B",
        "removed X",
        "removed Y",
        "added Z",
        "matched D",
    ]


def test_a_phase_is_no_level():
    base = trace(a_context(a_pass("A", phase="x"), a_pass("B", phase="x"), a_pass("C", phase="y")))
    new = trace(a_context(a_pass("A", phase="x"), a_pass("B", phase="z"), a_pass("C", phase="z")))
    found = compared(base, new)
    assert told(found) == []
    assert [p.phase for p in found.passes] == ["x", "z", "z"]


def test_candidates_of_a_tuner_are_told_apart_by_their_phase():
    def tuned(*tiles: int) -> Trace:
        return trace(
            a_pass("Tune", 10, *(a_context(a_pass("Lower", phase=f"tile {t}")) for t in tiles))
        )

    (gone,) = [p for p in compared(tuned(8, 16, 32), tuned(8, 32)).passes if p.new is None]
    assert gone.phase == "tile 16"


def test_behind_a_failure_passes_are_not_reached():
    whole = trace(a_context(a_pass("A"), a_pass("B", 10, a_pass("x"), a_pass("y")), a_pass("C")))
    broken = trace(
        a_context(
            a_pass("A"),
            a_pass("B", 10, a_pass("x"), **failed("no layout")),
            **INCOMPLETE,
        )
    )
    assert told(compared(whole, broken)) == ["not_reached B/y", "not_reached C"]
    assert told(compared(broken, whole)) == ["not_reached B/y", "not_reached C"]
    found = compared(whole, broken)
    assert (named(found, "B").base.status, named(found, "B").new.status) == ("ok", "failed")
    assert found.new.failed == ("B",) and found.base.failed == ()


def test_before_a_failure_passes_are_added_and_removed():
    whole = trace(a_context(a_pass("A"), a_pass("Old"), a_pass("B"), a_pass("C")))
    broken = trace(a_context(a_pass("New"), a_pass("A"), a_pass("B", **failed("no")), **INCOMPLETE))
    assert told(compared(whole, broken)) == ["added New", "removed Old", "not_reached C"]


def test_a_pass_that_is_gone_hides_nothing_that_was_not_reached():
    """Outside of kernels too."""
    whole = trace(a_pass("A"), a_pass("Old"), a_pass("B"), a_pass("C"))
    broken = trace(a_pass("A"), a_pass("New"), a_pass("B", **failed("no")))
    assert told(compared(whole, broken)) == ["removed Old", "added New", "not_reached C"]


def test_a_swallowed_failure_ends_nothing():
    whole = trace(a_context(a_pass("A"), a_pass("B"), a_pass("C"), a_pass("D")))
    caught = trace(a_context(a_pass("A"), a_pass("B", **failed("tried")), a_pass("D")))
    assert told(compared(whole, caught)) == ["removed C"]


def test_kernels_behind_a_failure_are_not_reached_if_it_ended_the_program():
    def kernels(*names: str) -> list[Any]:
        return [a_compile(name, a_pass("A"), a_pass("B")) for name in names]

    broken = a_compile("b", a_pass("A", **failed("no")), **INCOMPLETE)
    whole = trace(*kernels("a", "b", "c"))
    rest = ["not_reached B", "not_reached A", "not_reached B"]
    assert told(compared(whole, trace(*kernels("a"), broken))) == rest
    assert told(compared(whole, trace(*kernels("a"), broken, exit={"code": 1}))) == rest
    went_on = trace(*kernels("a"), broken, exit={"code": 0})
    assert told(compared(whole, went_on)) == ["not_reached B", "removed A", "removed B"]


def test_a_snapshot_may_come_to_the_rest():
    whole = trace(a_context(a_pass("A"), a_pass("B"), a_pass("C")))
    running = trace(a_context(a_pass("A"), a_pass("B", status="open"), status="open"))
    assert told(compared(whole, running)) == ["not_reached C"]


def test_kernels_are_told():
    base = trace(a_compile("gemm", a_pass("A", 10)), a_compile("copy", a_pass("A")), own_metadata=1)
    new = trace(a_compile("gemm", a_pass("A", 30)))
    found = compared(base, new)
    assert [(k.name, k.base_row, k.new_row, k.base_ns, k.new_ns) for k in found.kernels] == [
        ("gemm", 0, 0, 17, 37),
        ("copy", 2, None, 17, 0),
    ]
    assert [(k.base_status, k.new_status) for k in found.kernels] == [("ok", "ok"), ("ok", "")]
    assert found.notes == ("kernels: 2 in base, 1 in new",)
    assert [p.kernel for p in found.passes] == ["gemm", "copy"]


def test_kernels_of_other_names():
    found = compared(trace(a_compile("old", a_pass("A"))), trace(a_compile("new", a_pass("A"))))
    assert told(found) == []
    assert found.notes == ("kernel old of base is compared with kernel new of new",)


def test_a_context_around_a_compile_is_no_kernel_of_its_own():
    inner = a_compile("gemm", a_pass("A"))
    found = compared(trace(inner), trace(a_context(inner, kernel="gemm")))
    assert [k.name for k in found.kernels] == ["gemm"] and found.notes == ()
    assert told(found) == []
    assert found.context_changes == (ContextChange("PassContext", "", "opt_level 3"),)


def test_repeats_give_means_and_rows():
    def run(a: int, b: int) -> Trace:
        return trace(a_context(a_pass("A", a), a_pass("B", b)))

    found = compared([run(10, 4), run(11, 4)], [run(20, 4), run(20, 4), run(21, 4)])
    a = named(found, "A")
    assert (a.base.self_ns * 2, a.new.self_ns * 3) == (21, 61)
    assert (a.base.self_runs, a.new.self_runs) == ((10, 11), (20, 20, 21))
    assert a.base.rows == (1, 1) and a.new.rows == (1, 1, 1)
    assert found.total.base_runs == (19, 20) and found.total.base_ns * 2 == 39
    assert named(found, "B").self_delta_ns == 0


def test_a_pass_that_only_some_repeats_have_counts_in_the_mean():
    often = trace(a_context(a_pass("A"), a_pass("B"), a_pass("Tune", 30, a_pass("Try", 6))))
    once = trace(a_context(a_pass("A"), a_pass("B")))
    found = compared([once, often, often], [once])
    tune = named(found, "Tune")
    assert tune.change == "removed" and tune.path == ("Tune",)
    assert tune.base.rows == (None, 3, 3) and tune.base.self_runs == (0, 30, 30)
    assert tune.base.self_ns == 20 and tune.base.inclusive_ns == 24
    assert named(found, "Try").base.rows == (None, 4, 4)
    assert found.base.passes == 2
    assert found.notes == (
        "base: run 2 has other passes than run 1: 2 differ",
        "base: run 3 has other passes than run 1: 2 differ",
    )


def a_random_compile(chance: random.Random) -> Trace:
    def some(depth: int) -> list[Any]:
        return [
            a_context(*some(depth + 1))
            if chance.random() < 0.1
            else a_pass(
                chance.choice("ABCDE"),
                chance.randrange(1, 10**9),
                *(some(depth + 1) if depth < 4 else ()),
            )
            for _ in range(chance.randrange(4))
        ]

    return trace(*some(0), a_pass("Last"))


# 5260: a wrapper that is looked through twice.
@pytest.mark.parametrize("seed", [*range(80), 5260])
def test_the_deltas_add_up(seed: int):
    chance = random.Random(seed)
    sides = [[a_random_compile(chance) for _ in range(chance.randrange(1, 5))] for _ in range(2)]
    found = compared(*sides)
    for name, side in zip(("base", "new"), sides):
        for number, recorded in enumerate(side):
            rows = [
                getattr(p, name).rows[number] for p in found.passes if getattr(p, name) is not None
            ]
            known = Counter(row for row in rows if row is not None)
            assert set(known.values()) <= {1}
            assert sum(known.values()) == summarize(recorded).runs
    again = compared(*sides)
    assert again == found


def changes(base: Trace, new: Trace) -> list[tuple[str, str, str]]:
    return [(c.what, c.base, c.new) for c in compared(base, new).context_changes]


def test_options_of_contexts():
    base = a_context(
        a_pass("A"), opt_level=1, disabled_pass=["FuseOps"], config={"a.b": "1", "c": 1}
    )
    new = a_context(a_pass("A"), opt_level=3, required_pass=["Inline"], config={"c": 2})
    assert changes(trace(base), trace(new)) == [
        ("opt_level", "1", "3"),
        ("required_pass", "", "Inline"),
        ("disabled_pass", "FuseOps", ""),
        ("config a.b", "1", ""),
        ("config c", "1", "2"),
    ]


def test_what_helps_most_comes_first():
    base = trace(
        a_compile("gemm", a_context(a_pass("A")), target="llvm", backend="a", cache="miss"),
        versions={"tvm": "0.25", "python": "3.11"},
        host={"machine": "x86_64"},
        command=["/venvs/a/bin/python", "mlp.py"],
    )
    new = trace(
        a_compile(
            "gemm", a_context(a_pass("A"), opt_level=2), target="cuda", backend="b", cache="hit"
        ),
        versions={"tvm": "0.27", "python": "3.11", "tilelang": "0.1"},
        host={"machine": "aarch64"},
        command=["/venvs/b/bin/python", "mlp.py", "--fast"],
    )
    assert changes(base, new) == [
        ("target", "llvm", "cuda"),
        ("opt_level", "3", "2"),
        ("version of tilelang", "", "0.1"),
        ("version of tvm", "0.25", "0.27"),
        ("backend", "a", "b"),
        ("cache", "miss", "hit"),
        ("machine of the host", "x86_64", "aarch64"),
        ("command", "python mlp.py", "python mlp.py --fast"),
    ]


def test_a_change_names_its_kernel_where_kernels_differ_in_it():
    def kernels(first: int, second: int) -> Trace:
        return trace(
            a_compile("a", a_context(a_pass("A"), opt_level=first)),
            a_compile("b", a_context(a_pass("A"), opt_level=second)),
        )

    assert changes(kernels(1, 1), kernels(2, 2)) == [("opt_level", "1", "2")]
    assert changes(kernels(1, 0), kernels(2, 3)) == [
        ("opt_level of a", "1", "2"),
        ("opt_level of b", "0", "3"),
    ]


def test_targets_that_tvm_writes_are_compared_key_by_key():
    target = '{"kind":"cuda","keys":["cuda","gpu"],"arch":"%s"}'
    base = trace(a_compile("gemm", a_pass("A"), target=target % "sm_80"))
    new = trace(a_compile("gemm", a_pass("A"), target=target % "sm_90"))
    assert changes(base, new) == [("target arch", "sm_80", "sm_90")]
    other = trace(a_compile("gemm", a_pass("A"), target='{"kind":"llvm","mcpu":"znver4"}'))
    assert changes(base, other) == [("target", "cuda sm_80", "llvm znver4")]


def test_a_long_value_is_cut_around_what_differs():
    base = trace(a_pass("A"), command=["python", *["same"] * 200, "old", *["rest"] * 200])
    new = trace(a_pass("A"), command=["python", *["same"] * 200, "new", *["rest"] * 200])
    ((_, old, young),) = changes(base, new)
    assert "old" in old and "new" in young
    assert max(len(old), len(young)) <= 160 and old.startswith("…") and old.endswith("…")
