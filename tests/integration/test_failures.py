"""Passes and compiles that fail: what the timeline says of it.

Cases 16, 20 and 23 of the public bug reports are among them.
"""

from __future__ import annotations

import concurrent.futures
import gc
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tilelang_trace
from tests.integration.timeline import tree
from tilelang_trace.events import PassEventObserver, StackedPassInstrument, pass_phase
from tilelang_trace.trace.model import Trace

Make = Callable[..., Any]
Run = Callable[[Callable[[list[Any]], None]], Trace]


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises this."""

    def body(*_: Any) -> None:
        raise error

    return body


def errors(trace: Trace) -> dict[str, dict[str, Any]]:
    """The `error` of each slice that has one, by the slice's name."""
    return {trace.name(row): error for row, error in trace.arguments.values("error").items()}


def recorded(path: Path, body: Callable[[], Any]) -> Trace:
    """The trace of something that raises."""
    with pytest.raises(BaseException), tilelang_trace.record(path):  # noqa: B017
        body()
    return tilelang_trace.read(path)


def test_the_innermost_pass_has_failed_and_those_around_it_are_incomplete(
    tvm: Any, make_pass: Make, module: Any, run: Run
) -> None:
    text = "tile 24 is \x1b[31mno multiple\x1b[0m of 16\nsecond line: 形状"
    passes = [make_pass("fine"), make_pass("deep", raising(ValueError(text)))]
    deep = tvm.transform.Sequential(passes, name="seq")

    def body(instruments: list[Any]) -> None:
        with (
            pytest.raises(ValueError, match="tile 24"),
            tvm.transform.PassContext(instruments=instruments),
            pass_phase("lower"),
        ):
            make_pass("outer", deep)(module)

    trace = run(body)
    assert tree(trace) == [
        "context 0 incomplete",
        "  lower incomplete",
        "    outer incomplete",
        "      seq incomplete",
        "        fine",
        "        deep failed",
    ]
    message = "tile 24 is no multiple of 16"
    around = {"type": "ValueError", "cause": "exception", "message": message}
    assert errors(trace) == {
        **dict.fromkeys(("PassContext", "lower", "outer", "seq"), around),
        "deep": {**around, "detail": f"{message}\nsecond line: 形状"},
    }


@pytest.mark.parametrize("attempts", [2, 50])
def test_caught_failures_leave_the_rest_in_its_place(
    tvm: Any, make_pass: Make, module: Any, run: Run, attempts: int
) -> None:
    """Case 20: from the callbacks alone the second attempt could be one inside the first."""

    def tune(mod: Any) -> None:
        for _ in range(attempts):
            with pytest.raises(ValueError, match="the block no longer exists"):
                make_pass("Try", raising(ValueError("the block no longer exists")))(mod)
        make_pass("Fallback")(mod)

    def body(instruments: list[Any]) -> None:
        passes = [make_pass("Legalize"), make_pass("Tune", tune), make_pass("Codegen")]
        with tvm.transform.PassContext(instruments=instruments):
            tvm.transform.Sequential(passes, name="build")(module)

    assert tree(run(body)) == [
        "context 0",
        "  build",
        "    Legalize",
        "    Tune",
        *["      Try failed"] * attempts,
        "      Fallback",
        "    Codegen",
    ]


def test_a_caught_failure_ends_when_it_fails(
    tvm: Any, make_pass: Make, module: Any, run: Run
) -> None:
    def tune(mod: Any) -> None:
        with pytest.raises(ValueError, match="no"):
            make_pass("Try", raising(ValueError("no")))(mod)
        time.sleep(0.05)

    def body(instruments: list[Any]) -> None:
        with tvm.transform.PassContext(instruments=instruments):
            make_pass("Tune", tune)(module)

    trace = run(body)
    assert tree(trace)[1:] == ["  Tune", "    Try failed"]
    assert trace.slices.end[1] - trace.slices.end[2] >= 50_000_000


def test_a_failure_outside_any_pass_is_the_contexts(
    tvm: Any, make_pass: Make, module: Any, run: Run
) -> None:
    def body(instruments: list[Any]) -> None:
        with pytest.raises(KeyError), tvm.transform.PassContext(instruments=instruments):
            make_pass("fine")(module)
            raise KeyError("not in a pass")

    assert tree(run(body)) == ["context 0 failed", "  fine"]


