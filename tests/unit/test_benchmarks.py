"""Every benchmark still runs; what it measures is not looked at."""

from __future__ import annotations

import pytest

from tests.benchmarks import synthetic
from tests.benchmarks.__main__ import bench, names, run
from tests.benchmarks.measure import Figure
from tilelang_trace.engine.errors import EngineUnavailable


@pytest.mark.parametrize("name", [n for n in names() if not hasattr(bench(n), "NEEDS_TVM")])
def test_a_bench_runs_on_a_tiny_size(name: str) -> None:
    try:
        figures = run(name, 250, 1)
    except EngineUnavailable as missing:
        pytest.skip(str(missing))
    assert any(figure.asked for figure in figures)
    assert all(figure.value > 0 for figure in figures)
    assert bench(name).__doc__


def test_what_is_asked_for_is_reached_or_missed() -> None:
    assert Figure("x", 10, "x", ">= 10").reached is True
    assert Figure("x", 2.1, "x", "<= 2").reached is False
    assert Figure("x", 1).reached is None


@pytest.mark.parametrize("count", [1, 99, 100, 1_234])
def test_the_synthetic_trace_nests_as_its_arguments_say(count: int) -> None:
    trace = synthetic.trace(count)
    assert len(trace.slices) == count
    assert not trace.findings
    for row, arguments in enumerate(trace.arguments.between(0, count)):
        parent = int(trace.slices.parent[row])
        if trace.category(row) == "context":
            assert parent == -1
            continue
        around = trace.arguments.of(parent)
        assert arguments.get("parent_sequence") == around.get("sequence")
        assert arguments["depth"] == around.get("depth", -1) + 1
        assert arguments["sequence"] == row % 100 - 1
