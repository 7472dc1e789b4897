"""What is left out of a bundle that is too large: the least useful first, and no more than must."""

from __future__ import annotations

import random

import pytest

from tests.traces import Passes, main_thread
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.sharing.bundle.fitting import fitted, without_ir_texts
from tilelang_trace.sharing.bundle.material import Material
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

PASSES = 1000
ERROR = {"type": "ValueError", "cause": "exception", "message": "x"}


def compiled(ir_bytes: int = 0) -> Trace:
    """A thousand passes of 1 us, 2 us, ... and one that fails at the end, each with random IR."""
    chance = random.Random(0)
    builder = TraceBuilder()
    a_pass = Passes(builder, main_thread(builder))
    begin = 0

    def ir() -> dict[str, object]:
        return {"changed": True, "size_after": 3, "after": chance.randbytes(ir_bytes // 2).hex()}

    for number in range(1, PASSES + 1):
        end = begin + 1000 * number
        a_pass(begin, end, f"Pass{number}", ir=ir())
        begin = end
    a_pass(begin, begin + 5, "Broken", status="failed", error=ERROR, ir={"before": "the module"})
    return builder.build()


def pack(material: Material) -> bytes:
    extra = bytes(100_000) if material.ir_files else b""
    return extra + b"".join(files.JSON.write(material.traces["trace"]))


def fit(trace: Trace, most: int) -> Material:
    material, archive = fitted(Material({"trace": trace}), pack, most)
    assert archive == pack(material) and len(archive) <= most
    return material


def test_what_fits_stays_whole() -> None:
    trace = compiled()
    material = fit(trace, len(pack(Material({"trace": trace}))))
    assert material == Material({"trace": trace})


def test_files_of_ir_go_first() -> None:
    trace = compiled(ir_bytes=100)
    material = fit(trace, len(pack(Material({"trace": trace}))) - 1)
    assert not material.ir_files and material.traces["trace"] is trace
    assert material.left_out == ("the files of IR (the trace has the IR of each pass)",)


def test_then_the_ir_in_the_trace_but_for_what_failed() -> None:
    trace = compiled(ir_bytes=1000)
    material = fit(trace, 700_000)
    assert material.left_out == ("the IR of passes that did not fail",)
    kept = material.traces["trace"].arguments.values("ir")
    assert list(kept.values()) == [{"changed": True, "size_after": 3}] * PASSES + [
        {"before": "the module"}
    ]
    assert without_ir_texts(material.traces["trace"]) == material.traces["trace"]


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_then_short_passes_and_no_more_than_must(share: float) -> None:
    trace = without_ir_texts(compiled())
    most = int(share * len(pack(Material({"trace": trace}, ir_files=False))))
    material = fit(trace, most)
    names = [
        material.traces["trace"].name(row) for row in range(len(material.traces["trace"].slices))
    ]
    assert names[-1] == "Broken"
    stayed = [int(name.removeprefix("Pass")) for name in names[:-1]]
    # The longest ones, and about as many as there is room for.
    assert stayed == list(range(PASSES - len(stayed) + 1, PASSES + 1))
    assert 0.6 * share * PASSES < len(stayed) < share * PASSES
    assert f"passes shorter than {stayed[0] / 1000:.3f} ms" in material.left_out[-1]
    hidden = material.traces["trace"].metadata["hidden"]
    assert isinstance(hidden, dict) and hidden["count"] == PASSES - len(stayed)


def test_what_can_not_be_made_small_enough_is_refused() -> None:
    with pytest.raises(UserError, match=r"even without IR and short passes, but only 0\.0 MB"):
        fit(compiled(), 100)


def test_both_sides_of_a_comparison_get_smaller() -> None:
    both = {"base": compiled(1000), "new": compiled(1000)}

    def pack_both(material: Material) -> bytes:
        return b"".join(b"".join(files.JSON.write(t)) for t in material.traces.values())

    material, _ = fitted(Material(both), pack_both, 200_000)
    base, new = (len(trace.slices) for trace in material.traces.values())
    assert 10 < base == new < PASSES
