"""Selections: without short passes, only some kernels, one Trace a kernel; hand-computed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.traces import TRACES, Passes, main_thread, nested_compile, one_lane
from tilelang_trace.analysis.compiles import compiles
from tilelang_trace.analysis.selection.choose import OUTSIDE, kernel_names, no_match, select
from tilelang_trace.analysis.selection.kernels import only_kernels
from tilelang_trace.analysis.selection.leave_out import without_short
from tilelang_trace.analysis.selection.selection import Selection, selection
from tilelang_trace.analysis.selection.split import outside_kernels, split_kernels
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane, Trace
from tilelang_trace.trace.phases import with_phases

OK = {"status": "ok"}


def three_compiles() -> Trace:
    """Two kernels on the main thread with a pass between them, and the first one once more on a
    worker, at the same time.
    """
    builder = TraceBuilder()
    builder.metadata = {"tool": "test"}
    main = main_thread(builder)
    worker = builder.lane(Lane(builder.thread(0, "worker", 72)))

    builder.slice(main, 0, 1000, "compile gemm", "compile", {**OK, "kernel": "gemm"})
    builder.slice(main, 10, 900, "PassContext", "context", {**OK, "context": 0})
    outer = Passes(builder, main)
    outer(20, 100, "A")
    b = outer(100, 500, "B")
    outer(110, 120, "B1")
    outer(120, 400, "B2")
    outer(130, 135, "B21")
    outer(500, 530, "C")
    builder.slice(main, 501, 529, "PassContext", "context", {**OK, "context": 1})
    c1 = Passes(builder, main)(502, 510, "C1")
    builder.slice(main, 900, 990, "codegen", "codegen", OK)

    loose = Passes(builder, main)
    loose(1000, 1040, "Loose")
    loose(1001, 1011, "Loose1")

    builder.slice(main, 1100, 1500, "compile", "compile", {**OK, "kernel": "softmax +2 more"})
    builder.slice(main, 1100, 1400, "PassContext", "context", {**OK, "context": 2})
    Passes(builder, main)(1110, 1130, "D")

    builder.slice(worker, 50, 800, "compile gemm", "compile", {**OK, "kernel": "gemm"})
    again = Passes(builder, worker)
    a = again(60, 70, "A")
    e = again(100, 700, "E")

    builder.flows = [(b, e), (b, c1), (a, e)]
    builder.counter_tracks = [
        CounterTrack("lines", thread=0),
        CounterTrack("lines", thread=1),
        CounterTrack("memory", process=0),
    ]
    for track, time in ((0, 50), (0, 1200), (1, 60), (2, 40), (2, 1300)):
        builder.counter(track, time, time / 2)
    for time in (5, 1050, 1150):
        builder.instant(main, time, f"at {time}", "note", {"time": time})
    return builder.build()


def tree(trace: Trace) -> list[tuple[int, str, Any]]:
    """(level, name, hidden) of every slice; hidden is (count, ns)."""
    levels: list[int] = []
    found = []
    for row, parent in enumerate(trace.slices.parent.tolist()):
        levels.append(levels[parent] + 1 if parent >= 0 else 0)
        hidden = trace.arguments.of(row).get("hidden")
        found.append((levels[row], trace.name(row), hidden and (hidden["count"], hidden["ns"])))
    return found


def arrows(trace: Trace) -> list[tuple[str, str]]:
    return [(trace.name(a), trace.name(b)) for a, b in trace.flows.tolist()]


def check(trace: Trace, path: Path) -> None:
    """The Trace has no findings, and goes through a file as it is."""
    assert not trace.findings
    files.write(trace, path / "x.pftrace")
    assert files.read(path / "x.pftrace") == trace
    summary = summarize(trace)
    own = sum(entry.self_ns for entry in summary.passes)
    assert own + summary.between_passes_ns == summary.total_ns


# ------------------------------------------------------------------------------------ short passes


def test_short_passes_go_and_what_encloses_them_says_so(tmp_path: Path) -> None:
    trace = without_short(three_compiles(), 40)

    assert tree(trace) == [
        (0, "compile gemm", None),
        (1, "PassContext", (2, 30)),  # C, and C1 in it, whose time is in that of C
        (2, "A", None),
        (2, "B", (1, 10)),
        (3, "B2", (1, 5)),
        (1, "codegen", None),
        (0, "Loose", (1, 10)),
        (0, "compile", None),
        (1, "PassContext", (1, 20)),
        (0, "compile gemm", (1, 10)),
        (1, "E", None),
    ]
    assert "hidden" not in trace.metadata
    check(trace, tmp_path)


def test_numbers_and_times_of_what_stays_are_as_recorded() -> None:
    whole = three_compiles()
    kept = without_short(whole, 40)

    before = {whole.name(row): whole.arguments.of(row) for row in range(9)}
    b2 = next(row for row in range(len(kept.slices)) if kept.name(row) == "B2")
    arguments = kept.arguments.of(b2)
    assert arguments.pop("hidden") == {"count": 1, "ns": 5}
    assert arguments == before["B2"]
    assert (int(kept.slices.begin[b2]), int(kept.slices.end[b2])) == (120, 400)


def test_passes_that_nothing_encloses_are_told_in_the_metadata(tmp_path: Path) -> None:
    trace = without_short(three_compiles(), 41)

    assert trace.metadata["hidden"] == {"count": 2, "ns": 40}
    assert "Loose" not in [name for _, name, _ in tree(trace)]
    summary = summarize(trace)
    assert (summary.hidden, summary.hidden_ns, summary.hidden_outside_ns) == (8, 115, 40)
    assert summary.total_ns == summarize(three_compiles()).total_ns - 40
    assert summary.runs + summary.hidden == summarize(three_compiles()).runs
    check(trace, tmp_path)


def test_leaving_out_twice_is_leaving_out_once() -> None:
    whole = three_compiles()
    for first, last in ((9, 40), (40, 41), (9, 500), (500, 500)):
        assert without_short(without_short(whole, first), last) == without_short(whole, last)


def test_a_limit_that_nothing_falls_below_changes_nothing() -> None:
    whole = three_compiles()
    assert without_short(whole, 0) == whole
    assert without_short(whole, 5) == whole


def test_what_was_hidden_before_is_added() -> None:
    trace = one_lane(
        (0, 100, "A", "pass", {**OK, "hidden": {"count": 7, "ns": 20}}),
        (30, 39, "B", "pass", {**OK, "hidden": {"count": 3, "ns": 4}}),
        (40, 45, "C", "pass", OK),
    )

    assert tree(without_short(trace, 10)) == [(0, "A", (7 + 1 + 3 + 1, 20 + 9 + 5))]

    at_the_top = one_lane((0, 5, "A", "pass", OK), (5, 25, "B", "pass", OK), (30, 99, "C", "pass"))
    twice = without_short(without_short(at_the_top, 10), 40)
    assert twice.metadata["hidden"] == {"count": 2, "ns": 25}


@pytest.mark.parametrize("status", ["failed", "incomplete", "open"])
def test_what_did_not_end_well_stays_with_all_around_it(status: str, tmp_path: Path) -> None:
    trace = one_lane(
        (0, 9, "outer", "pass", OK),
        (1, 8, "caught", "pass", OK),
        (2, 4, "bad", "pass", {"status": status}),
        (2, 3, "in bad", "pass", OK),
        (5, 6, "fine", "pass", OK),
    )

    kept = without_short(trace, 1000)
    assert tree(kept) == [(0, "outer", None), (1, "caught", (1, 1)), (2, "bad", (1, 1))]
    check(kept, tmp_path)


def test_slices_of_other_kinds_stay_however_short() -> None:
    trace = with_phases(
        one_lane(
            (0, 9, "PassContext", "context", OK),
            (0, 4, "A", "pass", {**OK, "phase": "lower"}),
            (4, 6, "B", "pass", {**OK, "phase": "lower"}),
            (7, 8, "nvcc", "tool", OK),
        )
    )

    kept = without_short(trace, 1000)
    assert tree(kept) == [(0, "PassContext", None), (1, "lower", (2, 6)), (1, "nvcc", None)]
    assert with_phases(kept) == kept


def test_flows_go_with_their_ends_and_the_others_stay() -> None:
    kept = without_short(three_compiles(), 40)

    assert arrows(kept) == [("B", "E")]
    assert len(kept.instants) == 3
    assert len(kept.counters) == 5


def test_a_trace_of_another_tool_loses_its_short_slices() -> None:
    trace = one_lane(
        (0, 100, "main", "python", {"hidden": "its own"}),
        (1, 5, "f", "python", {"status": "failed"}),
        (6, 90, "g", "python"),
    )

    assert tree(without_short(trace, 10)) == [(0, "main", (1, 4)), (1, "g", None)]


def random_trace(rng: random.Random) -> Trace:
    builder = TraceBuilder()
    lanes = [main_thread(builder), builder.lane(Lane(builder.thread(0, "worker")))]

    def fill(lane: int, begin: int, end: int, depth: int) -> None:
        while begin < end - 1 and depth < 6 and rng.random() < 0.8:
            stop = rng.randint(begin + 1, end)
            kind = rng.choice(["pass", "pass", "pass", "context", "compile", "tool", "phase"])
            arguments: dict[str, Any] = {"status": "failed" if rng.random() < 0.03 else "ok"}
            if kind in ("context", "compile") and rng.random() < 0.7:
                arguments["kernel"] = rng.choice(["gemm", "softmax", "gemm +1 more"])
            builder.slice(lane, begin, stop, rng.choice("ABC"), kind, arguments)
            fill(lane, begin, stop, depth + 1)
            begin = stop + rng.randint(0, 3)

    for lane in lanes:
        fill(lane, 0, 200, 0)
    return builder.build()


def test_nothing_is_lost_in_random_traces(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(150):
        whole = random_trace(rng)
        passes = summarize(whole).runs
        kept = without_short(whole, rng.randint(1, 60))
        summary = summarize(kept)
        assert summary.runs + summary.hidden == passes
        assert summary.total_ns + summary.hidden_outside_ns == summarize(whole).total_ns
        assert summary.failed == summarize(whole).failed

        some = summarize(only_kernels(whole, "gemm"))
        assert some.runs + some.hidden == passes

        parts = [part for _, part in split_kernels(whole)]
        rest = outside_kernels(whole)
        inside = sum(summarize(part).runs for part in parts)
        assert inside + (summarize(rest).runs if rest else 0) == passes
        for part in [kept, *parts, *([rest] if rest else [])][:4]:
            check(part, tmp_path)


@pytest.mark.parametrize("name", TRACES)
def test_selections_of_every_trace_are_whole(name: str, tmp_path: Path) -> None:
    whole = TRACES[name]()
    for selected in (
        without_short(whole, 5000),
        only_kernels(whole, "*"),
        *(part for _, part in split_kernels(whole)),
    ):
        assert not selected.findings
        files.write(selected, tmp_path / "x.pftrace")
        assert len(files.read(tmp_path / "x.pftrace").slices) == len(selected.slices)


# ---------------------------------------------------------------------------------------- kernels


def test_only_the_kernels_that_match_stay(tmp_path: Path) -> None:
    trace = only_kernels(three_compiles(), "soft*")

    assert tree(trace) == [(0, "compile", None), (1, "PassContext", None), (2, "D", None)]
    assert trace.metadata["hidden"] == {"count": 11, "ns": 80 + 400 + 30 + 40 + 10 + 600}
    assert len(trace.instants) == 3
    assert len(trace.threads) == 2
    check(trace, tmp_path)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["gemm"], 2),
        (["softmax"], 1),
        (["softmax +2 more"], 1),
        (["g*", "s*"], 3),
        (["GEMM"], 0),
        (["gem"], 0),
        (["?emm"], 2),
    ],
)
def test_patterns_are_those_of_the_shell(patterns: list[str], found: int) -> None:
    trace = only_kernels(three_compiles(), *patterns)
    assert sum(trace.is_kind("compile").tolist()) == found


def nested_contexts() -> Trace:
    """Plain TVM: a context in which a pass tunes two candidates, each in a context of its own."""
    return one_lane(
        (0, 1000, "outside", "pass", OK),
        (10, 900, "PassContext", "context", {**OK, "kernel": "matmul"}),
        (20, 800, "Tune", "pass", OK),
        (30, 300, "PassContext", "context", {**OK, "kernel": "tile_8"}),
        (40, 200, "Lower", "pass", OK),
        (300, 700, "PassContext", "context", {**OK, "kernel": "tile_16"}),
        (310, 600, "Lower", "pass", OK),
        (910, 920, "PassContext", "context", OK),
        (911, 912, "Init", "pass", OK),
    )


def test_what_encloses_a_kernel_stays_and_says_what_is_missing() -> None:
    assert tree(only_kernels(nested_contexts(), "tile_16")) == [
        (0, "outside", (1, 1)),
        (1, "PassContext", None),
        (2, "Tune", (1, 160)),
        (3, "PassContext", None),
        (4, "Lower", None),
    ]


def test_contexts_without_any_label_are_compiles_named_after_their_first_pass() -> None:
    trace = one_lane(
        (0, 100, "PassContext", "context", OK),
        (10, 90, "lower", "pass", OK),
        (20, 30, "PassContext", "context", OK),
        (22, 28, "inner", "pass", OK),
        (110, 120, "PassContext", "context", OK),
        (130, 190, "PassContext", "context", OK),
        (140, 150, "build", "pass", OK),
    )
    assert compiles(trace).tolist() == [0, 5]
    assert kernel_names(trace) == ["lower", "build"]


def test_a_context_in_a_compile_is_no_compile_of_its_own() -> None:
    trace = nested_contexts()
    assert [trace.arguments.of(row)["kernel"] for row in compiles(trace).tolist()] == ["matmul"]
    assert kernel_names(trace) == ["matmul", "tile_8", "tile_16"]


def test_compile_slices_come_before_contexts() -> None:
    trace = nested_compile()
    assert [trace.name(row) for row in compiles(trace).tolist()] == ["mlp"]


# ------------------------------------------------------------------------------------------ split


def test_each_compile_gets_a_trace_of_its_own(tmp_path: Path) -> None:
    parts = split_kernels(three_compiles())

    assert [name for name, _ in parts] == ["gemm", "gemm 2", "softmax +2 more"]
    first, again, softmax = (part for _, part in parts)
    assert [name for _, name, _ in tree(first)] == [
        *("compile gemm", "PassContext", "A", "B", "B1", "B2", "B21", "C", "PassContext", "C1"),
        "codegen",
    ]
    assert tree(again) == [(0, "compile gemm", None), (1, "A", None), (1, "E", None)]
    assert [thread.name for thread in again.threads] == ["worker"]
    assert again.lanes == (Lane(thread=0),)
    assert [process.name for process in again.processes] == ["mlp.py"]
    assert (int(again.slices.begin[0]), int(again.slices.end[0])) == (50, 800)
    assert again.metadata == {"tool": "test", "kernel": "gemm"}
    assert softmax.metadata["kernel"] == "softmax +2 more"
    assert arrows(first) == [("B", "C1")]
    assert arrows(again) == [("A", "E")]
    assert softmax.arguments.of(2) == {"sequence": 0, "depth": 0, "status": "ok"}
    for _, part in parts:
        check(part, tmp_path)


def test_a_part_has_the_counters_and_instants_of_its_thread_and_time() -> None:
    (_, first), (_, again), (_, softmax) = split_kernels(three_compiles())

    def values(trace: Trace) -> list[tuple[Any, ...]]:
        tracks = [trace.counter_tracks[i] for i in trace.counters.track.tolist()]
        return [
            (track.name, track.thread, track.process, time)
            for track, time in zip(tracks, trace.counters.time.tolist())
        ]

    assert values(first) == [("lines", 0, None, 50), ("memory", None, 0, 40)]
    assert values(again) == [("lines", 0, None, 60)]
    assert values(softmax) == [("lines", 0, None, 1200), ("memory", None, 0, 1300)]
    assert [part.instant_arguments.values("time") for part in (first, again, softmax)] == [
        {0: 5},
        {},
        {0: 1150},
    ]


def test_what_is_in_no_kernel_is_a_part_too() -> None:
    rest = outside_kernels(three_compiles())

    assert rest is not None
    assert tree(rest) == [(0, "Loose", None), (1, "Loose1", None)]
    assert outside_kernels(nested_compile()) is None


def test_names_of_parts_are_unique() -> None:
    kernels = ["a", "a", "a 2", "a", "a 2"]
    trace = one_lane(*((10 * k, 10 * k + 9, name, "compile", OK) for k, name in enumerate(kernels)))
    assert [name for name, _ in split_kernels(trace)] == ["a", "a 3", "a 2", "a 4", "a 2 2"]


# ------------------------------------------------------------------------------------- selections


def test_a_selection_does_all_of_it() -> None:
    selected = select(three_compiles(), Selection(only=("gemm",), min_ns=40, split="kernel"))

    assert selected.matched
    assert [part.kernel for part in selected.parts] == ["gemm", "gemm 2"]
    assert tree(selected.parts[1].trace) == [(0, "compile gemm", (1, 10)), (1, "E", None)]


LOOSE = {"count": 2, "ns": 40}


def test_short_passes_at_the_top_are_told_in_the_part_that_they_were_in() -> None:
    selected = select(three_compiles(), Selection(min_ns=41, split="kernel"))

    hidden = {part.kernel: part.trace.metadata.get("hidden") for part in selected.parts}
    assert hidden == {"gemm": None, "gemm 2": None, "softmax +2 more": None, OUTSIDE: LOOSE}


def test_patterns_that_match_nothing_leave_nothing_out() -> None:
    selected = select(three_compiles(), Selection(only=("gem",)))

    assert not selected.matched
    assert [part.trace for part in selected.parts] == [three_compiles()]
    assert no_match(["gem"], kernel_names(three_compiles())) == (
        "no kernel matches 'gem'; there is 'gemm', 'softmax +2 more'"
    )


def test_without_kernels_a_split_trace_is_one_part() -> None:
    trace = one_lane((0, 10, "A", "pass", OK))
    (part,) = select(trace, Selection(split="kernel")).parts
    assert (part.kernel, part.trace) == (None, trace)


@pytest.mark.parametrize(
    "given", [([""], 0.0, None), (None, -1.0, None), (None, float("nan"), None), (None, 0.0, "x")]
)
def test_selections_that_make_no_sense_are_the_users_mistake(given: Any) -> None:
    with pytest.raises(UserError):
        selection(*given)
