"""The benchmarks that need TVM still run; what they measure is not looked at."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.__main__ import run


def test_the_bench_of_passes_runs(tvm: Any) -> None:
    figures = run("passes", 20, 2)
    assert any(figure.asked for figure in figures)
