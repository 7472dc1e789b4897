"""Facts about the IR of real passes, held against what TVM says of the same modules."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from fixtures.record import ROOT
from tilelang_trace.recording.finish import finish
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.hooks import tvm as hooks
from tilelang_trace.recording.launch import determinism, launcher
from tilelang_trace.recording.options import IR_VARIABLE
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.trace.arguments import IR_TEXT_LIMIT
from tilelang_trace.trace.model import Trace

Make = Callable[..., Any]


@contextmanager
def recorded(path: Path, ir: str) -> Iterator[None]:
    """Record into a file, with facts about the IR."""
    journals = JournalFolder(path)
    recording = Recording(journals.path, ir)
    hooks.start(recording)
    try:
        yield
    finally:
        hooks.stop(recording)
        recording.close()
        finish(journals.path, journals.output)
        journals.remove()


def facts(trace: Trace) -> list[tuple[str, Any]]:
    """(name, `ir`) of every pass, in the order in which they began."""
    return [
        (trace.name(row), trace.arguments.of(row).get("ir"))
        for row in range(len(trace.slices))
        if trace.category(row).startswith("pass")
    ]


def structural_hash(mod: Any) -> str:
    """The hash of a module, as text."""
    import tvm_ffi

    return f"{tvm_ffi.structural_hash(mod, map_free_vars=True):016x}"


@pytest.fixture
def function(tvm: Any) -> Callable[[int], Any]:
    """`function(n)`: a Relax function of n additions."""
    pytest.importorskip("tvm.relax")

    def make(additions: int) -> Any:
        steps = "".join(f"    y{n} = R.add(x, x)\n" for n in range(additions))
        signature = "def f(x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):"
        return tvm.script.from_source(f"@R.function\n{signature}\n{steps}    return x\n")

    return make


@pytest.fixture
def changed_pass(tvm: Any, function: Callable[[int], Any]) -> Callable[[str, int], Any]:
    """`changed_pass(name, n)`: a pass that gives a module with a function of n additions."""

    def make(name: str, additions: int) -> Any:
        @tvm.transform.module_pass(opt_level=0, name=name)
        def run(mod: Any, context: Any) -> Any:
            return tvm.IRModule({"f": function(additions)})

        return run

    return make


class Witness:
    """What TVM says of the module before and after each pass, by an instrument of the test's own:
    (name, before, after) in the order in which the passes began; after is None if it failed.
    """

    def __init__(self, tvm: Any, look: Callable[[Any], Any]) -> None:
        self.seen: list[list[Any]] = []
        opened: list[list[Any]] = []

        @tvm.ir.instrument.pass_instrument
        class Looking:
            def run_before_pass(_, mod: Any, info: Any) -> None:  # noqa: N805
                opened.append([str(info.name), look(mod), None])
                self.seen.append(opened[-1])

            def run_after_pass(_, mod: Any, info: Any) -> None:  # noqa: N805
                while opened[-1][0] != str(info.name):
                    opened.pop()
                opened.pop()[2] = look(mod)

        self.instrument = Looking()


@pytest.fixture
def pipeline(tvm: Any, make_pass: Make, changed_pass: Callable[[str, int], Any]) -> Any:
    """Passes that change the module and passes that don't, nested."""
    inner = tvm.transform.Sequential([make_pass("same"), changed_pass("grow", 9)], name="inner")
    steps = [changed_pass("shrink", 2), inner, make_pass("same too"), changed_pass("last", 5)]
    return tvm.transform.Sequential(steps, name="outer")


@pytest.fixture
def module(tvm: Any, function: Callable[[int], Any]) -> Any:
    """A module of one function of 3 additions."""
    return tvm.IRModule({"f": function(3)})


