"""TileLang's compiles on the timeline: kernels, code generation, outside compilers, the cache, the
autotuner. Without a GPU; what needs nvcc is skipped where there is none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.trace.model import Trace

KERNELS = Path(__file__).with_name("tilelang_kernels.py")
A100 = {"kind": "cuda", "arch": "sm_80"}

pytestmark = [
    pytest.mark.tilelang,
    pytest.mark.skipif(not find_spec("tilelang"), reason="TileLang is not installed"),
]
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")


class Row:
    """A slice with what the tests ask for."""

    def __init__(self, trace: Trace, row: int) -> None:
        self.number = row
        self.kind = trace.category(row).partition(",")[0]
        self.name = trace.name(row)
        self.arguments: dict[str, Any] = trace.arguments.of(row)
        self.status = self.arguments["status"]
        self.begin, self.end = int(trace.slices.begin[row]), int(trace.slices.end[row])
        self.parent = int(trace.slices.parent[row])
        self.thread = trace.lanes[int(trace.slices.lane[row])].thread


class Recorded:
    """A trace, read from its file."""

    def __init__(self, path: Path) -> None:
        self.trace = tilelang_trace.read(path)
        assert not self.trace.findings
        self.rows = [Row(self.trace, row) for row in range(len(self.trace.slices))]

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    def below(self, outer: Row) -> list[Row]:
        inside = {outer.number}
        found = []
        for row in self.rows[outer.number + 1 :]:
            if row.parent in inside:
                inside.add(row.number)
                found.append(row)
        return found

    def covered(self, outer: Row) -> float:
        """The share of a slice during which something below it, other than a context, is open."""
        total, until = 0, outer.begin
        for row in sorted(self.below(outer), key=lambda row: row.begin):
            if row.kind != "context":
                total += max(0, row.end - max(until, row.begin))
                until = max(until, row.end)
        return total / (outer.end - outer.begin)


@pytest.fixture(scope="module")
def tilelang() -> Any:
    return pytest.importorskip("tilelang")


@pytest.fixture(scope="module")
def kernels(tilelang: Any) -> Any:
    from tests.integration import tilelang_kernels

    return tilelang_kernels


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")


def run_script(
    folder: Path, source: str, *options: str, output: str = "out.pftrace", **environment: str
) -> Recorded:
    """A script of its own process, under `tilelang-trace run`; what it wrote into `output`."""
    (folder / "script.py").write_text(source, encoding="utf-8")
    root = str(KERNELS.parents[2])
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tilelang_trace", "run"),
            *("-o", "out.pftrace", *options, "script.py"),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "a slice is missing" not in done.stderr
    return Recorded(folder / output)


def line_of(text: str) -> int:
    """The line of the kernel's file that begins like this."""
    lines = KERNELS.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(text))


@needs_gxx
def test_a_compile_for_the_cpu(kernels: Any, tilelang: Any, tmp_path: Path) -> None:
    with tilelang_trace.record(tmp_path / "x.pftrace"):
        begin = time.monotonic_ns()
        kernel = tilelang.compile(kernels.add_one, target="c", execution_backend="cython")
        wall = time.monotonic_ns() - begin
    import torch

    a, b = torch.rand(kernels.N), torch.zeros(kernels.N)
    kernel(a, b)
    assert torch.allclose(b, a + 1)

    seen = Recorded(tmp_path / "x.pftrace")
    (compile_,) = seen.of("compile")
    assert compile_.name == "add_one"
    assert compile_.status == "ok"
    assert compile_.arguments["kernel"] == "add_one"
    assert json.loads(compile_.arguments["target"])["kind"] == "c"
    assert compile_.arguments["backend"] == "cython"
    assert compile_.arguments["file"] == str(KERNELS)
    assert compile_.arguments["line"] == line_of("def add_one(") - 1, "the decorator's line"
    assert "cache" not in compile_.arguments, "it is off"
    assert "configuration" not in compile_.arguments
    assert compile_.end - compile_.begin > 0.95 * wall
    assert seen.covered(compile_) > 0.95

    below = seen.below(compile_)
    assert [row.name for row in below if row.kind == "codegen"] == ["target.build.tilelang_c"]
    (tool,) = [row for row in below if row.kind == "tool"]
    assert tool.name == "g++"
    assert tool.status == "ok"
    assert tool.arguments["exit_code"] == 0
    assert "-shared" in tool.arguments["command"]
    (context,) = seen.of("context")
    assert context.arguments["label"] == "stage=jit-lower, kernel=add_one, backend=cython"
    assert context.arguments["kernel"] == "add_one"
    assert {row.name for row in seen.of("step")} >= {"choose backend", "adapter", "load library"}
    assert seen.of("phase")[0].name == "pipeline_c"


