"""Both sides of a comparison and their differences in one Trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.comparisons import MS, compared, comparison
from tests.traces import (
    TRACES,
    counters,
    counters_of_threads,
    flows,
    instants,
    main_thread,
    overlapping,
    rows_of_their_own,
    said,
    same_pid,
)
from tests.two_sides import PASSES, base, compared_sides, new
from tilelang_trace.analysis.compare.comparison import (
    ComparedKernel,
)
from tilelang_trace.analysis.compare.differences import differences, milliseconds
from tilelang_trace.analysis.compare.timeline import Align, side_by_side
from tilelang_trace.formats import files
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.collect import ArgumentCollector, StringTable
from tilelang_trace.trace.model import Lane, Trace

ALIGNS = pytest.mark.parametrize("align", ["start", "passes"])
OTHER_WORK = ("codegen", "step", "tool")
DIFFERENCES = [
    ("Lower +20.0 ms (+50 %)", "difference,slower"),
    ("Simplify +20.0 ms (+200 %)", "difference,slower"),
    ("Inline added +5.00 ms", "difference,added"),
    ("Simplify -2.00 ms (-20 %)", "difference,faster"),
]


def rows_of(trace: Trace, thread: str) -> list[int]:
    """The slices of the threads whose name begins with this."""
    lanes = {
        number
        for number, lane in enumerate(trace.lanes)
        if lane.thread is not None and trace.threads[lane.thread].name.startswith(thread)
    }
    return [row for row, lane in enumerate(trace.slices.lane.tolist()) if lane in lanes]


def spans(trace: Trace, thread: str) -> list[tuple[str, float, float]]:
    """Name, begin and end in ms of the slices of these threads."""
    return [
        (trace.name(row), trace.slices.begin[row] / MS, trace.slices.end[row] / MS)
        for row in rows_of(trace, thread)
    ]


def nothing_compared(a: Trace, b: Trace, align: Align = "start") -> Trace:
    return side_by_side(comparison(), a, b, align=align)


# ------------------------------------------------------------------------------------ what is there


def test_base_comes_first_then_new_then_the_difference() -> None:
    trace = side_by_side(compared_sides(), base(), new())
    assert [process.name for process in trace.processes] == [
        "base: base.pftrace, new: new.pftrace, difference"
    ]
    assert [thread.name for thread in trace.threads] == [
        "base: MainThread",
        "new: MainThread",
        "difference ≥ 0.119 ms",
        "difference, only in base",
    ]
    assert [lane.thread for lane in trace.lanes] == [0, 1, 2, 3]


def test_both_sides_start_at_zero() -> None:
    trace = side_by_side(compared_sides(), base(), new())
    assert spans(trace, "base")[0] == ("PassContext", 0, 100)
    assert spans(trace, "base")[-1] == ("VMCodeGen", 59, 99)
    assert spans(trace, "new")[0] == ("PassContext", 0, 119)
    assert spans(trace, "new")[-1] == ("VMCodeGen", 77.5, 117.5)


def test_a_difference_lies_where_its_pass_lies_in_new_or_else_in_base() -> None:
    trace = side_by_side(compared_sides(), base(), new())
    assert spans(trace, "difference ≥") == [
        (DIFFERENCES[0][0], 0.5, 60.5),
        (DIFFERENCES[1][0], 2, 32),
        (DIFFERENCES[2][0], 32.5, 37.5),
        (DIFFERENCES[3][0], 69.5, 77.5),
    ]
    assert spans(trace, "difference, only in base") == [("FuseOps removed -10.0 ms", 13, 23)]
    shown = [(trace.name(row), trace.category(row)) for row in rows_of(trace, "difference ≥")]
    assert shown == DIFFERENCES
    (first, second, *_) = rows_of(trace, "difference ≥")
    assert trace.slices.parent[second] == first


def test_passes_of_both_sides_and_differences_bear_the_numbers() -> None:
    trace = side_by_side(compared_sides(), base(), new())
    expected = {
        "base_ns": 40 * MS,
        "base_status": "ok",
        "change": "matched",
        "delta_ns": 20 * MS,
        "new_ns": 60 * MS,
        "new_status": "ok",
        "self_delta_ns": 5 * MS,
        "verdict": "unknown",
    }
    for thread in ("base", "new"):
        context, lower, *_ = rows_of(trace, thread)
        assert "compare" not in trace.arguments.of(context)
        assert trace.arguments.of(lower)["compare"] == expected
    assert trace.arguments.of(rows_of(trace, "difference ≥")[0]) == {"compare": expected}
    (removed,) = rows_of(trace, "difference, only in base")
    assert trace.arguments.of(removed)["compare"] == {
        "base_ns": 10 * MS,
        "base_status": "ok",
        "change": "removed",
        "delta_ns": -10 * MS,
        "self_delta_ns": -10 * MS,
        "verdict": "unknown",
    }


def test_means_of_repeats_are_whole_nanoseconds() -> None:
    found = comparison(compared("Lower", base=(1, 2, 2), new=(4, 4, 6), rows=(1, 1)))
    trace = side_by_side(found, base(), new())
    assert trace.processes[0].name == (
        "base: base1.pftrace (first of 3 runs), new: new1.pftrace (first of 3 runs), difference"
    )
    numbers = trace.arguments.of(rows_of(trace, "base")[1])["compare"]
    assert (numbers["base_ns"], numbers["new_ns"], numbers["delta_ns"]) == (2, 5, 3)


@ALIGNS
def test_arrows_join_base_and_new_and_their_difference_forward_in_time(align: Align) -> None:
    trace = side_by_side(compared_sides(), base(), new(), align=align)
    in_base, in_new = rows_of(trace, "base"), rows_of(trace, "new")
    changed, removed = rows_of(trace, "difference ≥"), rows_of(trace, "difference, only in base")
    lower = (in_base[1], in_new[1])  # it begins earlier in new if only the start is aligned
    assert set(map(tuple, trace.flows.tolist())) == {
        lower if align == "passes" else lower[::-1],
        *((in_base[row], in_new[row]) for row in (2, 4, 5)),
        *zip((in_new[row] for row in (1, 2, 3, 4)), changed),
        (in_base[3], removed[0]),
    }
    begin = trace.slices.begin
    assert all((begin[a], a) < (begin[b], b) for a, b in trace.flows.tolist())


@ALIGNS
@pytest.mark.parametrize("name", [name for name in TRACES if name not in ("empty", "only_names")])
def test_all_that_a_side_has_is_there(name: str, align: Align) -> None:
    side, other = TRACES[name](), base()
    for trace, label, rows in (
        (nothing_compared(side, other, align), "base", range(len(side.slices))),
        (
            nothing_compared(other, side, align),
            "new",
            range(len(other.slices), len(other.slices) + len(side.slices)),
        ),
    ):
        before, after = said(side), said(trace)
        start = min(
            [slice_[2] for slice_ in before["slices"]]
            + [instant[2] for instant in before["instants"]]
            + [counter[1] for counter in before["counters"]]
        )
        kept = [after["slices"][row] for row in rows]
        assert [(s[:2], s[2:4]) for s in kept] == [
            (s[:2], (s[2] - start, s[3] - start)) for s in before["slices"]
        ]
        for row, (kept_slice, slice_) in enumerate(zip(kept, before["slices"]), rows.start):
            arguments = trace.arguments.of(row)
            if align == "passes":
                assert arguments.pop("recorded") == {
                    "begin_ns": slice_[2] - start,
                    "ns": slice_[3] - slice_[2],
                }
            assert "compare" not in arguments or slice_[1] in OTHER_WORK
            arguments.pop("compare", None)
            assert arguments == side.arguments.of(row - rows.start)
            parent = slice_[5]
            assert kept_slice[5] == (parent + rows.start if parent >= 0 else -1)
        flows_kept = [
            (a - rows.start, b - rows.start)
            for a, b in trace.flows.tolist()
            if a in rows and b in rows
        ]
        assert flows_kept == before["flows"]
        assert [(i[0], i[1], i[2], i[4]) for i in after["instants"]] == [
            (i[0], i[1], i[2] - start, i[4]) for i in before["instants"]
        ]
        assert [(time, value) for _, time, value in after["counters"]] == [
            (time - start, value) for _, time, value in before["counters"]
        ]
        of_side = [t for t in trace.threads if t.name.startswith(f"{label}: ")]
        without_thread = sum(lane.thread is None for lane in side.lanes)
        assert len(of_side) == len(side.threads) + without_thread


def threads(trace: Trace) -> list[str]:
    return [trace.threads[lane.thread or 0].name for lane in trace.lanes]


def test_processes_of_a_side_are_in_the_names_of_its_threads() -> None:
    assert threads(nothing_compared(same_pid(), base())) == [
        "base: baseline 71 / MainThread",
        "base: candidate 71 / MainThread",
        "new: MainThread",
        "difference ≥ 0.000001 ms",
    ]


def test_rows_without_a_thread_stay_with_their_side() -> None:
    assert threads(nothing_compared(rows_of_their_own(), overlapping()))[:6] == [
        "base: MainThread",
        "base: downloads",
        "base: the whole machine",
        "new: stream 7",
        "new: stream 7",
        "new: stream 7",
    ]


def test_counters_have_the_name_of_their_side_and_stand_with_a_thread() -> None:
    trace = nothing_compared(counters(), counters_of_threads())
    assert [(t.name, t.unit, t.thread, t.process) for t in trace.counter_tracks] == [
        ("base: first 71 / memory", "bytes", 0, None),
        ("base: second 72 / memory", "bytes", 1, None),
        ("base: first 71 / load", "", 0, None),
        ("new: IR lines", "", 2, None),
        ("new: IR lines", "", 3, None),
    ]
    of_track: dict[int, list[float]] = {}
    for track, _, value in said(trace)["counters"]:
        of_track.setdefault(track, []).append(float(value))
    assert of_track == {0: [1.5, 0], 1: [2e9, 7], 2: [-1], 3: [1, 3], 4: [20, 40]}


def test_metadata_of_both_sides_is_kept() -> None:
    about = side_by_side(compared_sides(), TRACES["nested_compile"](), base()).metadata[
        "comparison"
    ]
    assert about["base"]["metadata"] == dict(TRACES["nested_compile"]().metadata)
    assert about["base"]["processes"] == [{"name": "mlp.py", "pid": 71}]
    assert about["new"]["names"] == ["new.pftrace"]
    assert about["align"] == "start"


def test_a_comparison_of_comparisons_has_its_own_numbers() -> None:
    first = side_by_side(compared_sides(), base(), new(), align="passes")
    again = side_by_side(compared_sides(), first, new())
    context, lower, *_ = rows_of(again, "base")
    assert set(again.arguments.of(context)) == {"status", "context"}
    assert again.arguments.of(lower)["compare"]["delta_ns"] == 20 * MS


@pytest.mark.parametrize("ending", [".pftrace", ".json", ".json.gz"])
@ALIGNS
def test_it_is_written_and_read_back_as_it_is(tmp_path: Path, ending: str, align: Align) -> None:
    trace = side_by_side(compared_sides(), base(), new(), align=align)
    files.write(trace, tmp_path / f"both{ending}")
    assert files.read(tmp_path / f"both{ending}") == trace
    files.write(side_by_side(compared_sides(), base(), new(), align=align), tmp_path / "x.pftrace")
    files.write(trace, tmp_path / "y.pftrace")
    assert (tmp_path / "x.pftrace").read_bytes() == (tmp_path / "y.pftrace").read_bytes()


# --------------------------------------------------------------------------------- which are shown


def shown(*passes: Any, min_ns: int = 1 * MS) -> list[tuple[str, str]]:
    found = differences(comparison(*passes), base(), new(), min_ns)
    return [
        (difference.name, difference.category.removeprefix("difference,")) for difference in found
    ]


def test_changes_below_the_floor_are_left_out() -> None:
    small = compared("A", base=10 * MS, new=11 * MS - 1, rows=(1, 1))
    large = compared("B", base=10 * MS, new=11 * MS, rows=(1, 1))
    assert shown(small, large) == [("B +1.00 ms (+10 %)", "slower")]
    assert shown(small, large, min_ns=2 * MS) == []


def test_the_floor_is_a_thousandth_of_the_longer_compile_or_what_is_asked_for() -> None:
    sides = compared_sides(), base(), new()
    assert side_by_side(*sides).metadata["comparison"]["min_ns"] == 119_000
    trace = side_by_side(*sides, min_ns=3 * MS)
    assert [name for name, *_ in spans(trace, "difference ≥ 3.00 ms")] == [
        name for name, _ in DIFFERENCES[:3]
    ]


def test_without_a_difference_the_row_says_so() -> None:
    same = comparison(compared("Lower", base=40 * MS, new=40 * MS, rows=(1, 1)))
    for align in ("start", "passes"):
        trace = side_by_side(same, base(), base(), align=align)
        assert spans(trace, "difference") == [("no difference ≥ 0.0400 ms", 0, 100)]
        assert spans(trace, "base") == spans(trace, "new")


def test_a_verdict_decides_where_there_is_one() -> None:
    faster = compared("A", base=100 * MS, new=99 * MS, rows=(1, 1), verdict="faster")
    noise = compared("B", base=100 * MS, new=140 * MS, rows=(1, 1), verdict="same")
    assert shown(faster, noise, min_ns=5 * MS) == [("A -1.00 ms (-1 %)", "faster")]


def test_passes_around_what_changed_are_shown_though_their_own_work_did_not_change() -> None:
    around = compared(
        "Lower",
        base=20 * MS,
        new=20 * MS,
        inclusive=(40 * MS, 60 * MS),
        rows=(1, 1),
        verdict="same",
    )
    inner = compared("Lower", "Simplify", base=10 * MS, new=30 * MS, rows=(2, 2), verdict="slower")
    removed = compared("Lower", "FuseOps", base=10 * MS, rows=(3, 0))
    expected = ("Lower +20.0 ms (+50 %)", "slower")
    assert shown(around, inner)[0] == expected
    assert shown(around, removed)[0] == expected
    assert shown(around) == []


def test_a_pass_whose_own_work_went_another_way_says_both() -> None:
    entry = compared(
        "A", base=20 * MS, new=5 * MS, inclusive=(20 * MS, 30 * MS), rows=(1, 1), verdict="faster"
    )
    assert shown(entry) == [("A +10.0 ms (+50 %), self -15.0 ms", "faster")]


@pytest.mark.parametrize(
    ("entry", "name", "what"),
    [
        (
            compared("A", base=4 * MS, new=3 * MS, status=("ok", "failed")),
            "A failed in new",
            "failed",
        ),
        (
            compared("A", base=4 * MS, new=3 * MS, status=("failed", "incomplete")),
            "A failed in base, incomplete in new",
            "failed",
        ),
        (
            compared("A", base=4 * MS, new=4 * MS, status=("incomplete", "ok")),
            "A incomplete in base",
            "incomplete",
        ),
        (
            compared("A", new=3 * MS, status=("ok", "failed")),
            "A added, failed in new",
            "failed",
        ),
        (
            compared("A", base=3 * MS, change="not_reached"),
            "A not reached in new",
            "not_reached",
        ),
        (
            compared("A", new=3 * MS, change="not_reached"),
            "A not reached in base",
            "not_reached",
        ),
        (
            compared("A", base=3 * MS, new=3 * MS, base_name="Old"),
            "A renamed? was Old +0 ms (+0 %)",
            "renamed",
        ),
        (
            compared("A", base=3 * MS, new=6 * MS, change="moved"),
            "A moved +3.00 ms (+100 %)",
            "moved",
        ),
    ],
)
def test_the_text_says_what_became_of_a_pass(entry: Any, name: str, what: str) -> None:
    assert shown(entry) == [(name, what)]


def with_tools(make: Callable[[], Trace], *tools: tuple[float, float, str], **ctx: str) -> Trace:
    """A side with these slices (begin and end in ms, name) right in its context."""
    trace = make()
    strings = StringTable(trace.strings)
    start = int(trace.slices.begin[0])
    parts = Parts.of(trace)
    columns = ArgumentCollector(strings)
    if ctx:
        columns.add(0, ctx)
    kept = [c for c in parts.columns if c.name != "status"] if ctx else parts.columns
    times = np.array([[begin, end] for begin, end, _ in tools]) * MS + start
    return assemble(
        replace(
            parts,
            begin=np.append(parts.begin, times[:, 0].astype(np.int64)),
            end=np.append(parts.end, times[:, 1].astype(np.int64)),
            name=np.append(parts.name, [strings.id(name) for *_, name in tools]),
            category=np.append(parts.category, [strings.id("tool")] * len(tools)),
            lane=np.append(parts.lane, [0] * len(tools)),
            columns=[*kept, *columns.columns()],
            strings=strings.texts(),
        )
    )


def test_work_outside_of_passes_is_compared_like_passes() -> None:
    old = with_tools(base, (42, 44, "g++"), (44, 48, "nvcc"), (99, 99.5, "ld"))
    young = with_tools(new, (61, 63, "g++"), (63, 69, "nvcc"), (118, 118.5, "g++"))
    same = comparison(compared("Lower", base=40 * MS, new=40 * MS, rows=(1, 1)))
    trace = side_by_side(same, old, young, align="passes", min_ns=1 * MS)
    assert spans(trace, "difference ≥") == [
        ("nvcc +2.00 ms (+50 %)", 63.5, 69.5),
        ("g++ added +0.500 ms", 118.5, 119),
    ]
    assert spans(trace, "difference, only in base")[0][0] == "ld removed -0.500 ms"
    begins = [{s[0]: s[1] for s in reversed(spans(trace, side))} for side in ("base", "new")]
    assert begins[0]["g++"] == begins[1]["g++"] == 61.5
    assert begins[0]["nvcc"] == begins[1]["nvcc"] == 63.5
    # One arrow for each pass and each of the two pairs, and one to each difference.
    assert len(trace.flows) == 1 + 2 + 3


def test_work_that_a_failure_left_undone_was_not_reached() -> None:
    old = with_tools(base, (99, 99.5, "ld"))
    young = with_tools(new, (61, 63, "g++"), status="incomplete")
    found = comparison(compared("Lower", base=1, new=1, rows=(1, 1)))
    trace = side_by_side(found, old, young, min_ns=1 * MS)
    assert [name for name, *_ in spans(trace, "difference")] == [
        "g++ added +2.00 ms",
        "ld not reached in new",
    ]


def test_a_pass_that_failed_on_both_sides_is_no_difference() -> None:
    assert shown(compared("A", base=4, new=5, status=("failed", "failed"))) == []


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ms"),
        (1, "0.000001 ms"),
        (999, "0.000999 ms"),
        (1_240, "0.00124 ms"),
        (12_345_678, "12.3 ms"),
        (100 * MS, "100 ms"),
        (2_310 * MS, "2310 ms"),
        (-5 * MS, "-5.00 ms"),
    ],
)
def test_times_have_three_digits(ns: int, text: str) -> None:
    assert milliseconds(ns) == text


def test_a_pass_that_the_first_run_lacks_has_no_slice() -> None:
    entry = compared("Lower", base=(0, 5), new=(0, 9), rows=(1, 1))
    assert entry.base is not None and entry.new is not None
    gone = replace(entry, new=replace(entry.new, rows=(None, 1)))
    trace = side_by_side(comparison(gone), base(), new(), min_ns=1)
    assert [name for name, *_ in spans(trace, "difference")] == ["Lower +0.000002 ms (+80 %)"]
    assert len(trace.flows) == 1
    nowhere = replace(gone, base=replace(entry.base, rows=(None, 1)))
    trace = side_by_side(comparison(nowhere), base(), new(), min_ns=1)
    assert len(trace.flows) == 0


# ---------------------------------------------------------------------------------- passes aligned


def test_matched_slices_begin_together_and_the_faster_side_waits_before_them() -> None:
    trace = side_by_side(compared_sides(), base(), new(), align="passes")
    assert spans(trace, "base") == [
        ("PassContext", 0, 121),
        ("Lower", 1, 41.5),
        ("Simplify", 2.5, 12.5),
        ("FuseOps", 13.5, 23.5),
        ("Simplify", 70, 80),
        ("VMCodeGen", 80, 120),
    ]
    assert spans(trace, "new") == [
        ("PassContext", 0, 121.5),
        ("Lower", 1, 61),
        ("Simplify", 2.5, 32.5),
        ("Inline", 33, 38),
        ("Simplify", 70, 78),
        ("VMCodeGen", 80, 120),
    ]
    assert spans(trace, "difference ≥")[-1] == ("Simplify -2.00 ms (-20 %)", 70, 78)
    assert spans(trace, "difference, only in base")[0][1:] == (13.5, 23.5)
    (lower,) = [row for row in rows_of(trace, "base") if trace.name(row) == "Lower"]
    assert trace.arguments.of(lower)["recorded"] == {"begin_ns": 1 * MS, "ns": 40 * MS}


def test_kernels_begin_together_too() -> None:
    kernel = ComparedKernel("k", 4, 4, 1, 1, "ok", "ok")
    trace = side_by_side(replace(comparison(), kernels=(kernel,)), base(), new(), align="passes")
    assert spans(trace, "base")[4] == ("Simplify", 69.5, 79.5)
    assert spans(trace, "new")[4] == ("Simplify", 69.5, 77.5)


def test_what_comes_in_another_order_does_not_hold_up_the_rest() -> None:
    found = comparison(
        compared("Lower", base=1, new=1, rows=(1, 4)),  # as if it had moved to the end
        compared("FuseOps", base=1, new=1, rows=(3, 2)),
        compared("Simplify", base=1, new=1, rows=(4, 3)),
    )
    trace = side_by_side(found, base(), new(), align="passes")
    in_base, in_new = spans(trace, "base"), spans(trace, "new")
    assert in_base[3][1] == in_new[2][1]
    assert in_base[4][1] == in_new[3][1]
    assert in_base[1][1] != in_new[4][1]


def random_side(seed: int) -> Trace:
    """Slices of two threads that nest at random."""
    random = np.random.default_rng(seed)
    builder = TraceBuilder()
    lanes = [main_thread(builder), builder.lane(Lane(builder.thread(0, "worker")))]
    for lane in lanes:
        time = int(random.integers(0, 50))
        open_ends: list[int] = []
        for number in range(60):
            while open_ends and (open_ends[-1] <= time + 1 or random.random() < 0.4):
                time = max(time, open_ends.pop())
            end = time + int(random.integers(1, 300))
            end = min(end, open_ends[-1]) if open_ends else end
            builder.slice(lane, time, end, f"P{number}", "pass", {"status": "ok"})
            open_ends.append(end)
            time += int(random.integers(0, 2))
    return builder.build()


@pytest.mark.parametrize("seed", range(20))
def test_slices_only_get_longer_and_still_nest(seed: int) -> None:
    sides = random_side(seed), random_side(seed + 1_000)
    random = np.random.default_rng(seed)
    first, second = (sorted(random.choice(120, 50, replace=False).tolist()) for _ in range(2))
    found = comparison(
        *(compared("P", base=1, new=1, rows=rows) for rows in zip(first, second)),
    )
    trace = side_by_side(found, *sides, align="passes")
    assert trace.findings == ()
    begin, end = trace.slices.begin, trace.slices.end
    start = 0
    for side in sides:
        rows = slice(start, start + len(side.slices))
        assert np.all(end[rows] - begin[rows] >= side.slices.duration)
        parents = np.where(side.slices.parent >= 0, side.slices.parent + start, -1)
        assert trace.slices.parent[rows].tolist() == parents.tolist()
        # The order of all begins and ends stays, over both threads.
        order = np.argsort(side.slices.begin, kind="stable")
        assert np.all(np.diff(begin[rows][order]) >= np.diff(side.slices.begin[order]))
        start += len(side.slices)
    together = sum(begin[a] == begin[len(sides[0].slices) + b] for a, b in zip(first, second))
    assert together >= 5


def test_instants_and_counters_move_with_what_is_around_them() -> None:
    moved = comparison(compared("300.1", base=1, new=1, rows=(1, 2)))
    trace = side_by_side(moved, flows(), flows(), align="passes")
    assert spans(trace, "base")[1][1] == spans(trace, "new")[2][1]
    later = comparison(compared("Lower", base=1, new=1, rows=(0, 5)))
    both = side_by_side(later, instants(), base(), align="passes")
    (lower,) = rows_of(both, "base")
    inside = [int(time) for time in both.instants.time]
    assert inside[0] == 0  # the one before the slice
    assert inside[1] - int(both.slices.begin[lower]) == 50


def test_counts_of_slices() -> None:
    trace = side_by_side(compared_sides(), base(), new())
    assert len(trace.slices) == 2 * (PASSES + 1) + len(DIFFERENCES) + 1
