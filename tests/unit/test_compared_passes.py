"""Passes of a comparison as columns, and what the columns are made of: texts, paths, branches."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.comparisons import compared, comparison
from tests.forests import check, forest
from tests.unit.test_align import a_tree, edited
from tilelang_trace.analysis.columns import largest, numbered
from tilelang_trace.analysis.compare.align import align
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses
from tilelang_trace.analysis.compare.forest import Forest
from tilelang_trace.analysis.compare.paths import Paths
from tilelang_trace.analysis.compare.prepared import Prepared, prepare
from tilelang_trace.analysis.compare.texts import Texts, in_common

ENTRIES = (
    compared("Lower", base=(10, 11), new=(20, 20), inclusive=((50, 51), (60, 61)), rows=(3, 4)),
    compared("Lower", "Fuse", base=(5, 5), phase="größe", kernel="gemm", verdict="faster"),
    compared("Lower", "Fuse", "Inline", new=(7, 0), change="moved", status=("ok", "failed")),
    compared("tirx.Lower", base=(1, 2), new=(1, 2), base_name="tir.Lower", verdict="same"),
)


def test_passes_come_out_of_the_columns_as_they_went_in() -> None:
    passes = ComparedPasses.of(ENTRIES)
    assert tuple(passes) == ENTRIES and passes == ENTRIES
    assert passes[2] == ENTRIES[2] and passes[-1] == ENTRIES[-1]
    assert passes[1:3] == ENTRIES[1:3]
    assert passes[np.array([True, False, False, True])] == (ENTRIES[0], ENTRIES[3])
    assert passes[np.array([3, 0])] == (ENTRIES[3], ENTRIES[0])
    assert comparison(*ENTRIES).passes == ENTRIES
    assert passes != ENTRIES[:2] and len(ComparedPasses.of(())) == 0


def test_the_columns_say_what_the_passes_say() -> None:
    passes = ComparedPasses.of(ENTRIES)
    assert list(passes.names()) == [entry.name for entry in ENTRIES]
    for time, name in (("own", "self_delta_ns"), ("inclusive", "delta_ns")):
        deltas, parts = passes.deltas(time)  # type: ignore[arg-type]
        assert [int(d) for d in deltas] == [getattr(entry, name) * parts for entry in ENTRIES]
    assert passes.is_change("moved", "renamed").tolist() == [False, False, True, True]
    assert passes.is_verdict("faster").tolist() == [False, True, False, False]
    assert passes.ended_alike().tolist() == [True, False, False, True]
    assert {"Lower", "Inline", "größe", "gemm", "tir.Lower"} <= set(passes.texts())


def test_texts_of_several_columns_get_common_numbers() -> None:
    one, other = Texts.of(["b", "a", "b"]), Texts.of(["c", "b"])
    (first, second), strings = in_common(one, other)
    assert [strings[i] for i in first] == ["b", "a", "b"]
    assert [strings[i] for i in second] == ["c", "b"]
    assert first[0] == first[2] == second[1]
    # Two numbers for one text: they get one.
    (ids,), strings = in_common(Texts(np.array([0, 1, 2], np.int32), ["x", "y", "x"]))
    assert (ids.tolist(), strings) == ([0, 1, 0], ["x", "y"])


@pytest.mark.parametrize("largest", [3, 10**12])
def test_numbers_are_those_of_numpy(largest: int) -> None:
    keys = np.random.default_rng(0).integers(0, largest, 1000)
    expected = np.unique(keys, return_inverse=True)
    for found, known in zip(numbered(keys), expected):
        assert found.tolist() == known.tolist()
    assert [len(found) for found in numbered(keys[:0])] == [0, 0]


@pytest.mark.parametrize("count", [0, 1, 10, 49, 50, 51])
def test_the_largest_are_those_of_a_stable_sort(count: int) -> None:
    values = np.random.default_rng(count).integers(-5, 5, 50)
    assert largest(values, count).tolist() == np.argsort(-values, kind="stable")[:count].tolist()
    assert largest(values[:0], count).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_paths_are_the_names_of_the_passes_around(seed: int) -> None:
    chance = random.Random(seed)
    trees = [a_tree(chance) for _ in range(5)]
    forests = [
        forest(("PassContext", *trees), "A"),
        forest(*(after for tree in trees for after in edited(tree, chance))),
    ]
    paths, found = Paths.of(forests)
    for of_forest, numbers in zip(forests, found):
        for node, number in enumerate(numbers.tolist()):
            names = []
            while node >= 0:
                if of_forest.kinds[node] == "pass":
                    names.append(of_forest.names[node])
                node = int(of_forest.parents[node])
            assert paths[number] == tuple(reversed(names))


def shapes(of_forest: Forest) -> list[object]:
    """Each branch written out."""
    found: list[object] = [None] * len(of_forest)
    for node in reversed(range(len(of_forest))):
        inside = tuple(found[child] for child in of_forest.children[node])
        found[node] = (of_forest.names[node], inside)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_branches_have_one_content_exactly_if_they_are_alike(seed: int) -> None:
    chance = random.Random(seed)
    forests = [forest(*(a_tree(chance) for _ in range(6))) for _ in range(2)]
    sides = prepare(*forests, by_time=False, apart=False)
    contents = [int(content) for side in sides for content in side.content]
    written = [shape for one in forests for shape in shapes(one)]
    by_content = dict(zip(contents, written))
    assert all(by_content[content] == shape for content, shape in zip(contents, written))
    assert len(by_content) == len(set(written))


@pytest.mark.parametrize("seed", range(20))
def test_branches_of_one_name_whose_hashes_are_the_same_match_nothing_that_differs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prepared, "_contents", lambda self: self.name)
    chance = random.Random(seed)
    trees = [a_tree(chance) for _ in range(8)]
    base = forest(*trees)
    new = forest(*(after for tree in trees for after in edited(tree, chance)))
    check(base, new, align(base, new))