@needs_nvcc
def test_a_compile_for_a_gpu_with_nvcc(tmp_path: Path) -> None:
    """In a process of its own: what TileLang loads at its first compile is covered as well."""
    seen = run_script(
        tmp_path,
        "import time, tilelang\n"
        "from tests.integration.tilelang_kernels import gemm\n"
        "begin = time.monotonic_ns()\n"
        f"tilelang.compile(gemm, target={A100}, execution_backend='tvm_ffi')\n"
        "open('wall', 'w').write(str(time.monotonic_ns() - begin))\n",
    )
    (compile_,) = seen.of("compile")
    assert compile_.name == "gemm"
    assert compile_.arguments["backend"] == "tvm_ffi"
    assert json.loads(compile_.arguments["target"])["arch"] == "sm_80"
    assert compile_.end - compile_.begin > 0.95 * int((tmp_path / "wall").read_text())
    assert seen.covered(compile_) > 0.95
    (nvcc,) = seen.of("tool")
    assert (nvcc.name, nvcc.arguments["exit_code"]) == ("nvcc", 0)
    assert seen.rows[nvcc.parent].name == "target.build.tilelang_cuda"
    assert [row.name for row in seen.of("codegen")] == [
        "target.build.tilelang_cuda",
        "target.build.tilelang_c_host",
    ]


def test_lower_is_a_compile_too(kernels: Any, tilelang: Any, tmp_path: Path) -> None:
    with tilelang_trace.record(tmp_path / "x.pftrace"), tilelang.tvm.target.Target(A100):
        tilelang.lower(kernels.gemm, target=A100)
    seen = Recorded(tmp_path / "x.pftrace")
    (compile_,) = seen.of("compile")
    assert (compile_.name, compile_.status) == ("gemm", "ok")
    assert compile_.arguments["file"] == str(KERNELS)
    assert seen.covered(compile_) > 0.95
    assert not seen.of("tool")


def test_contexts_and_compiles_keep_their_own_kernels(
    kernels: Any, tilelang: Any, tmp_path: Path
) -> None:
    """A user's context, with its first pass after a compile inside it."""
    transform = tilelang.tvm.tirx.transform
    with (
        tilelang_trace.record(tmp_path / "x.pftrace"),
        tilelang.tvm.transform.PassContext(),
        tilelang.tvm.target.Target(A100),
    ):
        with tilelang.tvm.transform.PassContext():
            tilelang.lower(kernels.gemm, target=A100)
        transform.Simplify()(tilelang.tvm.IRModule({"add_one": kernels.add_one}))
    seen = Recorded(tmp_path / "x.pftrace")
    assert [row.arguments["kernel"] for row in seen.of("context")] == ["add_one", "gemm"]
    assert [row.arguments["kernel"] for row in seen.of("compile")] == ["gemm"]
    assert all("kernel" not in row.arguments for row in seen.of("pass") + seen.of("step"))


class TestCache:
    SCRIPT = (
        "import tilelang\n"
        "from tests.integration.tilelang_kernels import add_one\n"
        "for _ in range(2):\n"
        "    tilelang.compile(add_one, target='c', execution_backend='cython')\n"
    )

    @needs_gxx
    def test_hits_and_misses(self, tmp_path: Path) -> None:
        cache = {"TILELANG_DISABLE_CACHE": "0", "TILELANG_CACHE_DIR": str(tmp_path / "cache")}
        first = run_script(tmp_path, self.SCRIPT, **cache)
        second = run_script(tmp_path, self.SCRIPT, **cache)
        assert [row.arguments["cache"] for row in first.of("compile")] == ["miss", "hit"]
        assert [row.arguments["cache"] for row in second.of("compile")] == ["hit", "hit"]
        assert {row.name for row in second.of("compile")} == {"add_one"}
        assert "save to cache" in [row.name for row in first.of("step")]
        from_disk, from_memory = second.of("compile")
        assert "load from cache" in [row.name for row in second.below(from_disk)]
        assert "load from cache" not in [row.name for row in second.below(from_memory)]
        assert not second.of("pass")
        assert not second.of("tool")

    @needs_gxx
    def test_repeated_runs_find_nothing_in_the_cache(self, tmp_path: Path) -> None:
        cache = {"TILELANG_DISABLE_CACHE": "0", "TILELANG_CACHE_DIR": str(tmp_path / "cache")}
        run_script(tmp_path, self.SCRIPT, **cache)
        again = run_script(tmp_path, self.SCRIPT, "--repeat", "1", output="out.1.pftrace", **cache)
        assert len(again.of("compile")) == 2
        assert not any("cache" in row.arguments for row in again.of("compile"))
        assert again.of("pass")


