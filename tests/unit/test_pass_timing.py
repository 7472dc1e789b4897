"""Times of passes and the report of them, with a clock that the tests set by hand."""

from __future__ import annotations

import gc
import logging
import re
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from tilelang_trace import pass_timing
from tilelang_trace.pass_timing import (
    PassTimingRecord,
    TileLangPassTimingInstrument,
    build_pass_instruments,
    report_pass_timing_on_exit,
)

tvm = pytest.importorskip("tvm")
PassContext = tvm.transform.PassContext


class Clock:
    """Stands in for the module `time`: it goes on only by `pass_ms`."""

    def __init__(self) -> None:
        self.now_ns = 5_000_000_000

    def monotonic_ns(self) -> int:
        return self.now_ns

    def pass_ms(self, ms: int) -> None:
        self.now_ns += ms * 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pass_timing, "time", clock)
    return clock


@pytest.fixture
def timing() -> TileLangPassTimingInstrument:
    return TileLangPassTimingInstrument()


def make_pass(name: str, *steps: Any) -> Any:
    """A pass that does the steps: other passes, which it calls, or functions without arguments."""

    def run(mod: Any, ctx: Any) -> Any:
        for step in steps:
            if isinstance(step, tvm.transform.Pass):
                step(mod)
            else:
                step()
        return mod

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def sleeping(clock: Clock, name: str, ms: int) -> Any:
    return make_pass(name, lambda: clock.pass_ms(ms))


def fail() -> None:
    raise ValueError("tile 24 is not a multiple of 16\nsecond line")


def compile_with(timing: TileLangPassTimingInstrument, *passes: Any, mod: Any = None) -> None:
    with PassContext(instruments=[timing.instrument]):
        for each in passes:
            each(tvm.IRModule({}) if mod is None else mod)


def compile_nested(clock: Clock, timing: TileLangPassTimingInstrument) -> None:
    """Outer 60 ms, 15 of them its own; in it Left 5 ms and Right 40 ms, 10 of them its own."""
    innermost = sleeping(clock, "Innermost", 30)
    left = sleeping(clock, "Left", 5)
    right = make_pass("Right", lambda: clock.pass_ms(10), innermost)
    outer = make_pass("Outer", left, lambda: clock.pass_ms(15), right)
    compile_with(timing, outer, sleeping(clock, "Last", 2))


def times(records: list[PassTimingRecord]) -> list[tuple[str, int, int, int, int]]:
    """(name, sequence, depth, inclusive ms, self ms) of each record."""
    return [
        (r.name, r.sequence, r.depth, round(r.duration_s * 1e3), round(r.self_duration_s * 1e3))
        for r in records
    ]


def rows(report: str, heading: str) -> list[str]:
    """The lines of one table of a report, with single spaces, without its head."""
    table = report[report.index(heading) :].split("\n\n")[0]
    return [" ".join(line.split()) for line in table.splitlines()[2:]]


# Records


def test_record_needs_only_name_duration_and_depth() -> None:
    record = PassTimingRecord("Fold", 1.5, 2)

    assert (record.self_duration_s, record.sequence, record.kernel) == (0.0, 0, "")


