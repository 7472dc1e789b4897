"""Where the time went: `summarize` and `tree` against values that were found by hand."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.traces import main_thread, one_lane
from tilelang_trace.analysis.summary import PassTotals, Summary, summarize
from tilelang_trace.analysis.tree import LONGEST, Hidden, tree
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Lane, Trace
from tilelang_trace.trace.rules import CUT_OFF, OVERLAP


def by_name(summary: Summary) -> dict[str, PassTotals]:
    """The totals of each pass."""
    return {entry.name: entry for entry in summary.passes}


def times(summary: Summary) -> dict[str, tuple[int, int, int]]:
    """Count, self and inclusive time of each pass."""
    return {
        entry.name: (entry.count, entry.self_ns, entry.inclusive_ns) for entry in summary.passes
    }


def adds_up(summary: Summary) -> bool:
    """Whether self times and the time between passes make the total."""
    own = sum(entry.self_ns for entry in summary.passes)
    return own + summary.between_passes_ns == summary.total_ns


def slow_nested_pass() -> Trace:
    """`LayoutProof` has nearly all the time; the two pipelines around it look just as slow."""
    return one_lane(
        (0, 640, "lower", "pass"),
        (2, 12, "Parse", "pass"),
        (12, 620, "prove", "pass"),
        (13, 15, "Simplify", "pass"),
        (15, 616, "LayoutProof", "pass"),
        (616, 618, "Simplify", "pass"),
        (620, 636, "Codegen", "pass"),
    )


def test_the_pass_with_the_most_self_time_comes_first() -> None:
    summary = summarize(slow_nested_pass())

    assert [entry.name for entry in summary.passes] == [
        "LayoutProof",
        "Codegen",
        "Parse",
        "lower",
        "Simplify",
        "prove",
    ]
    assert times(summary) == {
        "LayoutProof": (1, 601, 601),
        "Codegen": (1, 16, 16),
        "Parse": (1, 10, 10),
        "lower": (1, 6, 640),
        "Simplify": (2, 4, 4),
        "prove": (1, 3, 608),
    }
    assert (summary.total_ns, summary.wall_ns, summary.between_passes_ns) == (640, 640, 0)
    assert summary.runs == 7
    assert by_name(summary)["LayoutProof"].share == 601 / 640
    assert by_name(summary)["prove"].inclusive_share == 608 / 640


def test_a_pipeline_inside_a_pipeline_of_the_same_name_is_not_added_twice() -> None:
    # 57 runs: an outer `sequential` of 8 times (InferType, Legalize (InferType, sequential of 3)).
    slices = [(0, 10_000, "sequential", "pass")]
    for step in range(8):
        at = 1_000 * step
        slices += [
            (at + 1, at + 101, "InferType", "pass"),
            (at + 110, at + 610, "Legalize", "pass"),
            (at + 120, at + 220, "InferType", "pass"),
            (at + 230, at + 600, "sequential", "pass"),
            *((at + 240 + 110 * k, at + 340 + 110 * k, "InferType", "pass") for k in range(3)),
        ]
    summary = summarize(one_lane(*slices))

    assert times(summary) == {
        "InferType": (40, 4_000, 4_000),
        "sequential": (9, 10_000 - 8 * 600 + 8 * 70, 10_000),
        "Legalize": (8, 8 * 30, 8 * 500),
    }
    assert adds_up(summary)
    assert all(0 <= e.share <= e.inclusive_share <= 1 for e in summary.passes)
    assert sum(e.share for e in summary.passes) == pytest.approx(1)


def test_runs_of_a_name_below_each_other_count_once_also_through_other_names() -> None:
    summary = summarize(
        one_lane(
            (0, 100, "A", "pass"),
            (10, 90, "B", "pass"),
            (20, 80, "A", "pass"),
            (30, 70, "A", "pass"),
            (200, 250, "A", "pass"),
            (250, 260, "A", "pass"),
        )
    )

    assert times(summary) == {"A": (5, 20 + 20 + 40 + 50 + 10, 160), "B": (1, 20, 80)}
    assert adds_up(summary)


def test_other_kinds_inside_a_pass_are_its_own_time_and_outside_of_passes_are_between() -> None:
    summary = summarize(
        one_lane(
            (0, 1_000, "main", "compile"),
            (10, 610, "PassContext", "context"),
            (20, 520, "lower", "phase"),
            (30, 330, "Tune", "pass"),
            (50, 250, "PassContext", "context"),
            (60, 160, "Simplify", "pass"),
            (170, 240, "llvm", "codegen"),
            (180, 200, "Finish", "pass"),
            (400, 500, "Simplify", "pass"),
            (700, 900, "cuda", "codegen"),
            (750, 850, "nvcc", "tool"),
        )
    )

    # Tune: 300 less the passes nearest below it, through the context and the code generator.
    assert times(summary) == {
        "Simplify": (2, 200, 200),
        "Tune": (1, 300 - 100 - 20, 300),
        "Finish": (1, 20, 20),
    }
    assert summary.between_by_kind == {
        "compile": 1_000 - 600 - 200,
        "context": 600 - 500,
        "phase": 500 - 300 - 100,
        "codegen": 100,
        "tool": 100,
    }
    assert summary.between_passes_ns == 600
    assert adds_up(summary)


def test_the_total_adds_the_threads_up_and_wall_time_does_not() -> None:
    builder = TraceBuilder()
    first = main_thread(builder)
    second = builder.lane(Lane(builder.thread(0, "worker")))
    overlap = builder.lane(Lane(1, name="lane 2"))
    builder.slice(first, 1_000, 1_100, "A", "pass")
    builder.slice(first, 1_200, 1_250, "A", "pass")
    builder.slice(second, 1_050, 1_350, "A", "pass")
    builder.slice(overlap, 1_060, 1_070, "B", "pass")
    summary = summarize(builder.build())

    assert (summary.total_ns, summary.wall_ns) == (100 + 50 + 300 + 10, 350)
    assert times(summary) == {"A": (3, 450, 450), "B": (1, 10, 10)}


def test_slices_of_no_thread_are_in_no_number_but_counted_apart() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    row = builder.lane(Lane(process=0, name="downloads"))
    builder.slice(lane, 0, 10, "A", "pass")
    builder.slice(row, 0, 500, "A", "pass")
    builder.slice(row, 600, 700, "waiting", "")
    summary = summarize(builder.build())

    assert (summary.total_ns, summary.wall_ns, summary.off_threads) == (10, 10, 2)
    assert times(summary) == {"A": (1, 10, 10)}


def test_times_above_what_a_double_holds_stay_exact() -> None:
    long = 2**60 + 1
    summary = summarize(
        one_lane(
            (0, long, "A", "pass"), (long, 2 * long, "A", "pass"), (long + 1, long + 4, "B", "pass")
        )
    )

    assert times(summary) == {"A": (2, 2 * long - 3, 2 * long), "B": (1, 3, 3)}
    assert summary.total_ns == 2 * long


def test_runs_below_each_other_are_told_apart_at_the_ends_of_time_too() -> None:
    early, late = -(2**62), 2**62
    nested = one_lane(
        (early, 0, "A", "pass"),
        (early, early + 10, "A", "pass"),
        (5, late, "B", "pass"),
        (6, late, "A", "pass"),
    )
    inclusive = {entry.name: entry.inclusive_ns for entry in summarize(nested).passes}
    assert inclusive == {"A": 2**62 + 2**62 - 6, "B": 2**62 - 5}


def test_without_any_pass_the_slices_of_other_tools_take_their_place() -> None:
    summary = summarize(
        one_lane((0, 100, "gemm", "kernel"), (10, 30, "copy", ""), (200, 240, "gemm", "x"))
    )

    assert summary.of_all_categories
    assert times(summary) == {"gemm": (2, 120, 140), "copy": (1, 20, 20)}
    assert adds_up(summary)


def test_beside_passes_the_slices_of_other_tools_are_no_passes() -> None:
    summary = summarize(
        one_lane((0, 100, "script", "python"), (10, 40, "A", "pass"), (20, 30, "call", "python"))
    )

    assert not summary.of_all_categories
    assert times(summary) == {"A": (1, 30, 30)}
    assert summary.between_by_kind == {"other": 70}


def test_a_compile_without_passes_has_all_its_time_between_passes() -> None:
    summary = summarize(one_lane((5, 105, "main", "compile"), (10, 60, "PassContext", "context")))

    assert summary.passes == () and not summary.of_all_categories
    assert summary.between_by_kind == {"compile": 50, "context": 50}
    assert summary.total_ns == summary.between_passes_ns == 100


def test_an_empty_trace_has_an_empty_summary() -> None:
    trace = TraceBuilder().build()
    summary = summarize(trace)

    assert (summary.total_ns, summary.wall_ns, summary.between_passes_ns) == (0, 0, 0)
    assert (summary.passes, summary.slowest, summary.failures) == ((), (), ())
    assert summary.recording.complete
    assert tree(trace).lines == ()


def test_the_slowest_runs_are_single_runs_by_self_or_by_inclusive_time() -> None:
    trace = slow_nested_pass()

    by_self = summarize(trace, slowest=3).slowest
    by_inclusive = summarize(trace, slowest=3, slowest_by="inclusive").slowest

    assert [(r.name, r.self_ns) for r in by_self] == [
        ("LayoutProof", 601),
        ("Codegen", 16),
        ("Parse", 10),
    ]
    assert [r.name for r in by_inclusive] == ["lower", "prove", "LayoutProof"]
    assert (by_self[0].start_ns, by_self[0].inclusive_ns, by_self[0].thread) == (
        15,
        601,
        "mlp.py / MainThread",
    )


ERROR = {"type": "ValueError", "cause": "exception", "message": "no schedule"}


def failing() -> Trace:
    incomplete = {"status": "incomplete", "error": ERROR}
    detail = "no schedule\n  for block C"
    return one_lane(
        (0, 100, "main", "compile", {**incomplete, "kernel": "gemm +2 more"}),
        (1, 100, "PassContext", "context", incomplete),
        (2, 100, "lower", "phase", incomplete),
        (3, 100, "sequential", "pass", incomplete),
        (10, 40, "Tune", "pass", {"status": "failed", "error": {**ERROR, "message": "first"}}),
        (50, 100, "Tune", "pass", {"status": "failed", "error": {**ERROR, "detail": detail}}),
        (60, 70, "Simplify", "pass", {"status": "ok"}),
    )


def test_a_failure_says_where_it_happened_and_why() -> None:
    summary = summarize(failing())

    first, last = summary.failures
    assert (first.message, last.message) == ("first", "no schedule")
    assert (last.name, last.path) == ("Tune", ("lower", "sequential"))
    assert (last.type, last.cause) == ("ValueError", "exception")
    assert last.detail == "no schedule\n  for block C"
    assert (last.phase, last.kernel, last.inclusive_ns) == ("lower", "gemm +2 more", 50)
    assert (summary.failed, summary.incomplete, summary.open) == (2, 4, 0)
    totals = by_name(summary)
    assert (totals["Tune"].failed, totals["Tune"].incomplete) == (2, 0)
    assert (totals["sequential"].failed, totals["sequential"].incomplete) == (0, 1)
    assert summary.recording.complete


def test_the_phase_and_kernel_of_a_run_come_from_nearby_or_from_the_metadata() -> None:
    builder = TraceBuilder()
    lane = main_thread(builder)
    builder.metadata = {"kernel": "of the file"}
    builder.slice(lane, 0, 90, "A", "pass", {"phase": "prepare", "status": "ok"})
    builder.slice(lane, 10, 50, "B", "pass", {"status": "ok"})
    runs = {run.name: run for run in summarize(builder.build()).slowest}

    assert (runs["A"].phase, runs["A"].kernel) == ("prepare", "of the file")
    assert runs["B"].phase == "prepare"


@pytest.mark.parametrize(
    ("recording", "reasons"),
    [
        ({"complete": True, "reason": "", "dropped": 0}, ()),
        ({"complete": False, "reason": "killed by SIGKILL", "dropped": 0}, ("killed by SIGKILL",)),
        ({"complete": False}, ("the recording was not finished",)),
        ({"complete": True, "dropped": 12}, ("events dropped: 12",)),
        ("another tool's", ()),
        (None, ()),
    ],
)
def test_the_metadata_says_whether_the_recording_is_whole(
    recording: object, reasons: tuple[str, ...]
) -> None:
    builder = TraceBuilder()
    builder.metadata = {"recording": recording}
    whole = summarize(builder.build()).recording

    assert (whole.complete, whole.reasons) == (not reasons, reasons)


def test_open_slices_make_a_recording_incomplete_and_the_innermost_are_running() -> None:
    summary = summarize(
        one_lane(
            (0, 100, "PassContext", "context", {"status": "open"}),
            (1, 100, "Tune", "pass", {"status": "open"}),
            (5, 50, "Measure", "pass", {"status": "ok"}),
            (60, 100, "Measure", "pass", {"status": "open"}),
        )
    )

    assert not summary.recording.complete
    assert [(run.name, run.inclusive_ns) for run in summary.running] == [("Measure", 40)]
    assert (summary.open, by_name(summary)["Measure"].open) == (3, 1)


def test_a_file_that_was_cut_off_is_incomplete_and_one_that_was_mended_is_not() -> None:
    for rule, complete in ((CUT_OFF, False), (OVERLAP, True)):
        builder = TraceBuilder()
        builder.finding("byte 12", rule, "what was done")
        summary = summarize(builder.build())

        assert summary.recording.complete == complete
        assert [finding.rule for finding in summary.findings] == [rule.name]


def test_passes_that_were_left_out_when_recording_are_told() -> None:
    summary = summarize(
        one_lane(
            (0, 100, "A", "pass", {"hidden": {"count": 3, "ns": 40}}),
            (100, 200, "B", "pass", {"hidden": {"count": 1, "ns": 2}}),
            (200, 300, "C", "pass", {"hidden": "something else"}),
        )
    )

    assert (summary.hidden, summary.hidden_ns) == (4, 42)
    assert by_name(summary)["A"].self_ns == 100


# ------------------------------------------------------------------- against a plain calculation


def random_trace(rng: random.Random) -> Trace:
    """Trees of up to some hundred slices of few names and all kinds, on two threads and a row."""
    builder = TraceBuilder()
    lanes = [main_thread(builder), builder.lane(Lane(builder.thread(0, "worker")))]
    lanes.append(builder.lane(Lane(process=0, name="a row of its own")))
    kinds = rng.choice(
        (["pass"], ["pass", "context", "codegen", "other"], ["context", "tool"], ["other", "phase"])
    )

    def fill(lane: int, begin: int, end: int, depth: int) -> None:
        while end - begin > 1 and rng.random() < 0.8:
            start = rng.randrange(begin, end)
            stop = rng.randrange(start + 1, end + 1)
            builder.slice(lane, start, stop, rng.choice("ABCD"), rng.choice(kinds))
            if depth < 12:
                fill(lane, start, stop, depth + 1)
            begin = stop

    for lane in lanes:
        fill(lane, 0, rng.choice((10, 1_000, 10**9)), 0)
    return builder.build()


def plain_summary(trace: Trace) -> tuple[int, int, dict[str, tuple[int, int, int]]]:
    """Total, time between passes and the passes' times, slice by slice from the definitions."""
    slices = trace.slices
    every = range(len(slices))
    rows = [r for r in every if trace.lanes[int(slices.lane[r])].thread is not None]
    if not rows and set(map(trace.category, every)) == {"other"}:
        rows = [*every]
    duration = {r: int(slices.end[r]) - int(slices.begin[r]) for r in rows}
    chain: dict[int, list[int]] = {}
    for row in rows:
        parent = int(slices.parent[row])
        chain[row] = [parent, *chain[parent]] if parent >= 0 else []
    wanted = "pass" if "pass" in map(trace.category, range(len(slices))) else "other"
    passes = [row for row in rows if trace.category(row) == wanted]
    own = {row: duration[row] for row in passes}
    total = sum(duration[row] for row in rows if not chain[row])
    between = total
    counts: dict[str, int] = defaultdict(int)
    inclusive: dict[str, int] = defaultdict(int)
    for row in passes:
        above = [other for other in chain[row] if other in own]
        if above:
            own[above[0]] -= duration[row]
        else:
            between -= duration[row]
        counts[trace.name(row)] += 1
        if trace.name(row) not in map(trace.name, above):
            inclusive[trace.name(row)] += duration[row]
    selves: dict[str, int] = defaultdict(int)
    for row, ns in own.items():
        selves[trace.name(row)] += ns
    return total, between, {name: (counts[name], selves[name], inclusive[name]) for name in counts}