class TestWhatAnErrorCameFrom:
    """TVM's FFI loses the class of an exception that it does not know, and the causes of all."""

    def test_a_class_of_the_users(self, make_pass: Make, module: Any, tmp_path: Path) -> None:
        class TileError(Exception):
            pass

        error = TileError("odd")
        trace = recorded(tmp_path / "x.pftrace", lambda: make_pass("p", raising(error))(module))
        assert errors(trace)["p"] == {
            "type": "TileError",
            "cause": "exception",
            "message": "odd",
            "detail": "odd",
        }

    def test_the_first_cause_of_what_a_pass_raises_again(
        self, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        def lower(mod: Any) -> None:
            try:
                try:
                    raise LookupError("no intrinsic\nfor this tile")
                except LookupError as missing:
                    raise ValueError("can't lower") from missing
            except ValueError:
                raise RuntimeError("compilation failed")  # noqa: B904

        trace = recorded(tmp_path / "x.pftrace", lambda: make_pass("p", lower)(module))
        assert errors(trace)["p"] == {
            "type": "RuntimeError",
            "cause": "exception",
            "message": "compilation failed (first cause: LookupError: no intrinsic)",
            "detail": "compilation failed\n\ncaused by ValueError: can't lower\n\n"
            "caused by LookupError: no intrinsic\nfor this tile",
        }

    def test_of_what_a_pass_around_it_raises_again(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        class TileError(Exception):
            pass

        inner = tvm.transform.Sequential([make_pass("p", raising(TileError("odd")))], name="seq")

        def outer(mod: Any) -> None:
            try:
                inner(mod)
            except Exception as error:
                raise RuntimeError("compilation failed") from error

        trace = recorded(tmp_path / "x.pftrace", lambda: make_pass("outer", outer)(module))
        assert tree(trace) == ["outer incomplete", "  seq incomplete", "    p failed"]
        assert errors(trace)["p"]["message"] == "odd"
        assert errors(trace)["outer"]["message"] == (
            "compilation failed (first cause: TileError: odd)"
        )

    def test_of_what_is_raised_again_outside_of_passes(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        def body() -> None:
            with tvm.transform.PassContext():
                try:
                    make_pass("p", raising(KeyError("tile")))(module)
                except KeyError as error:
                    raise RuntimeError("compilation failed") from error

        trace = recorded(tmp_path / "x.pftrace", body)
        assert errors(trace)["p"]["type"] == "KeyError"
        assert errors(trace)["PassContext"]["message"] == (
            "compilation failed (first cause: KeyError: 'tile')"
        )

    def test_what_was_handled_before_the_compile_is_no_cause(
        self, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        def body() -> None:
            try:
                raise ValueError("the first way did not work")
            except ValueError:
                make_pass("second way", raising(KeyError("tile")))(module)

        trace = recorded(tmp_path / "x.pftrace", body)
        assert errors(trace)["second way"]["message"] == "'tile'"

    def test_an_error_of_cpp_with_a_program_inside(
        self, tvm: Any, module: Any, tmp_path: Path
    ) -> None:
        a = tvm.te.placeholder((16,), "float32", name="A")
        b = tvm.te.compute((16,), lambda i: a[i] + 1.0, name="B")
        function = tvm.te.create_prim_func([a, b])  # reads a GPU's memory outside of its threads
        function = function.with_attr("target", tvm.target.Target("cuda"))
        verify = tvm.tirx.transform.VerifyMemory()

        trace = recorded(tmp_path / "x.pftrace", lambda: verify(tvm.IRModule({"main": function})))
        error = errors(trace)["tirx.VerifyMemory"]
        assert error["type"] == "RuntimeError"
        assert "Memory verification failed" in error["message"]
        assert "Did you forget to bind?" in error["detail"]
        assert 'T.Buffer((16,), "float32")' in error["detail"]


class TestInterrupts:
    def test_ctrl_c_in_a_pass(self, make_pass: Make, module: Any, tmp_path: Path) -> None:
        """TVM makes a RuntimeError without a text of it."""
        trace = recorded(
            tmp_path / "x.pftrace", lambda: make_pass("p", raising(KeyboardInterrupt()))(module)
        )
        assert tree(trace) == ["p failed"]
        assert errors(trace)["p"]["type"] == "KeyboardInterrupt"
        assert errors(trace)["p"]["cause"] == "interrupt"

    def test_ctrl_c_in_a_context(self, tvm: Any, tmp_path: Path) -> None:
        def body() -> None:
            with tvm.transform.PassContext():
                raise KeyboardInterrupt

        trace = recorded(tmp_path / "x.pftrace", body)
        assert errors(trace)["PassContext"]["cause"] == "interrupt"

    @pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
    def test_a_signal_that_comes_while_cpp_runs_ends_the_compile_as_without_us(
        self, tvm: Any, make_pass: Make, module: Any, run: Run, raised: type[BaseException]
    ) -> None:
        """Its handler runs with the next Python code, which is a callback of ours. Without us it is
        the line after the compile, which sees what the handler raises, not a translation of it.
        """

        def handler(number: int, frame: FrameType | None) -> None:
            raise raised

        def body(instruments: list[Any]) -> None:
            alarms = signal.signal(signal.SIGALRM, handler)
            try:
                with (
                    pytest.raises(raised),
                    tvm.transform.PassContext(instruments=instruments),
                ):
                    passes = [tvm.relax.transform.Normalize() for _ in range(20_000)]
                    pipeline = tvm.transform.Sequential(passes, name="pipeline")
                    gc.collect()  # what is raised in a __del__ is lost, with us or without
                    signal.setitimer(signal.ITIMER_REAL, 0.05)
                    pipeline(module)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, alarms)

        trace = run(body)
        lines = tree(trace)
        assert lines[0] == "context 0 incomplete"
        assert set(lines[2:-1]) == {"    Normalize"}
        # It struck before a pass or after one, or in the middle of the callback.
        assert (lines[1], lines[-1]) in {
            ("  pipeline incomplete", "    Normalize failed"),
            ("  pipeline failed", "    Normalize"),
        }
        error = errors(trace)["Normalize" if lines[-1].endswith("failed") else "pipeline"]
        assert error["type"] == raised.__name__


class TestInstruments:
    """Another instrument raises: no pass is to blame for that (case 16)."""

    @pytest.fixture(params=["ours first", "ours last"])
    def instruments(self, request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
        """Puts an instrument of the user's behind ours or before it, where the order is theirs."""
        reverse = request.param == "ours last"
        return lambda ours, theirs: [theirs, *ours] if reverse else [*ours, theirs]

    @pytest.mark.parametrize(
        ("callback", "lines"),
        [
            ("run_before_pass", ["  lower incomplete", "    One", "    Two incomplete"]),
            ("run_after_pass", ["  lower incomplete", "    One", "    Two"]),
            ("should_run", ["  lower incomplete", "    One"]),
        ],
    )
    def test_around_a_pass(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        run: Run,
        instruments: Callable[..., list[Any]],
        callback: str,
        lines: list[str],
    ) -> None:
        def check(self: Any, mod: Any, info: Any) -> bool:
            if info.name == "Two":
                raise RuntimeError("verifier: bad IR")
            return True

        theirs = tvm.ir.instrument.pass_instrument(type("Theirs", (), {callback: check}))()
        is_last = False

        def body(ours: list[Any]) -> None:
            nonlocal is_last
            together = instruments(ours, theirs)
            is_last = bool(ours) and together[-1] is ours[0]
            passes = [make_pass("One"), make_pass("Two"), make_pass("Three")]
            with (
                pytest.raises(RuntimeError, match=r"^verifier: bad IR$"),
                tvm.transform.PassContext(instruments=together),
            ):
                tvm.transform.Sequential(passes, name="lower")(module)

        trace = run(body)
        if is_last and callback == "run_before_pass":
            lines = lines[:-1]  # it was never told of pass Two
        if is_last and callback == "run_after_pass":
            lines = [*lines[:-1], "    Two incomplete"]  # nor of its end
        assert tree(trace) == ["context 0 failed", *lines]
        error = errors(trace)["PassContext"]
        assert (error["cause"], error["message"]) == ("instrument", "verifier: bad IR")
        assert "Failures" not in [trace.name(row) for row in range(len(trace.slices))]

    @pytest.mark.parametrize("callback", ["enter_pass_ctx", "exit_pass_ctx"])
    def test_around_a_context(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path, callback: str
    ) -> None:
        theirs = tvm.ir.instrument.pass_instrument(
            type("Theirs", (), {callback: raising(OSError("no licence"))})
        )()

        def body() -> None:
            with tvm.transform.PassContext(instruments=[theirs]):
                make_pass("p")(module)

        trace = recorded(tmp_path / "x.pftrace", body)
        inside = ["  p"] if callback == "exit_pass_ctx" else []
        assert tree(trace) == ["context 0 failed", *inside]
        assert errors(trace)["PassContext"]["cause"] == "instrument"
        assert errors(trace)["PassContext"]["message"] == "no licence"

    def test_an_observer_of_the_users(
        self, tvm: Any, make_pass: Make, module: Any, run: Run
    ) -> None:
        class Observer(PassEventObserver):
            def pass_started(self, mod: Any, event: Any) -> None:
                raise ValueError(f"{event.name} is not welcome")

        def body(ours: list[Any]) -> None:
            theirs = StackedPassInstrument(Observer())
            with (
                pytest.raises(ValueError, match="p is not welcome"),
                tvm.transform.PassContext(instruments=[*ours, theirs]),
            ):
                make_pass("p")(module)

        trace = run(body)
        assert tree(trace) == ["context 0 failed", "  p incomplete"]
        assert errors(trace)["p"]["cause"] == "instrument"

    def test_without_anything_around_the_pass_has_the_blame(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        theirs = tvm.ir.instrument.pass_instrument(
            type("Theirs", (), {"run_before_pass": raising(ValueError("bad IR"))})
        )()

        def body() -> None:
            context = tvm.transform.PassContext.current()
            context.override_instruments([theirs])
            try:
                make_pass("p")(module)
            finally:
                context.override_instruments([])

        trace = recorded(tmp_path / "x.pftrace", body)
        assert tree(trace) == ["p failed"]
        assert errors(trace)["p"]["cause"] == "instrument"

    def test_a_compile_inside_an_instrument_fails_by_itself(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        check = make_pass("check", raising(ValueError("bad IR")))

        def before(self: Any, mod: Any, info: Any) -> None:
            if info.name == "p":
                check(mod)

        theirs = tvm.ir.instrument.pass_instrument(
            type("Theirs", (), {"run_before_pass": before})
        )()

        def body() -> None:
            with tvm.transform.PassContext(instruments=[theirs]):
                make_pass("p")(module)

        trace = recorded(tmp_path / "x.pftrace", body)
        assert tree(trace) == ["context 0 incomplete", "  p incomplete", "    check failed"]
        assert errors(trace)["check"]["cause"] == "exception"


def leaking(tvm: Any, make_pass: Make) -> Any:
    """A pipeline with a pass that enters a context, does not leave it, and fails."""

    def leak(mod: Any) -> None:
        tvm.transform.PassContext(opt_level=1).__enter__()
        raise ValueError("the real reason")

    return tvm.transform.Sequential([make_pass("Ok"), make_pass("Leaky", leak)], name="build")


@pytest.fixture
def on_a_thread() -> Callable[[Callable[[], Any]], Any]:
    """Runs something on a thread of its own: the contexts that it leaves open end with it."""

    def run(body: Callable[[], Any]) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(body).result()

    return run


class TestAContextLeftOpenByAnException:
    """Case 23 of the public bug reports: TVM complains about the context, not about the reason."""

    def test_both_texts_are_kept(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path, on_a_thread: Any
    ) -> None:
        def body() -> None:
            with (
                pytest.raises(Exception, match="context_stack"),
                tvm.transform.PassContext(),
            ):
                leaking(tvm, make_pass)(module)
            make_pass("after")(module)

        with tilelang_trace.record(tmp_path / "x.pftrace"):
            on_a_thread(body)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert tree(trace) == [
            "context 0 incomplete",
            "  build incomplete",
            "    Ok",
            "    Leaky failed",
            "      context 1 incomplete",
            "after",
        ]
        left, build, leaky, leaked = (trace.arguments.of(row)["error"] for row in (0, 1, 3, 4))
        assert "context_stack" in left["message"]
        assert left["message"].endswith("(first cause: ValueError: the real reason)")
        assert [error["message"] for error in (build, leaky)] == ["the real reason"] * 2
        assert leaked["cause"] == "mismatch"

    def test_an_instrument_whose_exit_is_never_called_still_has_its_file(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path, on_a_thread: Any
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")

        def body() -> None:
            with (
                pytest.raises(Exception, match="context_stack"),
                tvm.transform.PassContext(instruments=[instrument]),
            ):
                leaking(tvm, make_pass)(module)

        on_a_thread(body)
        instrument.write()
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert tree(trace) == [
            "context 0 incomplete",
            "  build incomplete",
            "    Ok",
            "    Leaky failed",
        ]
        error = trace.arguments.of(0)["error"]
        assert "context_stack" in error["message"]
        assert error["message"].endswith("(first cause: ValueError: the real reason)")