def test_inclusive_and_self_times_in_the_order_in_which_passes_begin(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    compile_nested(clock, timing)

    assert times(timing.records) == [
        ("Outer", 0, 0, 60, 15),
        ("Left", 1, 1, 5, 5),
        ("Right", 2, 1, 40, 10),
        ("Innermost", 3, 2, 30, 30),
        ("Last", 4, 0, 2, 2),
    ]
    assert timing.records[3].duration_s == pytest.approx(0.03)
    assert timing.incomplete_records == []


def test_total_counts_outermost_passes_only(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    compile_nested(clock, timing)

    assert timing.total_duration_s == pytest.approx(0.062)


def test_next_context_starts_anew(clock: Clock, timing: TileLangPassTimingInstrument) -> None:
    compile_nested(clock, timing)
    compile_with(timing, sleeping(clock, "Fold", 7))

    assert times(timing.records) == [("Fold", 0, 0, 7, 7)]


def test_context_inside_a_pass_belongs_to_the_tree_around_it(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    inner = sleeping(clock, "Inner", 20)
    outer = make_pass("Outer", lambda: compile_with(timing, inner), lambda: clock.pass_ms(1))
    compile_with(timing, outer, sleeping(clock, "Last", 2))

    assert times(timing.records) == [
        ("Outer", 0, 0, 21, 1),
        ("Inner", 1, 1, 20, 20),
        ("Last", 2, 0, 2, 2),
    ]
    assert timing.total_duration_s == pytest.approx(0.023)


def test_each_thread_reads_its_own_times_and_others_read_the_last(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    in_step = threading.Barrier(2, timeout=10)
    seen: dict[str, list[str]] = {}

    def compile_kernel(name: str) -> None:
        inner = make_pass(f"{name}.inner", in_step.wait)
        compile_with(timing, make_pass(name, in_step.wait, inner, in_step.wait))
        seen[name] = [record.name for record in timing.records]

    threads = [threading.Thread(target=compile_kernel, args=(name,)) for name in ("A", "B")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == {"A": ["A", "A.inner"], "B": ["B", "B.inner"]}
    assert [record.name for record in timing.records] in seen.values()


def test_wrapper_is_freed_although_tvm_keeps_the_instrument() -> None:
    timing = TileLangPassTimingInstrument()
    compile_with(timing, make_pass("Fold"))
    freed = weakref.ref(timing)

    del timing
    gc.collect()

    assert freed() is None


# Kernels


def prim_func(symbol: str) -> Any:
    te = pytest.importorskip("tvm.te")
    a = te.placeholder((4,), name="a")
    function = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + a[i], name="b")])
    return function.with_attr("global_symbol", symbol)


def test_records_name_the_kernel_of_their_context(timing: TileLangPassTimingInstrument) -> None:
    mod = tvm.IRModule({"main": prim_func("my_kernel")})

    compile_with(timing, make_pass("Fold", make_pass("Inner")), mod=mod)

    assert [record.kernel for record in timing.records] == ["my_kernel", "my_kernel"]
    assert timing.report().startswith("Pass timing of my_kernel")


def test_kernel_label_is_taken_once_for_each_context(
    timing: TileLangPassTimingInstrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []

    def label(mod: Any) -> str:
        taken.append(mod)
        return f"kernel {len(taken)}"

    monkeypatch.setattr(pass_timing, "kernel_label", label)
    nested = make_pass("Outer", lambda: compile_with(timing, make_pass("A"), make_pass("B")))
    compile_with(timing, nested, make_pass("Last"))

    assert len(taken) == 2
    assert [record.kernel for record in timing.records] == [
        "kernel 1",
        "kernel 2",
        "kernel 2",
        "kernel 1",
    ]


# Passes that don't end


def test_failed_pass_is_incomplete_with_the_time_until_the_failure(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    boom = make_pass("Boom", lambda: clock.pass_ms(4), fail)
    outer = make_pass("Outer", sleeping(clock, "Fine", 3), lambda: clock.pass_ms(1), boom)

    with pytest.raises(ValueError, match="tile 24"):
        compile_with(timing, sleeping(clock, "First", 2), outer)

    assert times(timing.records) == [("First", 0, 0, 2, 2), ("Fine", 2, 1, 3, 3)]
    assert times(timing.incomplete_records) == [("Outer", 1, 0, 8, 1), ("Boom", 3, 1, 4, 4)]
    assert timing.total_duration_s == pytest.approx(0.002)


def test_report_shows_incomplete_passes_in_the_tree_and_why_they_did_not_end(
    clock: Clock,
) -> None:
    timing = TileLangPassTimingInstrument(threshold_ms=100.0)
    boom = make_pass("Boom", lambda: clock.pass_ms(4), fail)
    with pytest.raises(ValueError, match="tile 24"):
        compile_with(timing, sleeping(clock, "First", 2), make_pass("Outer", boom))

    report = timing.report()

    assert report.splitlines()[:2] == [
        "Pass timing: 3 passes in 6.000 ms, 2 incomplete",
        "Boom did not end: ValueError: tile 24 is not a multiple of 16",
    ]
    assert rows(report, "All passes") == [
        "0.000 4.000 1 Outer (incomplete)",
        "4.000 4.000 2 Boom (incomplete)",
    ]
    assert "1 pass under 100 ms not shown" in report


def test_failure_is_gone_from_the_report_of_the_next_context(
    timing: TileLangPassTimingInstrument,
) -> None:
    with pytest.raises(ValueError, match="tile 24"):
        compile_with(timing, make_pass("Boom", fail))
    compile_with(timing, make_pass("Fold"))

    assert "Boom" not in timing.report()
    assert timing.incomplete_records == []


def test_failure_inside_a_context_inside_a_pass_keeps_the_outer_passes_open(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    boom = make_pass("Boom", lambda: clock.pass_ms(4), fail)

    def attempt() -> None:
        with pytest.raises(ValueError, match="tile 24"):
            compile_with(timing, boom)

    compile_with(timing, make_pass("Tune", attempt, lambda: clock.pass_ms(1)))

    assert times(timing.records) == [("Tune", 0, 0, 5, 1)]
    assert times(timing.incomplete_records) == [("Boom", 1, 1, 4, 4)]


def test_interrupt_while_a_pass_begins_does_not_break_the_times_of_the_others(
    clock: Clock, timing: TileLangPassTimingInstrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> int:
        raise KeyboardInterrupt

    instrument = timing.instrument
    instrument.enter_pass_ctx()
    instrument.run_before_pass(None, SimpleNamespace(name="Outer"))
    clock.pass_ms(3)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "monotonic_ns", interrupt)
        with pytest.raises(KeyboardInterrupt):
            instrument.run_before_pass(None, SimpleNamespace(name="Interrupted"))
    instrument.exit_pass_ctx()

    assert times(timing.incomplete_records) == [("Outer", 0, 0, 3, 3)]


def test_exception_without_a_readable_text_does_not_break_the_report(
    timing: TileLangPassTimingInstrument,
) -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise ValueError

    timing.instrument.enter_pass_ctx()
    timing.instrument.run_before_pass(None, SimpleNamespace(name="Fold"))
    timing.instrument.abort(UnreadableError())
    timing.instrument.exit_pass_ctx()

    assert "Fold did not end: UnreadableError" in timing.report()


# The report


def test_report_has_the_slowest_by_self_time_and_the_whole_tree(
    clock: Clock, timing: TileLangPassTimingInstrument
) -> None:
    compile_nested(clock, timing)

    assert timing.report("target=llvm").splitlines() == [
        "Pass timing (target=llvm): 5 passes in 62.000 ms",
        "",
        "Slowest 5 by self time",
        "     self ms  inclusive ms  number  pass",
        "      30.000        30.000       3  Innermost",
        "      15.000        60.000       0  Outer",
        "      10.000        40.000       2  Right",
        "       5.000         5.000       1  Left",
        "       2.000         2.000       4  Last",
        "",
        "All passes, in the order in which they began",
        "     self ms  inclusive ms  number  pass",
        "      15.000        60.000       0  Outer",
        "       5.000         5.000       1    Left",
        "      10.000        40.000       2    Right",
        "      30.000        30.000       3      Innermost",
        "       2.000         2.000       4  Last",
    ]


def test_threshold_hides_passes_by_inclusive_time_and_says_how_many(clock: Clock) -> None:
    timing = TileLangPassTimingInstrument(threshold_ms=40.0)
    compile_nested(clock, timing)

    report = timing.report()

    # Right has a self time of 10 ms: that is not what counts. 40 ms is not under the threshold.
    assert re.findall(r"\b(Outer|Left|Right|Innermost|Last)\b", report) == ["Outer", "Right"] * 2
    assert report.splitlines()[-1] == "3 passes under 40 ms not shown"
    assert len(timing.records) == 5


def test_slowest_are_ten_at_most(clock: Clock, timing: TileLangPassTimingInstrument) -> None:
    compile_with(timing, *(sleeping(clock, f"Pass{ms}", ms) for ms in range(1, 13)))

    slowest = rows(timing.report(), "Slowest 10 by self time")

    assert [row.split()[-1] for row in slowest] == [f"Pass{ms}" for ms in range(12, 2, -1)]
    assert len(rows(timing.report(), "All passes")) == 12


def test_long_names_that_differ_only_at_the_end_stay_different(
    timing: TileLangPassTimingInstrument,
) -> None:
    names = [f"Lower_{'tile_' * 64}{end}" for end in ("a", "b")]
    compile_with(timing, *(make_pass(name) for name in names))

    listed = [row.split()[-1] for row in rows(timing.report(), "All passes")]

    assert listed == names


def test_report_without_any_pass_says_so(timing: TileLangPassTimingInstrument) -> None:
    assert timing.report("cached") == "Pass timing (cached): 0 passes"


def test_report_is_logged_as_one_message(
    timing: TileLangPassTimingInstrument, caplog: pytest.LogCaptureFixture
) -> None:
    compile_with(timing, make_pass("Fold"))

    with caplog.at_level(logging.INFO, logger="tilelang_trace.pass_timing"):
        timing.print_report("target=llvm")

    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tilelang_trace.pass_timing", "INFO")
    assert record.getMessage() == timing.report("target=llvm")


# Building instruments and reporting


def test_without_a_threshold_nothing_is_timed() -> None:
    base = [object(), object()]

    assert build_pass_instruments(tuple(base), None) == (base, None)


def test_timing_comes_first_so_that_the_others_are_not_counted(clock: Clock) -> None:
    @tvm.ir.instrument.pass_instrument
    class Dumping:
        def run_after_pass(self, mod: Any, info: Any) -> None:
            clock.pass_ms(50)

    instruments, timing = build_pass_instruments([Dumping()], 3.0)
    assert timing is not None
    assert instruments[0] is timing.instrument
    assert timing.threshold_ms == 3.0
    with PassContext(instruments=instruments):
        sleeping(clock, "Fold", 4)(tvm.IRModule({}))

    assert times(timing.records) == [("Fold", 0, 0, 4, 4)]


def test_report_on_exit_is_logged_on_success(
    timing: TileLangPassTimingInstrument, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, logger="tilelang_trace.pass_timing"),
        report_pass_timing_on_exit(timing, "target=llvm"),
    ):
        compile_with(timing, make_pass("Fold"))
        assert caplog.text == ""

    assert "Fold" in caplog.text
    assert "target=llvm" in caplog.text


def test_report_on_exit_is_logged_on_failure_and_the_exception_goes_on(
    timing: TileLangPassTimingInstrument, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, logger="tilelang_trace.pass_timing"),
        pytest.raises(ValueError, match="tile 24"),
        report_pass_timing_on_exit(timing, None),
    ):
        compile_with(timing, make_pass("Boom", fail))

    assert "Boom did not end: ValueError: tile 24" in caplog.text


def test_report_on_exit_without_timing_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, logger="tilelang_trace.pass_timing"),
        report_pass_timing_on_exit(None, "target=llvm"),
    ):
        pass

    assert caplog.records == []