def test_random_trees_add_up_and_agree_with_a_plain_calculation() -> None:
    rng = random.Random(2)
    sizes = 0
    for _ in range(400):
        trace = random_trace(rng)
        sizes += len(trace.slices)
        summary = summarize(trace)
        total, between, passes = plain_summary(trace)

        assert (summary.total_ns, summary.between_passes_ns) == (total, between)
        assert times(summary) == passes
        assert adds_up(summary)
        assert sum(summary.between_by_kind.values()) == between
        assert all(0 <= e.share <= 1 and e.inclusive_share <= 1 for e in summary.passes)
    assert sizes > 10_000


# ------------------------------------------------------------------------------------------ tree


def test_the_tree_has_a_line_a_slice_with_its_depth() -> None:
    lines = tree(slow_nested_pass()).lines

    assert [(line.depth, line.name, line.inclusive_ns) for line in lines] == [
        (0, "lower", 640),
        (1, "Parse", 10),
        (1, "prove", 608),
        (2, "Simplify", 2),
        (2, "LayoutProof", 601),
        (2, "Simplify", 2),
        (1, "Codegen", 16),
    ]
    assert {line.kind for line in lines} == {"pass"}


def test_the_tree_hides_short_slices_and_tells_how_many_and_how_long() -> None:
    trace = one_lane(
        (0, 100, "A", "pass"),
        (10, 60, "B", "pass"),
        (20, 29, "C", "pass"),
        (21, 25, "D", "pass"),
        (40, 45, "C", "pass"),
        (70, 79, "C", "pass"),
        (200, 203, "E", "pass"),
    )
    shown = tree(trace, 10)

    assert [(line.name, line.hidden) for line in shown.lines] == [
        ("A", Hidden(1, 9)),
        ("B", Hidden(3, 14)),
    ]
    assert shown.hidden == Hidden(5, 26)
    assert tree(trace, 9).hidden == Hidden(3, 12)
    assert len(tree(trace).lines) == 7


def test_a_large_tree_shows_its_longest_slices_unless_asked_for_all() -> None:
    slices = [(1_000 * k, 1_000 * k + 500 + k % 7, f"pass {k}", "pass") for k in range(LONGEST)]
    inner = [(begin + 1, end - 1, "inner", "pass") for begin, end, *_ in slices]
    trace = one_lane(*slices, *inner)

    shown = tree(trace)
    assert len(shown.lines) == LONGEST
    assert (shown.min_ns, shown.hidden.count) == (None, LONGEST)
    assert len(tree(trace, 0).lines) == 2 * LONGEST


def test_the_tree_goes_thread_by_thread() -> None:
    builder = TraceBuilder()
    first = main_thread(builder)
    second = builder.lane(Lane(builder.thread(0, "worker")))
    builder.slice(second, 0, 10, "A", "pass")
    builder.slice(first, 5, 10, "B", "pass")
    builder.slice(second, 10, 20, "C", "pass")

    assert [(line.name, line.thread) for line in tree(builder.build()).lines] == [
        ("B", "mlp.py / MainThread"),
        ("A", "mlp.py / worker"),
        ("C", "mlp.py / worker"),
    ]