class TestFailures:
    def test_in_a_pass(self, kernels: Any, tilelang: Any, tmp_path: Path) -> None:
        with (
            tilelang_trace.record(tmp_path / "x.pftrace"),
            pytest.raises(Exception, match=r"[Ll]ayout"),
        ):
            tilelang.compile(kernels.no_layout, target=A100, execution_backend="tvm_ffi")
        seen = Recorded(tmp_path / "x.pftrace")
        failed = [row for row in seen.rows if row.status == "failed"]
        assert [(row.kind, row.name) for row in failed] == [("pass", "tl.LayoutInference")]
        (compile_,) = seen.of("compile")
        assert (compile_.name, compile_.status) == ("no_layout", "incomplete")
        assert compile_.arguments["error"]["message"] == failed[0].arguments["error"]["message"]

    @needs_nvcc
    def test_in_nvcc(self, kernels: Any, tilelang: Any, tmp_path: Path) -> None:
        flags = ["--no-such-option", "--token=abc123"]
        with (
            tilelang_trace.record(tmp_path / "x.pftrace"),
            pytest.raises(RuntimeError, match="no-such-option"),
        ):
            tilelang.compile(
                kernels.gemm, target=A100, execution_backend="tvm_ffi", compile_flags=flags
            )
        seen = Recorded(tmp_path / "x.pftrace")
        (failed,) = [row for row in seen.rows if row.status == "failed"]
        assert (failed.kind, failed.name) == ("tool", "nvcc")
        assert failed.arguments["exit_code"] == 1
        assert "--no-such-option" in failed.arguments["error"]["message"]
        assert "--no-such-option" in failed.arguments["command"]
        assert "--token=***" in failed.arguments["command"]
        (compile_,) = seen.of("compile")
        assert compile_.status == "incomplete"

    def test_the_exception_and_its_traceback_are_those_of_tilelang(
        self, kernels: Any, tilelang: Any, tmp_path: Path
    ) -> None:
        def fail() -> list[str]:
            with pytest.raises(AssertionError) as raised:
                tilelang.compile(kernels.gemm, target="nonsense")
            trace, files = raised.value.__traceback__, []
            while trace is not None:
                files.append(trace.tb_frame.f_code.co_filename)
                trace = trace.tb_next
            return files

        plain = fail()
        with tilelang_trace.record(tmp_path / "x.pftrace"):
            recorded = fail()
        if sys.version_info >= (3, 11):
            assert recorded == plain