def test_size_is_the_number_of_lines_of_the_printed_module(
    tvm: Any, pipeline: Any, module: Any, tmp_path: Path
) -> None:
    witness = Witness(tvm, lambda mod: mod.script())
    with (
        recorded(tmp_path / "x.pftrace", "size"),
        tvm.transform.PassContext(instruments=[witness.instrument]),
    ):
        pipeline(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert facts(trace) == [
        (
            name,
            {
                "changed": before != after,
                "size_before": len(before.splitlines()),
                "size_after": len(after.splitlines()),
            },
        )
        for name, before, after in witness.seen
    ]
    assert [ir["changed"] for _, ir in facts(trace)] == [
        *(True, True, True),  # outer, shrink, inner
        *(False, True, False, True),  # same, grow, same too, last
    ]


def test_the_counter_track_follows_the_size(
    tvm: Any, make_pass: Make, changed_pass: Any, module: Any, tmp_path: Path
) -> None:
    sizes = []
    with recorded(tmp_path / "x.pftrace", "size"), tvm.transform.PassContext():
        mod = module
        for step in (make_pass("same"), changed_pass("grow", 9), changed_pass("shrink", 1)):
            mod = step(mod)
            sizes.append(len(mod.script().splitlines()))
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    [track] = trace.counter_tracks
    assert (track.name, trace.threads[track.thread or 0].name) == ("IR lines", "MainThread")
    assert trace.counters.value.tolist() == sizes
    rows = {trace.name(row): row for row in range(len(trace.slices))}
    times = trace.counters.time.tolist()
    # The first is seen when a pass begins, the others are there when a pass has ended.
    assert trace.slices.begin[rows["same"]] <= times[0] <= trace.slices.begin[rows["grow"]]
    assert times[1:] == [trace.slices.end[rows[name]] for name in ("grow", "shrink")]


def test_hash_is_tvms_structural_hash_after_each_pass(
    tvm: Any, pipeline: Any, module: Any, tmp_path: Path
) -> None:
    witness = Witness(tvm, structural_hash)
    with (
        recorded(tmp_path / "x.pftrace", "hash"),
        tvm.transform.PassContext(instruments=[witness.instrument]),
    ):
        pipeline(module)
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    assert facts(trace) == [
        (name, {"changed": before != after, "hash": after}) for name, before, after in witness.seen
    ]
    assert len(trace.counter_tracks) == 0
    assert trace.metadata["recording"]["ir"] == "hash"


@pytest.mark.parametrize("ending", ["pftrace", "json"])
def test_text_is_that_of_changed_passes(
    tvm: Any, pipeline: Any, module: Any, tmp_path: Path, ending: str
) -> None:
    witness = Witness(tvm, lambda mod: mod.script())
    with (
        recorded(tmp_path / f"x.{ending}", "text"),
        tvm.transform.PassContext(instruments=[witness.instrument]),
    ):
        pipeline(module)
    trace = tilelang_trace.read(tmp_path / f"x.{ending}")
    texts = [(name, ir.get("before"), ir.get("after")) for name, ir in facts(trace)]
    assert texts == [
        (name, before, after) if before != after else (name, None, None)
        for name, before, after in witness.seen
    ]
    assert [ir["size_after"] for _, ir in facts(trace)] == [
        len(after.splitlines()) for _, _, after in witness.seen
    ]


def test_a_long_text_is_cut_and_says_by_how_much(
    tvm: Any, changed_pass: Any, module: Any, tmp_path: Path
) -> None:
    with recorded(tmp_path / "x.pftrace", "text"), tvm.transform.PassContext():
        text = changed_pass("grow", 2000)(module).script()
    [(_, ir)] = facts(tilelang_trace.read(tmp_path / "x.pftrace"))
    assert len(text) > IR_TEXT_LIMIT >= len(ir["after"].encode())
    head, _, rest = ir["after"].partition("\n[... ")
    left_out, _, tail = rest.partition(" characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(left_out) + len(tail) == len(text)
    assert ir["size_after"] == len(text.splitlines())


@pytest.mark.parametrize(
    ("mode", "names"),
    [("size", ["size_before"]), ("text", ["before", "size_before"]), ("hash", None)],
)
def test_a_pass_that_fails_keeps_what_was_known_before_it(
    tvm: Any,
    make_pass: Make,
    changed_pass: Any,
    module: Any,
    tmp_path: Path,
    mode: str,
    names: list[str] | None,
) -> None:
    def fail(mod: Any) -> None:
        raise ValueError("expected")

    witness = Witness(tvm, lambda mod: mod.script())
    steps = [changed_pass("grow", 9), make_pass("fails", fail)]
    with (
        recorded(tmp_path / "x.pftrace", mode),
        pytest.raises(ValueError, match="expected"),
        tvm.transform.PassContext(instruments=[witness.instrument]),
    ):
        tvm.transform.Sequential(steps, name="outer")(module)
    found = dict(facts(tilelang_trace.read(tmp_path / "x.pftrace")))
    assert [name for name, _, _ in witness.seen] == ["outer", "grow", "fails"]
    for name, before, after in witness.seen:
        if after is None:
            kept = ["kept"] if name == "fails" else []
            assert sorted(found[name] or {}) == sorted([*kept, *(names or [])])
            if names:
                assert found[name]["size_before"] == len(before.splitlines())
            if mode == "text":
                assert found[name]["before"] == before


class TestModulesChangedInPlace:
    """The module object stays the same, what it holds does not."""

    def test_by_a_pass(self, tvm: Any, function: Any, module: Any, tmp_path: Path) -> None:
        @tvm.transform.module_pass(opt_level=0, name="in place")
        def run(mod: Any, context: Any) -> Any:
            mod["g"] = function(4)
            return mod

        before = structural_hash(module)
        with recorded(tmp_path / "x.pftrace", "hash"), tvm.transform.PassContext():
            mod = run(module)
        [(_, ir)] = facts(tilelang_trace.read(tmp_path / "x.pftrace"))
        assert ir == {"changed": True, "hash": structural_hash(mod)}
        assert ir["hash"] != before

    def test_between_two_passes(
        self, tvm: Any, make_pass: Make, function: Any, module: Any, tmp_path: Path
    ) -> None:
        with recorded(tmp_path / "x.pftrace", "size"), tvm.transform.PassContext():
            make_pass("first")(module)
            module["g"] = function(4)
            make_pass("second")(module)
        (_, first), (_, second) = facts(tilelang_trace.read(tmp_path / "x.pftrace"))
        assert first["size_after"] < second["size_before"] == second["size_after"]
        assert second["changed"] is False

    def test_its_attributes(self, tvm: Any, make_pass: Make, module: Any, tmp_path: Path) -> None:
        with recorded(tmp_path / "x.pftrace", "hash"), tvm.transform.PassContext():
            make_pass("first")(module)
            make_pass("second")(module.with_attr("key", 1))
        (_, first), (_, second) = facts(tilelang_trace.read(tmp_path / "x.pftrace"))
        assert first["hash"] != second["hash"]


class TestTheCompile:
    """What looking at modules does to it."""

    def slow_down(self, monkeypatch: pytest.MonkeyPatch, tvm: Any, calls: list[Any]) -> None:
        script = tvm.IRModule.script

        def slow(mod: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(mod)
            time.sleep(0.02)
            return script(mod, *args, **kwargs)

        monkeypatch.setattr(tvm.IRModule, "script", slow)

    def test_a_module_that_stays_the_same_is_printed_once(
        self,
        tvm: Any,
        make_pass: Make,
        changed_pass: Any,
        module: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        calls: list[Any] = []
        self.slow_down(monkeypatch, tvm, calls)
        steps = [make_pass("a"), make_pass("b"), changed_pass("c", 1), make_pass("d")]
        with recorded(tmp_path / "x.pftrace", "size"), tvm.transform.PassContext():
            tvm.transform.Sequential(steps, name="outer")(module)
        assert len(calls) == 2

    def test_printing_is_no_time_of_the_pass_and_is_told(
        self,
        tvm: Any,
        changed_pass: Any,
        module: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        calls: list[Any] = []
        self.slow_down(monkeypatch, tvm, calls)
        with recorded(tmp_path / "x.pftrace", "size"), tvm.transform.PassContext():
            changed_pass("first", 1)(module)
            changed_pass("second", 2)(module)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        for row in range(len(trace.slices)):
            if trace.category(row) == "pass":
                assert trace.slices.end[row] - trace.slices.begin[row] < 20_000_000
        assert len(calls) == 4
        assert trace.metadata["recording"]["ir_ns"] >= 80_000_000

    def test_a_module_that_can_t_be_printed_harms_nothing(
        self,
        tvm: Any,
        changed_pass: Any,
        module: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        script = tvm.IRModule.script

        def broken(mod: Any, *args: Any, **kwargs: Any) -> Any:
            if not mod.same_as(module):
                return script(mod, *args, **kwargs)
            raise RuntimeError("no printer")

        monkeypatch.setattr(tvm.IRModule, "script", broken)
        monkeypatch.setattr(tvm.IRModule, "__str__", broken)
        with recorded(tmp_path / "x.pftrace", "size"), tvm.transform.PassContext():
            mod = changed_pass("first", 1)(module)
            mod = changed_pass("second", 2)(mod)
        trace = tilelang_trace.read(tmp_path / "x.pftrace")
        (_, first), (_, second) = facts(trace)
        assert list(first) == ["size_after"]
        assert second["size_before"] == first["size_after"]
        assert trace.metadata["recording"] == {
            "complete": True,
            "reason": "",
            "ir": "size",
            "ir_ns": trace.metadata["recording"]["ir_ns"],
            "ir_left_out": 1,
            "ir_left_out_reason": "RuntimeError: no printer",
        }
        assert capfd.readouterr().err == ""

    def test_threads_have_facts_and_counters_of_their_own(
        self, tvm: Any, changed_pass: Any, module: Any, tmp_path: Path
    ) -> None:
        def compile_(sizes: tuple[int, ...]) -> None:
            with tvm.transform.PassContext():
                for size in sizes:
                    changed_pass(f"to {size}", size)(module)

        plans = {"one": (1, 2, 30), "two": (40, 5, 6)}
        with recorded(tmp_path / "x.json", "size"):
            threads = [
                threading.Thread(target=compile_, name=name, args=(sizes,))
                for name, sizes in plans.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        trace = tilelang_trace.read(tmp_path / "x.json")
        found: dict[str, list[float]] = {}
        for track, value in zip(trace.counters.track.tolist(), trace.counters.value.tolist()):
            thread_of = trace.counter_tracks[track].thread
            assert thread_of is not None
            found.setdefault(trace.threads[thread_of].name, []).append(value)
        after = {name: ir["size_after"] for name, ir in facts(trace)}
        [before] = {ir["size_before"] for _, ir in facts(trace)}
        for name, sizes in plans.items():
            expected = [value for size in sizes for value in (before, after[f"to {size}"])]
            assert found[name] == expected


@pytest.mark.usefixtures("tvm")
def test_what_a_killed_process_was_compiling_is_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import os, signal
import tvm

@tvm.transform.module_pass(opt_level=0, name="dies")
def dies(mod, context):
    os.kill(os.getpid(), signal.SIGKILL)

with tvm.transform.PassContext():
    dies(tvm.IRModule({}))
""")
    subprocess.run(
        [sys.executable, "-m", "tilelang_trace", "run", "-o", "x.pftrace", "script.py"],
        cwd=tmp_path,
        env={**os.environ, IR_VARIABLE: "text"},
        check=False,
    )
    trace = tilelang_trace.read(tmp_path / "x.pftrace")
    [(name, ir)] = facts(trace)
    assert name == "dies"
    assert "class Module" in ir["before"]
    assert trace.metadata["recording"]["ir_ns"] > 0


class TestDeterministic:
    """`launcher.run(deterministic=True)`: two compiles of one model give one IR."""

    @pytest.fixture
    def script(self, tvm: Any) -> str:
        if not hasattr(tvm, "compile") or "tilelang" in sys.modules:
            pytest.skip("relax_mlp.py needs apache-tvm")
        return str(ROOT / "fixtures/compiles/relax_mlp.py")

    def hashes(self, output: Path, script: str, *, deterministic: bool) -> list[str]:
        journals = JournalFolder(output)
        done, code = launcher.run([script], "x", journals, deterministic=deterministic)
        assert code == 0
        assert done.trace.metadata["recording"].get("deterministic", False) is deterministic
        found = [ir["hash"] for _, ir in facts(done.trace)]
        assert len(found) > 50
        return found

    def test_all_hashes_are_equal(
        self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with determinism.fixed_addresses() as possible:
            if not possible:
                pytest.skip("this system can't fix addresses")
        monkeypatch.setenv(IR_VARIABLE, "hash")
        one = self.hashes(tmp_path / "a.pftrace", script, deterministic=True)
        other = self.hashes(tmp_path / "another.pftrace", script, deterministic=True)
        assert one == other

    def test_without_it_some_differ_sooner_or_later(
        self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(IR_VARIABLE, "hash")
        first = self.hashes(tmp_path / "first.pftrace", script, deterministic=False)
        for number in range(20):  # each differs with a chance of about one half
            if self.hashes(tmp_path / f"{number}.pftrace", script, deterministic=False) != first:
                return
        pytest.fail("20 compiles gave one IR: the test of --deterministic proves nothing")
