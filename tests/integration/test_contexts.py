"""PassContexts in all the ways that they are entered, left and changed, seen by `record` and by a
`TraceInstrument`: the timeline is right in each case. And the threads that passes run on.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.integration.timeline import tree
from tilelang_trace.trace.model import Trace

Make = Callable[..., Any]
Run = Callable[[Callable[[list[Any]], None]], Trace]


def numbering(trace: Trace) -> dict[str, tuple[Any, ...]]:
    """(sequence, depth, parent_sequence) of each pass, by name."""
    return {
        trace.name(row): tuple(
            trace.arguments.of(row).get(name) for name in ("sequence", "depth", "parent_sequence")
        )
        for row in range(len(trace.slices))
        if trace.category(row) == "pass"
    }


def test_one_context_entered_again_after_and_inside_itself(
    tvm: Any, make_pass: Make, module: Any, run: Run
) -> None:
    def body(instruments: list[Any]) -> None:
        context = tvm.transform.PassContext(instruments=instruments)

        def enter_again(mod: Any) -> None:
            with context:
                make_pass("inside")(mod)
            make_pass("behind")(mod)

        with context:
            make_pass("first time")(module)
        with context:
            make_pass("around", enter_again)(module)
            make_pass("last")(module)

    trace = run(body)
    assert tree(trace) == [
        "context 0",
        "  first time",
        "context 1",
        "  around",
        "    context 2",
        "      inside",
        "    behind",
        "  last",
    ]
    assert numbering(trace) == {
        "first time": (0, 0, None),
        "around": (0, 0, None),
        "inside": (0, 0, None),
        "behind": (1, 1, 0),
        "last": (2, 0, None),
    }


def test_contexts_in_each_other_without_a_pass_between(
    tvm: Any, make_pass: Make, module: Any, run: Run
) -> None:
    def body(instruments: list[Any]) -> None:
        with tvm.transform.PassContext(instruments=instruments):
            make_pass("before")(module)
            with tvm.transform.PassContext(instruments=instruments):
                make_pass("inner")(module)
            make_pass("after")(module)

    trace = run(body)
    assert tree(trace) == ["context 0", "  before", "  context 1", "    inner", "  after"]
    assert numbering(trace)["after"] == (1, 0, None)


def test_skipped_passes_leave_nothing(tvm: Any, make_pass: Make, module: Any, run: Run) -> None:
    @tvm.transform.module_pass(opt_level=3, name="too high")
    def too_high(mod: Any, context: Any) -> Any:
        raise AssertionError("it must not run")

    @tvm.ir.instrument.pass_instrument
    class Refuses:
        def should_run(self, mod: Any, info: Any) -> bool:
            return bool(info.name != "refused")

    def body(instruments: list[Any]) -> None:
        with tvm.transform.PassContext(
            opt_level=1, disabled_pass=["disabled"], instruments=[*instruments, Refuses()]
        ):
            skipped = [too_high, make_pass("refused"), make_pass("disabled")]
            tvm.transform.Sequential([make_pass("runs"), *skipped, make_pass("too")], name="all")(
                module
            )

    trace = run(body)
    assert tree(trace) == ["context 0", "  all", "    runs", "    too"]
    assert numbering(trace) == {"all": (0, 0, None), "runs": (1, 1, 0), "too": (2, 1, 0)}


def swapping(tvm: Any, make_pass: Make, instruments: list[Any]) -> Any:
    """A pipeline whose second pass replaces the instruments of the context."""

    def swap(mod: Any) -> None:
        tvm.transform.PassContext.current().override_instruments(instruments)

    passes = [make_pass("One"), make_pass("Swap", swap), make_pass("Three")]
    return tvm.transform.Sequential(passes, name="lower")


class TestInstrumentsReplacedInTheMiddle:
    """Case 14 of the public bug reports."""

    def test_a_recording_does_not_notice(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
            swapping(tvm, make_pass, [])(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert tree(trace) == ["context 0", "  lower", "    One", "    Swap", "    Three"]
        assert trace.metadata["recording"] == {"complete": True, "reason": ""}

    def test_an_instrument_that_is_taken_out_has_seen_no_failure(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        with tvm.transform.PassContext(instruments=[instrument]):
            swapping(tvm, make_pass, [])(module)
        with tvm.transform.PassContext(instruments=[instrument]):
            make_pass("later")(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert tree(trace) == [
            "context 0 incomplete",
            "  lower incomplete",
            "    One",
            "    Swap incomplete",
            "context 1",
            "  later",
        ]
        errors = trace.arguments.values("error")
        assert {error["cause"] for error in errors.values()} == {"detached"}

    def test_one_that_is_put_in_counts_what_had_begun(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        with tvm.transform.PassContext():
            swapping(tvm, make_pass, [instrument])(module)
            make_pass("Four")(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert tree(trace) == ["context 0", "  Three", "  Four"]
        assert trace.metadata["recording"] == {
            "complete": False,
            "reason": "2 passes that ended had begun before recording did",
        }


def test_one_instrument_on_two_threads(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    """Case 18 of the public bug reports: they go in step, and one of them fails."""
    instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
    step = threading.Barrier(2, timeout=20)

    def compile_one(fails: bool) -> None:
        def meet(mod: Any) -> None:
            step.wait()

        def end(mod: Any) -> None:
            step.wait()
            if fails:
                raise ValueError("bad tile")

        passes = [make_pass("Lower", meet), make_pass("Simplify", end)]
        with tvm.transform.PassContext(instruments=[instrument]):
            tvm.transform.Sequential(passes, name="pipe")(module)

    with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="worker") as pool:
        well, fails = (pool.submit(compile_one, fails) for fails in (False, True))
        assert well.exception() is None
        assert "bad tile" in str(fails.exception())
    instrument.write()
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    by_thread: dict[str, list[tuple[str, str, int | None]]] = {}
    for row in range(len(trace.slices)):
        thread = trace.lanes[trace.slices.lane[row]].thread
        assert thread is not None
        arguments = trace.arguments.of(row)
        by_thread.setdefault(trace.threads[thread].name, []).append(
            (trace.name(row), arguments["status"], arguments.get("depth"))
        )
    assert by_thread == {
        "worker_0": [
            ("PassContext", "ok", None),
            ("pipe", "ok", 0),
            ("Lower", "ok", 1),
            ("Simplify", "ok", 1),
        ],
        "worker_1": [
            ("PassContext", "incomplete", None),
            ("pipe", "incomplete", 0),
            ("Lower", "ok", 1),
            ("Simplify", "failed", 1),
        ],
    }


class TestThreadsOutsideAnyContext:
    """`run_cpp` runs a pass in C++: no method of Python's that could be watched is called."""

    @pytest.fixture
    def run_cpp(self, tvm: Any) -> Callable[[Any, Any], Any]:
        from tvm.ir import _ffi_transform_api

        return _ffi_transform_api.RunPass  # type: ignore[no-any-return]

    @pytest.mark.parametrize("kind", ["thread", "subclass", "pool"])
    def test_a_pass_that_only_cpp_runs_is_seen(
        self, make_pass: Make, module: Any, tmp_path: Path, run_cpp: Any, kind: str
    ) -> None:
        def body() -> None:
            run_cpp(make_pass("in C++"), module)

        class Subclass(threading.Thread):
            def run(self) -> None:
                body()

        with tilelang_trace.record(tmp_path / "x.pftrace"):
            if kind == "pool":
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    pool.submit(body).result()
            else:
                thread = Subclass() if kind == "subclass" else threading.Thread(target=body)
                thread.start()
                thread.join()
        assert tree(tilelang_trace.read(tmp_path / "x.pftrace")) == ["in C++"]

    def test_threads_start_as_before_when_nothing_is_recorded(
        self, tvm: Any, tmp_path: Path
    ) -> None:
        before = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            pass
        assert threading.Thread._bootstrap_inner is before  # type: ignore[attr-defined]
