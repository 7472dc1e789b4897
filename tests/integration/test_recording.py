"""Recording a real TVM: what is seen, what failed, and that the compile does not notice."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.events import pass_phase
from tilelang_trace.trace.model import Trace

Make = Callable[..., Any]


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """(level, name, kind, status) of every slice, in the Trace's order."""
    levels: list[int] = []
    found = []
    for row, parent in enumerate(trace.slices.parent.tolist()):
        levels.append(levels[parent] + 1 if parent >= 0 else 0)
        status = trace.arguments.of(row)["status"]
        found.append((levels[row], trace.name(row), trace.category(row), status))
    return found


def passes(trace: Trace) -> list[tuple[Any, ...]]:
    """(name, sequence, depth, parent_sequence, phase) of every pass, in the Trace's order."""
    names = ("sequence", "depth", "parent_sequence", "phase")
    return [
        (trace.name(row), *(trace.arguments.of(row).get(name) for name in names))
        for row in range(len(trace.slices))
        if trace.category(row) == "pass"
    ]


def test_nested_passes_of_a_context_are_nested_slices(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    inner = tvm.transform.Sequential([make_pass("a"), make_pass("b")], name="inner")
    outer = tvm.transform.Sequential([inner, make_pass("c")], name="outer")
    with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
        with pass_phase("first"):
            outer(module)
        make_pass("d")(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert rows(trace) == [
        (0, "PassContext", "context", "ok"),
        (1, "first", "phase", "ok"),
        (2, "outer", "pass", "ok"),
        (3, "inner", "pass", "ok"),
        (4, "a", "pass", "ok"),
        (4, "b", "pass", "ok"),
        (3, "c", "pass", "ok"),
        (1, "d", "pass", "ok"),
    ]
    assert passes(trace) == [
        ("outer", 0, 0, None, "first"),
        ("inner", 1, 1, 0, "first"),
        ("a", 2, 2, 1, "first"),
        ("b", 3, 2, 1, "first"),
        ("c", 4, 1, 0, "first"),
        ("d", 5, 0, None, None),
    ]
    assert trace.metadata["recording"] == {"complete": True, "reason": ""}


def test_a_context_inside_a_pass_has_its_own_numbering(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    def nested(mod: Any) -> None:
        with tvm.transform.PassContext(opt_level=3):
            make_pass("inside")(mod)

    with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
        make_pass("before")(module)
        make_pass("around", nested)(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert [row[:2] for row in rows(trace)] == [
        (0, "PassContext"),
        (1, "before"),
        (1, "around"),
        (2, "PassContext"),
        (3, "inside"),
    ]
    assert passes(trace)[-1] == ("inside", 0, 0, None, None)
    contexts = trace.arguments.values("context")
    levels = trace.arguments.values("opt_level")
    assert list(contexts.values()) == [0, 1]
    assert list(levels.values()) == [2, 3]


def test_options_of_a_context_are_arguments_of_its_slice(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    options = {
        "opt_level": 1,
        "required_pass": ["Needed"],
        "disabled_pass": ["Unwanted", "Slow"],
        "config": {"relax.FuseOps.max_depth": 7},
    }
    with tilelang_trace.record(tmp_path / "x.json"), tvm.transform.PassContext(**options):
        make_pass("p")(module)
    arguments = tilelang_trace.read(tmp_path / "x.json").arguments.of(0)
    assert {name: arguments[name] for name in options} == options


def test_passes_outside_any_context_are_seen(make_pass: Make, module: Any, tmp_path: Path) -> None:
    with tilelang_trace.record(tmp_path / "x.pftrace"):
        make_pass("first")(module)
        make_pass("second", make_pass("nested"))(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert [row[:3] for row in rows(trace)] == [
        (0, "first", "pass"),
        (0, "second", "pass"),
        (1, "nested", "pass"),
    ]
    assert [p[1] for p in passes(trace)] == [0, 1, 2]


def test_a_context_made_or_entered_before_recording_is_seen(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    made_before = tvm.transform.PassContext()
    with (
        tvm.transform.PassContext(),
        tilelang_trace.record(tmp_path / "x.pftrace"),
    ):
        make_pass("entered before")(module)
        with made_before:
            make_pass("made before")(module)
        make_pass("again")(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert [row[:2] for row in rows(trace)] == [
        (0, "entered before"),
        (0, "PassContext"),
        (1, "made before"),
        (0, "again"),
    ]


class TestTheUsersInstruments:
    """They are never fired more often than without recording."""

    @pytest.fixture
    def calls(self) -> list[str]:
        return []

    @pytest.fixture
    def instrument(self, tvm: Any, calls: list[str]) -> Any:
        @tvm.ir.instrument.pass_instrument
        class Theirs:
            def enter_pass_ctx(self) -> None:
                calls.append("enter")

            def exit_pass_ctx(self) -> None:
                calls.append("exit")

            def run_before_pass(self, mod: Any, info: Any) -> None:
                calls.append(f"before {info.name}")

            def run_after_pass(self, mod: Any, info: Any) -> None:
                calls.append(f"after {info.name}")

        return Theirs()

    def test_in_a_context_made_while_recording(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        tmp_path: Path,
        instrument: Any,
        calls: list[str],
    ) -> None:
        with (
            tilelang_trace.record(tmp_path / "x.pftrace"),
            tvm.transform.PassContext(instruments=[instrument]),
        ):
            make_pass("p")(module)
        assert calls == ["enter", "before p", "after p", "exit"]
        assert len(passes(tilelang_trace.read(tmp_path / "x.pftrace"))) == 1

    def test_in_a_context_entered_before_recording(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        tmp_path: Path,
        instrument: Any,
        calls: list[str],
    ) -> None:
        with (
            tvm.transform.PassContext(instruments=[instrument]),
            tilelang_trace.record(tmp_path / "x.pftrace"),
        ):
            make_pass("outer", make_pass("inner"))(module)
        assert calls == [
            "enter",
            "before outer",
            "before inner",
            "after inner",
            "after outer",
            "exit",
        ]
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert [row[:2] for row in rows(trace)] == [(0, "outer"), (1, "inner")]

    def test_overridden_in_the_middle(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        tmp_path: Path,
        instrument: Any,
        calls: list[str],
    ) -> None:
        def override(mod: Any) -> None:
            tvm.transform.PassContext.current().override_instruments([instrument])

        with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
            make_pass("override", override)(module)
            make_pass("after")(module)
        assert calls == ["enter", "after override", "before after", "after after", "exit"]
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert [row[1:] for row in rows(trace)] == [
            ("PassContext", "context", "ok"),
            ("override", "pass", "ok"),
            ("after", "pass", "ok"),
        ]


def test_every_thread_has_its_own_track(
    tvm: Any, make_pass: Make, module: Any, tmp_path: Path
) -> None:
    meet = threading.Barrier(2)

    def compile_it(name: str) -> None:
        with tvm.transform.PassContext():
            make_pass(
                f"outer {name}", lambda mod: make_pass(f"inner {name}", lambda m: meet.wait())(mod)
            )(module)

    with tilelang_trace.record(tmp_path / "x.pftrace"):
        threads = [
            threading.Thread(target=compile_it, args=(name,), name=f"worker {name}")
            for name in ("A", "B")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    by_thread = {
        trace.threads[lane.thread].name: [
            trace.name(row) for row in range(len(trace.slices)) if trace.slices.lane[row] == number
        ]
        for number, lane in enumerate(trace.lanes)
        if lane.thread is not None
    }
    assert by_thread == {
        "worker A": ["PassContext", "outer A", "inner A"],
        "worker B": ["PassContext", "outer B", "inner B"],
    }


def test_code_generation_is_a_slice_that_the_passes_do_not_cover(tvm: Any, tmp_path: Path) -> None:
    from tvm import te

    if not hasattr(te, "create_prim_func"):
        pytest.skip("TileLang's TVM has no te")
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] + 1.0, name="b")
    mod = tvm.IRModule({"main": te.create_prim_func([a, b])})
    with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
        tvm.compile(mod, target="llvm")
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    (generated,) = [row for row in rows(trace) if row[2] == "codegen"]
    assert generated == (1, "target.build.llvm", "codegen", "ok")


class TestTheCompileDoesNotNotice:
    def test_tvm_is_as_before_when_the_recording_ends(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        classes = (tvm.transform.PassContext, tvm.transform.Pass)
        before = [dict(vars(cls)) for cls in classes]
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            make_pass("p")(module)
        assert [dict(vars(cls)) for cls in classes] == before
        assert list(tvm.transform.PassContext.current().instruments) == []

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps the frame")
    def test_the_traceback_has_no_frame_of_ours(
        self, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        def fail(mod: Any) -> None:
            raise ValueError("expected")

        def files_of(error: BaseException) -> list[str]:
            trace, found = error.__traceback__, []
            while trace is not None:
                found.append(trace.tb_frame.f_code.co_filename)
                trace = trace.tb_next
            return found

        with pytest.raises(ValueError) as plain:
            make_pass("p", fail)(module)
        with tilelang_trace.record(tmp_path / "x.pftrace"), pytest.raises(ValueError) as recorded:
            make_pass("p", fail)(module)
        assert files_of(recorded.value) == files_of(plain.value)

    def test_trouble_is_said_once_and_the_compile_goes_on(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        from tilelang_trace.recording import journal

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        ran = []
        with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
            make_pass("before")(module)
            monkeypatch.setattr(journal, "_allocate", full)
            # Long names, so that the journal needs its next block.
            for number in range(30):
                make_pass(f"{number} {'x' * 50_000}", ran.append)(module)
            monkeypatch.undo()
        assert len(ran) == 30
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 1
        assert "recording stopped" in said[0]
        assert "No space left on device" in said[0]
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert "before" in [p[0] for p in passes(trace)]
        assert rows(trace)[0][3] == "incomplete", "it did not fail, the recording of it ended"
        assert trace.arguments.of(0)["error"] == {
            "type": "",
            "cause": "detached",
            "message": "recording stopped while this ran",
        }
        assert "failed" not in [row[3] for row in rows(trace)]
        assert trace.metadata["recording"] == {
            "complete": False,
            "reason": "recording stopped: [Errno 28] No space left on device",
        }

    def test_a_folder_that_cannot_be_written_is_said_and_nothing_else(
        self, make_pass: Make, module: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        ran: list[Any] = []
        with tilelang_trace.record(tmp_path / "missing" / "x.pftrace"):
            make_pass("p", ran.append)(module)
        assert len(ran) == 1
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 1
        assert "nothing is recorded" in said[0]

    def test_an_unknown_ending_is_told_before_the_compile(self, tmp_path: Path) -> None:
        with pytest.raises(tilelang_trace.UserError, match="no format has this ending"):
            tilelang_trace.record(tmp_path / "x.txt")


class TestOutputs:
    def test_two_recordings_at_once_each_have_what_began_inside_them(
        self, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        with tilelang_trace.record(tmp_path / "all.pftrace"):
            make_pass("before")(module)
            with tilelang_trace.record(tmp_path / "part.json"):
                make_pass("both")(module)
            make_pass("after")(module)
        whole = tilelang_trace.read(tmp_path / "all.pftrace")
        part = tilelang_trace.read(tmp_path / "part.json")
        assert [p[0] for p in passes(whole)] == ["before", "both", "after"]
        assert [p[:2] for p in passes(part)] == [("both", 0)]

    def test_an_output_in_use_gets_a_number(
        self, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "x.json.gz"
        with tilelang_trace.record(path) as first, tilelang_trace.record(path) as second:
            make_pass("p")(module)
        assert first.path == tmp_path / "x.json.gz"
        assert second.path == tmp_path / "x.1.json.gz"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["x.1.json.gz", "x.json.gz"]

    def test_what_a_crash_left_is_put_aside(
        self, make_pass: Make, module: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        left = tmp_path / "x.pftrace.journal"
        left.mkdir()
        (left / "evidence.pftrace").write_bytes(b"")
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            make_pass("p")(module)
        assert (tmp_path / "x.pftrace.journal.1" / "evidence.pftrace").exists()
        assert "x.pftrace.journal.1" in capfd.readouterr().err

    def test_a_recording_of_nothing_says_so(
        self, tvm: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            pass
        assert "no pass ran" in capfd.readouterr().err
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert len(trace.slices) == 0
        assert trace.metadata["versions"]["tvm"] == tvm.__version__


class TestProcesses:
    """Under `tilelang-trace run`: the processes that a script starts, and how they end."""

    SCRIPT = """
import multiprocessing, os, sys
import tvm

def make(name, body=lambda: None):
    @tvm.transform.module_pass(opt_level=0, name=name)
    def run(mod, context):
        body()
        return mod
    return run

def compile_it(name, body=lambda: None):
    with tvm.transform.PassContext():
        tvm.transform.Sequential([make("first"), make(name, body)], name="outer")(tvm.IRModule({}))

if __name__ == "__main__":
    compile_it("in parent", lambda: start())
"""

    def record(self, folder: Path, start: str) -> tuple[Trace, int]:
        script = f"{self.SCRIPT}\n".replace(
            "if __name__ ==", f"def start():\n    {start}\n\nif __name__ =="
        )
        (folder / "script.py").write_text(script)
        done = subprocess.run(
            [sys.executable, "-m", "tilelang_trace", "run", "-o", "x.pftrace", "script.py"],
            cwd=folder,
            check=False,
        )
        return tilelang_trace.read(folder / "x.pftrace"), done.returncode

    @pytest.mark.parametrize("how", ["fork", "spawn"])
    def test_a_child_process_is_a_process_of_the_trace(
        self, tvm: Any, tmp_path: Path, how: str
    ) -> None:
        trace, code = self.record(
            tmp_path,
            f"child = multiprocessing.get_context({how!r})"
            ".Process(target=compile_it, args=('in child',)); child.start(); child.join()",
        )
        assert code == 0
        assert trace.metadata["recording"] == {"complete": True, "reason": ""}
        assert [process.name for process in trace.processes] == ["script.py", "script.py"]
        assert len({process.pid for process in trace.processes}) == 2
        assert [(p[0], p[2]) for p in passes(trace)] == [
            ("outer", 0),
            ("first", 1),
            ("in parent", 1),
            ("outer", 0),
            ("first", 1),
            ("in child", 1),
        ]


class TestTraceInstrument:
    def test_it_sees_the_contexts_that_it_is_in_and_no_others(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.json")
        with tvm.transform.PassContext(instruments=[instrument]):
            make_pass("first")(module)
        with tvm.transform.PassContext():
            make_pass("elsewhere")(module)
        assert [p[0] for p in passes(tilelang_trace.read(tmp_path / "x.json"))] == ["first"]
        with tvm.transform.PassContext(instruments=[instrument]):
            make_pass("second")(module)
        trace = tilelang_trace.read(tmp_path / "x.json")
        assert [row[1] for row in rows(trace)] == ["PassContext", "first", "PassContext", "second"]

    def test_a_failure_is_in_the_file(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        def fail(mod: Any) -> None:
            raise ValueError("expected")

        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        with (
            pytest.raises(ValueError, match="expected"),
            tvm.transform.PassContext(instruments=[instrument]),
        ):
            tvm.transform.Sequential([make_pass("deep", fail)], name="seq")(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert [row[1:] for row in rows(trace)] == [
            ("PassContext", "context", "incomplete"),
            ("seq", "pass", "incomplete"),
            ("deep", "pass", "failed"),
        ]
        assert trace.arguments.of(2)["error"]["message"] == "expected"

    def test_the_options_are_those_of_its_own_context(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        with (
            tvm.transform.PassContext(opt_level=1),
            tvm.transform.PassContext(opt_level=3, instruments=[instrument], disabled_pass=["D"]),
        ):
            make_pass("p")(module)
        arguments = tilelang_trace.read(tmp_path / "x.pftrace").arguments.of(0)
        assert (arguments["opt_level"], arguments["disabled_pass"]) == (3, ["D"])

    def test_an_exception_that_is_being_handled_around_it_is_not_its_failure(
        self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path
    ) -> None:
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        try:
            raise ValueError("the first way did not work")
        except ValueError:
            with tvm.transform.PassContext(instruments=[instrument]):
                make_pass("second way")(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        assert [row[3] for row in rows(trace)] == ["ok", "ok"]

    def test_a_large_trace_is_written_on_demand(
        self,
        tvm: Any,
        make_pass: Make,
        module: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        from tilelang_trace.recording import instrument as home

        monkeypatch.setattr(home, "_SLOW_NS", 1)  # every file takes longer than that
        instrument = tilelang_trace.TraceInstrument(tmp_path / "x.pftrace")
        for name in ("first", "second"):
            with tvm.transform.PassContext(instruments=[instrument]):
                make_pass(name)(module)
        assert [p[0] for p in passes(tilelang_trace.read(instrument.path))] == ["first"]
        instrument.write()
        assert [p[0] for p in passes(tilelang_trace.read(instrument.path))] == ["first", "second"]