class TestAutotune:
    @needs_gxx
    def test_candidates_in_threads(
        self, kernels: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TILELANG_AUTO_TUNING_CPU_COUNTS", "2")
        monkeypatch.chdir(tmp_path)  # TileLang writes autotuner.log
        with (
            tilelang_trace.record(tmp_path / "x.pftrace"),
            pytest.raises(RuntimeError, match="Auto-tuning failed"),  # it can't measure on a CPU
        ):
            kernels.tuned(kernels.N)
        seen = Recorded(tmp_path / "x.pftrace")
        found = {
            row.arguments["configuration"]["block"]: (row.name, row.arguments["kernel"], row.status)
            for row in seen.of("compile")
        }
        assert len(seen.of("compile")) == len(kernels.BLOCKS)
        ok = ("tuned", "scale", "ok")
        assert found == {32: ok, 64: ok, 128: ok, 0: ("tuned", "tuned", "incomplete")}
        (failed,) = [row for row in seen.rows if row.status == "failed"]
        assert failed.name == "elaborate"
        assert failed.arguments["error"]["message"] == "a block of nothing"
        for row in seen.of("compile"):
            assert row.thread is not None
            if row.status == "ok":
                assert seen.covered(row) > 0.95

    @needs_nvcc
    @pytest.mark.parametrize("grouped", [False, True], ids=["single", "grouped"])
    def test_candidates_for_a_gpu(
        self,
        kernels: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        grouped: bool,
    ) -> None:
        from tilelang.autotuner import AutoTuner

        monkeypatch.setenv("TILELANG_AUTO_TUNING_CPU_COUNTS", "2")
        monkeypatch.chdir(tmp_path)
        tuner = AutoTuner.from_kernel(
            kernels.tuned_gemm, configs=[{"block_k": size} for size in (32, 20)]
        )
        tuner.set_compile_args(target=A100, execution_backend="tvm_ffi")
        with tilelang_trace.record(tmp_path / "x.pftrace"), pytest.raises(RuntimeError):
            tuner.run(warmup=1, rep=1, timeout=5, enable_grouped_compile=grouped)
        seen = Recorded(tmp_path / "x.pftrace")
        candidates = [row for row in seen.of("compile") if "configuration" in row.arguments]
        assert {row.arguments["configuration"]["block_k"]: row.status for row in candidates} == {
            32: "ok",
            20: "incomplete",
        }
        assert {row.name for row in candidates} == {"tuned_gemm"}
        assert {row.arguments["backend"] for row in candidates} == {"tvm_ffi"}
        (failed,) = [row for row in seen.rows if row.status == "failed"]
        assert failed.kind == "pass"
        groups = [row for row in seen.of("compile") if "configuration" not in row.arguments]
        assert [row.name for row in groups] == (["group of 2 candidates"] if grouped else [])
        for group in groups:
            assert seen.covered(group) > 0.95
            assert {row.parent for row in candidates} == {group.number}


class TestWhenRecordingBegins:
    @pytest.mark.parametrize("imported_first", [False, True])
    def test_before_or_after_the_import(self, tmp_path: Path, imported_first: bool) -> None:
        imports = ["import tilelang", "from tests.integration.tilelang_kernels import gemm"]
        inside = [] if imported_first else imports
        lines = [
            "import tilelang_trace",
            *(imports if imported_first else ()),
            "with tilelang_trace.record('x.pftrace'):",
            *(f"    {line}" for line in inside),
            f"    with tilelang.tvm.target.Target({A100}):",
            f"        tilelang.lower(gemm, target={A100})",
        ]
        (tmp_path / "script.py").write_text("\n".join(lines), encoding="utf-8")
        root = str(KERNELS.parents[2])
        subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": root},
            check=True,
        )
        seen = Recorded(tmp_path / "x.pftrace")
        assert [(row.name, row.status) for row in seen.of("compile")] == [("gemm", "ok")]
        assert len(seen.of("codegen")) == 1

    def test_two_recordings_at_once(self, kernels: Any, tilelang: Any, tmp_path: Path) -> None:
        target = tilelang.tvm.target.Target(A100)
        with target, tilelang_trace.record(tmp_path / "all.pftrace"):
            tilelang.lower(kernels.gemm, target=A100)
            with tilelang_trace.record(tmp_path / "part.pftrace"):
                tilelang.lower(kernels.gemm, target=A100)
        assert len(Recorded(tmp_path / "all.pftrace").of("compile")) == 2
        assert len(Recorded(tmp_path / "part.pftrace").of("compile")) == 1


def test_tilelang_and_subprocess_are_as_before(kernels: Any, tilelang: Any, tmp_path: Path) -> None:
    modules = [
        module
        for name, module in sorted(sys.modules.items())
        if name == "subprocess" or name.partition(".")[0] == "tilelang"
    ]
    owners: list[Any] = [*modules]
    for module in modules:
        owners += [value for value in vars(module).values() if isinstance(value, type)]
    factories = sys.modules["tilelang.instrumentation.session"]._tool_factories

    def state() -> list[dict[str, Any]]:
        ignored = {"__doc__", "__annotations__"}
        return [
            {name: id(value) for name, value in vars(owner).items() if name not in ignored}
            for owner in owners
        ]

    before, tools = state(), dict(factories)
    with tilelang_trace.record(tmp_path / "x.pftrace"):
        assert state() != before
    assert state() == before
    assert factories == tools


@pytest.mark.parametrize(
    "missing",
    [
        ("tilelang.jit", "cached"),
        ("tilelang.cache", "_resolve_cache_dispatch"),
        ("tilelang.instrumentation", "register_pass_instrumentation_tool"),
    ],
    ids=lambda missing: missing[1],
)
@needs_gxx
def test_a_function_that_is_not_there_costs_a_slice_and_nothing_else(
    tmp_path: Path, missing: tuple[str, str]
) -> None:
    """As in a TileLang of another version: what TileLang itself needs stays in its own modules."""
    module, name = missing
    seen = run_script(
        tmp_path,
        "from tilelang_trace.recording.wrapping import Patches\n"
        "wrap = Patches.wrap\n"
        "def without(patches, owner, name, wrapper):\n"
        f"    if name == {name!r}: return False\n"
        "    return wrap(patches, owner, name, wrapper)\n"
        "Patches.wrap = without\n"
        "import tilelang_trace.recording.hooks.tilelang.hooks as hooks\n"
        + (
            "hooks._Wrapping._register_tool = lambda self: None\n"
            if "instrumentation" in module
            else ""
        )
        + "import tilelang\n"
        "from tests.integration.tilelang_kernels import add_one\n"
        "tilelang.compile(add_one, target='c', execution_backend='cython')\n",
    )
    assert [(row.name, row.status) for row in seen.of("compile")] == [("add_one", "ok")]
    assert len(seen.of("tool")) == 1
