"""Which passes of two compiles are the same, on hand-made trees."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.forests import CONTEXT, check, forest, told
from tilelang_trace.analysis.compare.align import align
from tilelang_trace.analysis.compare.forest import Forest, merge
from tilelang_trace.analysis.compare.sequence import shortest_edit

PIPELINE = ["LegalizeOps", "FuseOps", "Simplify", "FuseTIR", "Simplify", "Lower", "Simplify"]


def pairs(base: Forest, new: Forest, **options: Any) -> list[tuple[int, int]]:
    found = align(base, new, **options)
    check(base, new, found)
    return [(b, n) for b, n in enumerate(found.new_of) if n >= 0]


def test_two_pipelines_of_one_frontend():
    """Case 50: other targets, other passes, and a Simplify between them."""
    cpu = "LegalizeOps FuseOps FuseTIR FoldConstant Simplify UnrollLoop Simplify VMShapeLower"
    gpu = (
        "LegalizeOps FuseOps FuseTIR DLightSchedule Simplify ThreadSync Simplify VectorizeLoop "
        "Simplify VMShapeLower"
    )
    base, new = forest(*cpu.split()), forest(*gpu.split())
    assert pairs(base, new) == [(0, 0), (1, 1), (2, 2), (4, 4), (6, 6), (7, 9)]
    assert told(base, new) == [
        "- FoldConstant",
        "- UnrollLoop",
        "+ DLightSchedule",
        "+ ThreadSync",
        "+ VectorizeLoop",
        "+ Simplify",
    ]


@pytest.mark.parametrize("place", range(len(PIPELINE) + 1))
def test_a_pass_that_was_inserted_shifts_nothing(place: int):
    longer = [*PIPELINE[:place], "Inserted", *PIPELINE[place:]]
    assert told(forest(*PIPELINE), forest(*longer)) == ["+ Inserted"]
    assert told(forest(*longer), forest(*PIPELINE)) == ["- Inserted"]


@pytest.mark.parametrize("place", range(len(PIPELINE) + 1))
def test_a_pass_that_was_repeated_shifts_nothing(place: int):
    longer = [*PIPELINE[:place], "Simplify", *PIPELINE[place:]]
    assert told(forest(*PIPELINE), forest(*longer)) == ["+ Simplify"]


def test_a_pass_that_moved():
    assert told(forest("A", "B", "C", "D"), forest("D", "A", "B", "C")) == ["~ D"]
    inner = forest(("first", "A", "X", "B"), ("second", "C", "D"))
    assert told(inner, forest(("first", "A", "B"), ("second", "C", "X", "D"))) == ["~ X"]


def test_a_branch_that_moved_takes_its_passes_along():
    base = forest("A", ("tune", "x", "y"), "B", "C")
    new = forest("A", "B", "C", ("tune", "x", "y"))
    assert told(base, new) == ["~ tune"]
    assert (2, 4) in pairs(base, new)  # x


def test_a_common_pass_of_a_branch_that_is_gone_did_not_move_to_one_that_is_new():
    base = forest("A", ("gone", "Simplify", "p"), "B", "Simplify")
    new = forest("A", "B", "Simplify", ("added", "Simplify", "q"))
    assert told(base, new) == ["- gone", "- Simplify", "- p", "+ added", "+ Simplify", "+ q"]


def test_branches_of_one_name_are_told_apart_by_what_is_in_them():
    base = forest(("seq", "a", "b"), ("seq", "c", "d"), ("seq", "e", "f"))
    new = forest(("seq", "c", "d"), ("seq", "e", "g"))
    assert pairs(base, new) == [(3, 0), (4, 1), (5, 2), (6, 3), (7, 4)]


def test_of_branches_that_are_nearly_the_same_the_one_that_is():
    passes = [f"p{i}" for i in range(30)]
    base = forest(("seq", "other", *passes), ("seq", *passes), ("seq", *passes, "other"))
    assert pairs(base, forest(("seq", *passes)))[0] == (32, 0)


def test_passes_of_one_name_are_told_apart_by_their_phase():
    base = forest("Simplify#lower", "Simplify#build")
    assert pairs(base, forest("Simplify#build")) == [(1, 0)]
    assert pairs(base, forest("Simplify#lower")) == [(0, 0)]


def test_40_runs_align_run_by_run_and_the_slow_one_is_not_taken_for_another():
    times = [1_000_000 + 1000 * (i % 7) for i in range(40)]
    times[17] = 90_000_000
    base = forest(*["Simplify"] * 40, times=times)
    without = forest(*["Simplify"] * 39, times=times[:17] + times[18:])
    assert pairs(base, base) == [(i, i) for i in range(40)]
    expected = [(i, i - (i > 17)) for i in range(40) if i != 17]
    assert pairs(base, without) == expected
    # Where one side was cut off by a failure, times tell nothing: it is the last that is missing.
    assert pairs(base, without, by_time=False) == [(i, i) for i in range(39)]


def test_a_wrapper_is_looked_through():
    flat = forest("A", "B", "C", "D")
    assert told(flat, forest("A", ("wrapper", "B", "C"), "D")) == ["+ wrapper"]
    assert told(forest("A", ("wrapper", "B", "C"), "D"), flat) == ["- wrapper"]
    assert told(flat, forest(("outer", ("inner", "A", "B"), "C"), "D")) == ["+ outer", "+ inner"]
    assert told(flat, forest((CONTEXT, "A", "B", "C", "D"))) == [f"+ {CONTEXT}"]


def test_a_wrapper_of_a_name_that_is_there_already():
    base = forest(("seq", "P", "Q"), "B", "C")
    assert told(base, forest(("seq", "P", "Q"), ("seq", "B", "C"))) == ["+ seq"]


def test_a_wrapper_does_not_take_passes_from_beside_it():
    base = forest("Simplify", "B", "DCE")
    new = forest(("cleanup", "Simplify", "DCE"), "Simplify", "B", "DCE")
    assert told(base, new) == ["+ cleanup", "+ Simplify", "+ DCE"]
    assert pairs(base, new) == [(0, 3), (1, 4), (2, 5)]


def test_renamed_passes_are_offered():
    base = forest("A", "tirx.StmtSimplify", "B", ("FuseOld", "x", "y"), "C", "StorageRewrite")
    new = forest("A", "s_tir.StmtSimplify", "B", ("Merge", "x", "y"), "C", "StorageRewriteV2")
    assert told(base, new) == [
        "tirx.StmtSimplify > s_tir.StmtSimplify",
        "FuseOld > Merge",
        "StorageRewrite > StorageRewriteV2",
    ]
    # Nearly nothing else differs: then the place is enough.
    assert told(forest("A", "B", "Fold", "C"), forest("A", "B", "Unroll", "C")) == ["Fold > Unroll"]


def test_several_renamed_ones_in_a_row_are_offered_in_order():
    base = forest("A", "tir.Bind", "tir.Split", "tir.Lower", "B")
    new = forest("A", "tirx.Bind", "Extra", "tirx.Split", "tirx.Lower", "B")
    assert told(base, new) == [
        "tir.Bind > tirx.Bind",
        "tir.Split > tirx.Split",
        "tir.Lower > tirx.Lower",
        "+ Extra",
    ]


def test_nonsense_is_not_offered():
    base, new = forest("A", "LowerIntrin", "B", "Old"), forest("A", "LowerOpaque", "B", "New", "C")
    assert [line for line in told(base, new) if ">" in line] == []
    assert told(forest("Only"), forest("Another")) == ["- Only", "+ Another"]


def test_kernels_are_matched_by_name_and_order():
    base = forest(("kernel gemm", "A", "B"), ("kernel softmax", "A"), ("kernel gemm", "A", "C"))
    new = forest(("kernel softmax", "A"), ("kernel gemm", "A", "B"), ("kernel gemm", "A", "C"))
    assert told(base, new) == []
    assert pairs(base, new) == [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1), (5, 5), (6, 6), (7, 7)]
    fewer = forest(("kernel softmax", "A"), ("kernel gemm", "A", "C"))
    assert told(base, fewer) == ["- kernel gemm", "- A", "- B"]


def test_kernels_of_an_autotuner_are_matched_by_their_configuration():
    base = forest(("kernel gemm#32", "A"), ("kernel gemm#64", "A"), ("kernel gemm#128", "A"))
    new = forest(("kernel gemm#64", "A"), ("kernel gemm#128", "A"), ("kernel gemm#32", "A"))
    assert pairs(base, new) == [(0, 4), (1, 5), (2, 0), (3, 1), (4, 2), (5, 3)]


def test_a_kernel_under_another_name_is_known_by_its_passes():
    base = forest(("kernel a", "A", "B"), ("kernel b", "C", "D"))
    assert pairs(base, forest(("kernel a", "A", "B"), ("kernel z", "C", "D"))) == [
        (i, i) for i in range(6)
    ]
    unlike = forest(("kernel a", "A", "B"), ("kernel z", "X", "Y"))
    assert "- kernel b" in told(base, unlike)


def test_passes_don_t_move_from_kernel_to_kernel():
    base = forest(("kernel a", "A", "X"), ("kernel b", "B"))
    assert told(base, forest(("kernel a", "A"), ("kernel b", "B", "X"))) == ["- X", "+ X"]
    gone = forest(("kernel a", "A", "X"), "B")
    assert told(base, gone) == ["- kernel b", "- B", "+ B"]


def test_a_file_that_knows_no_kernels():
    known = forest(("kernel gemm", (CONTEXT, "A", "B", "C")), "D")
    assert told(known, forest("A", "B", "C", "D")) == ["- kernel gemm", f"- {CONTEXT}"]


def test_contexts_of_candidates_are_matched_by_what_ran_in_them():
    base = forest(("tune", *((CONTEXT, "Apply", name, "Build") for name in "abc")))
    new = forest(("tune", *((CONTEXT, "Apply", name, "Build") for name in "ac")))
    assert told(base, new) == [f"- {CONTEXT}", "- Apply", "- b", "- Build"]


def a_tree(chance: random.Random, depth: int = 0) -> Any:
    name = chance.choice("ABCDEFG")
    if depth > 3 or chance.random() < 0.5:
        return name
    return (name, *(a_tree(chance, depth + 1) for _ in range(chance.randrange(1, 5))))


def edited(tree: Any, chance: random.Random) -> list[Any]:
    """The tree with some passes left out, put in, or wrapped."""
    if chance.random() < 0.05:
        return []
    extra = ["Z"] if chance.random() < 0.05 else []
    if isinstance(tree, str):
        return [tree, *extra]
    inside = [after for child in tree[1:] for after in edited(child, chance)]
    return [(tree[0], *inside), *extra]


@pytest.mark.parametrize("seed", range(60))
def test_any_two_trees(seed: int):
    chance = random.Random(seed)
    trees = [a_tree(chance) for _ in range(8)]
    base = forest(*trees)
    assert pairs(base, base) == [(i, i) for i in range(len(base))]
    new = forest(*(after for tree in trees for after in edited(tree, chance)))
    first, second = align(base, new), align(base, new)
    check(base, new, first)
    assert (first.new_of.tolist(), first.how) == (second.new_of.tolist(), second.how)
    joint = merge(new, base, first.new_of)
    assert sorted(n for n in joint.first if n >= 0) == list(range(len(new)))
    assert sorted(b for b in joint.second if b >= 0) == list(range(len(base)))
    assert [n for n in joint.first if n >= 0] == list(range(len(new)))
    assert all(parent < place for place, parent in enumerate(joint.parents))


@pytest.mark.parametrize("seed", range(30))
def test_the_shortest_edit_keeps_as_much_as_can_be_kept(seed: int):
    chance = random.Random(seed)
    base = [chance.randrange(4) for _ in range(chance.randrange(40))]
    new = [chance.randrange(4) for _ in range(chance.randrange(40))]
    found = shortest_edit(np.array(base, np.int32), np.array(new, np.int32))
    assert found is not None
    assert all(base[i] == new[j] for i, j in found)
    assert all(a < c and b < d for (a, b), (c, d) in zip(found, found[1:]))
    longest = [[0] * (len(new) + 1) for _ in range(len(base) + 1)]
    for i, x in enumerate(base):
        for j, y in enumerate(new):
            longest[i + 1][j + 1] = (
                longest[i][j] + 1 if x == y else max(longest[i][j + 1], longest[i + 1][j])
            )
    assert len(found) == longest[-1][-1]


MANY = 100_000
FEWER = 20_000
"""Enough to see what takes the square of the time."""


def flat(names: list[str]) -> Forest:
    return Forest(names, [-1] * len(names))


def chain(names: list[str]) -> Forest:
    return Forest(names, list(range(-1, len(names) - 1)))


def inserted(names: list[str], count: int) -> list[str]:
    chance = random.Random(0)
    result = list(names)
    for _ in range(count):
        result.insert(chance.randrange(len(result)), chance.choice(names))
    return result


def shuffled(names: list[str]) -> list[str]:
    result = list(names)
    random.Random(0).shuffle(result)
    return result


def different(count: int) -> list[str]:
    return [f"p{i}" for i in range(count)]


def cycle(count: int) -> list[str]:
    return [f"p{i % 20}" for i in range(count)]


def in_threes(last: str) -> Forest:
    return forest(*(("seq", "A", f"{last}{i % 7}") for i in range(FEWER)))


LARGE: dict[str, Callable[[], tuple[Forest, Forest, int]]] = {
    "equal": lambda: (flat(["S"] * MANY), flat(["S"] * (MANY - 1)), MANY - 1),
    "shuffled": lambda: (flat(different(FEWER)), flat(shuffled(different(FEWER))), FEWER),
    "2000 repeated": lambda: (flat(cycle(MANY)), flat(inserted(cycle(MANY), 2000)), MANY),
    "half": lambda: (flat(["S"] * FEWER), flat(["S"] * (FEWER // 2)), FEWER // 2),
    "reversed": lambda: (flat(different(FEWER)), flat(different(FEWER)[::-1]), FEWER),
    "cycle shuffled": lambda: (flat(cycle(FEWER)), flat(shuffled(cycle(FEWER))), FEWER),
    "nothing in common": lambda: (
        flat(different(FEWER)),
        flat([f"q{i}x" for i in range(FEWER)]),
        0,
    ),
    "all renamed": lambda: (
        flat([f"a.{name}" for name in different(FEWER)]),
        flat([f"b.{name}" for name in different(FEWER)]),
        FEWER,
    ),
    "deep": lambda: (chain(["S"] * FEWER), chain(["S"] * (FEWER - 1)), FEWER - 1),
    "deep, first missing": lambda: (
        chain(different(FEWER)),
        chain(different(FEWER)[1:]),
        FEWER - 1,
    ),
    "small differences everywhere": lambda: (in_threes("B"), in_threes("C"), 2 * FEWER),
}


@pytest.mark.parametrize("case", LARGE)
def test_100_000_passes_take_seconds(case: str):
    base, new, matched = LARGE[case]()
    begun = time.process_time()
    found = align(base, new)
    assert time.process_time() - begun < 10
    assert sum(n >= 0 for n in found.new_of) == matched
    check(base, new, found)


def test_passes_that_were_repeated_in_a_long_list_shift_nothing():
    old, new = cycle(FEWER), inserted(cycle(FEWER), 60)
    found = align(flat(old), flat(new))
    assert found.how == {}
    assert [new[n] for n in found.new_of] == old
