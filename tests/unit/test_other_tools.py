"""Traces in the manner of tools that are not installed where tests run: the words and numbers are
made up, the form is the tool's. (`tests/perfetto/test_other_tools.py` has files of real ones.)
"""

# ruff: noqa: E501 (events stand in lines, as the tools write them)

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.commands import main
from tilelang_trace.errors import UserError
from tilelang_trace.trace.model import Trace

Span = tuple[str, int, int]
"""Name, begin and end, ns."""


@dataclass(frozen=True)
class Form:
    """A file in the manner of a tool, and what is in it."""

    content: str
    threads: dict[str, list[Span]]
    """The slices of each thread, by begin; what lies on no thread under the empty name."""
    instants: list[str] = field(default_factory=list)
    counters: dict[str, list[float]] = field(default_factory=dict)
    flows: list[tuple[str, str]] = field(default_factory=list)


FORMS = {
    # Bazel --profile (src/main/java/com/google/devtools/build/lib/profiler/JsonTraceFileWriter):
    # an object with "otherData", time before the start, counters as text, tid 0.
    "bazel": Form(
        """{"otherData":{"build_id":"7","date":"Fri Jan 02 2026"},"traceEvents":[
    {"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"Critical Path"}},
    {"name":"thread_name","ph":"M","pid":1,"tid":18,"args":{"name":"Main Thread"}},
    {"name":"thread_sort_index","ph":"M","pid":1,"tid":18,"args":{"sort_index":"-1"}},
    {"cat":"build phase marker","name":"Launch Blaze","ph":"X","ts":-2000,"dur":2000,"pid":1,"tid":18},
    {"cat":"build phase marker","name":"Initialize command","ph":"i","ts":0,"pid":1,"tid":18},
    {"cat":"action processing","name":"Compile a.c","ph":"X","ts":10,"dur":500,"out":"a.o","args":{"target":"//:a"},"pid":1,"tid":18},
    {"cat":"critical path component","name":"action 'Compile a.c'","ph":"X","ts":10,"dur":500,"pid":1,"tid":0},
    {"name":"action counters","ph":"C","ts":100,"pid":1,"tid":18,"args":{"action":"0.5"}},
    {"name":"action counters","ph":"C","ts":200,"pid":1,"tid":18,"args":{"action":"1"}}
  ]
}""",
        {
            "Critical Path": [("action 'Compile a.c'", 10_000, 510_000)],
            "Main Thread": [("Launch Blaze", -2_000_000, 0), ("Compile a.c", 10_000, 510_000)],
        },
        instants=["Initialize command"],
        counters={"action counters": [0.5, 1]},
    ),
    # rustc -Zself-profile through crox (measureme, crox/src/main.rs): an array, floats in µs.
    "crox": Form(
        """[{"name":"process_name","ph":"M","ts":0,"cat":"","pid":9,"tid":0,"args":{"name":"9 main"}},
{"name":"typeck","cat":"Query","ph":"X","ts":12.345,"dur":1000.5,"pid":9,"tid":1,"args":{"arg0":"main"}},
{"name":"mir_borrowck","cat":"Query","ph":"X","ts":13.5,"dur":20.25,"pid":9,"tid":1,"args":null}]""",
        {"1": [("typeck", 12_345, 1_012_845), ("mir_borrowck", 13_500, 33_750)]},
    ),
    # ONNX Runtime (onnxruntime/core/common/profiler.cc): an array that is closed only at the end.
    "onnxruntime, killed": Form(
        """[
{"cat" : "Session","pid" :7,"tid" :7,"dur" :30,"ts" :5,"ph" : "X","name" :"model_run","args" : {}},
{"cat" : "Node","pid" :7,"tid" :7,"dur" :20,"ts" :8,"ph" : "X","name" :"mm_kernel_time","args" : {"op_name" : "MatMul"}},
""",
        {"7": [("model_run", 5_000, 35_000), ("mm_kernel_time", 8_000, 28_000)]},
    ),
    # jax.profiler and TensorFlow (xla/tsl/profiler/convert/trace_events_to_json.cc): the list ends
    # with an empty object, times have many decimals.
    "jax": Form(
        """{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"args":{"name":"/host:CPU"},"name":"process_name","ph":"M","pid":701},
{"args":{"sort_index":701},"name":"process_sort_index","ph":"M","pid":701},
{"args":{"name":"python"},"name":"thread_name","ph":"M","pid":701,"tid":3},
{"args":{"long_name":"jit_f"},"dur":4.25,"name":"PjitFunction(f)","ph":"X","pid":701,"tid":3,"ts":1.001},
{}]}""",
        {"python": [("PjitFunction(f)", 1_001, 5_251)]},
    ),
    # py-spy record -f chrometrace (src/chrometrace.rs): B and E, threads by their pthread id.
    "py-spy": Form(
        """[{"args":{"filename":"a.py","line":1},"cat":"py-spy","name":"<module>","ph":"B","pid":8,"tid":140635004562304,"ts":100},
{"args":{"filename":"a.py","line":3},"cat":"py-spy","name":"f","ph":"B","pid":8,"tid":140635004562304,"ts":100},
{"args":{"filename":"a.py","line":3},"cat":"py-spy","name":"f","ph":"E","pid":8,"tid":140635004562304,"ts":900},
{"args":{"filename":"a.py","line":1},"cat":"py-spy","name":"<module>","ph":"E","pid":8,"tid":140635004562304,"ts":1000}]""",
        {"140635004562304": [("<module>", 100_000, 1_000_000), ("f", 100_000, 900_000)]},
    ),
    # go tool trace, /jsontrace (cmd/trace, internal/traceviewer): flows by number, counters with
    # several series, stacks by reference.
    "go": Form(
        """{"displayTimeUnit":"ns"
,"traceEvents": [{"name":"G1","ph":"X","ts":0,"dur":7.5,"pid":0,"tid":0,"sf":2,"cname":"good"}
,{"name":"go","ph":"s","ts":1,"pid":0,"tid":0,"id":1,"sf":1}
,{"name":"go","ph":"t","ts":9,"pid":0,"tid":1,"id":1}
,{"name":"G6","ph":"X","ts":8.25,"dur":3,"pid":0,"tid":1,"sf":3}
,{"name":"Threads","ph":"C","ts":0,"pid":1,"tid":0,"args":{"Running":1,"InSyscall":0}}
,{"name":"proc start","ph":"i","s":"t","ts":0,"pid":0,"tid":0,"args":{"thread":4}}
,{"name":"process_name","ph":"M","ts":0,"pid":0,"tid":0,"args":{"name":"PROCS"}}
,{"name":"thread_name","ph":"M","ts":0,"pid":0,"tid":0,"args":{"name":"Proc 0"}}
,{"name":"thread_name","ph":"M","ts":0,"pid":0,"tid":1,"args":{"name":"Proc 1"}}],
"stackFrames": {"1":{"name":"main.main:6"},"2":{"name":"runtime.main"},"3":{"name":"main.f"}}}""",
        {"Proc 0": [("G1", 0, 7_500)], "Proc 1": [("G6", 8_250, 11_250)]},
        instants=["proc start"],
        counters={"Threads": [1, 0]},
        flows=[("G1", "G6")],
    ),
    # clang 20 and later (LLVM, TimeProfiler.cpp): includes come as pairs on a row of their own, all
    # with one id, the inner one first; the sums of each name on threads of their own.
    "clang 20": Form(
        """{"traceEvents":[
{"pid":5,"tid":5,"ts":20,"cat":"Source","ph":"b","id":0,"name":"Source","args":{"detail":"b.h"}},
{"pid":5,"tid":5,"ts":30,"cat":"Source","ph":"e","id":0,"name":"Source"},
{"pid":5,"tid":5,"ts":10,"cat":"Source","ph":"b","id":0,"name":"Source","args":{"detail":"a.h"}},
{"pid":5,"tid":5,"ts":45,"cat":"Source","ph":"e","id":0,"name":"Source"},
{"pid":5,"tid":5,"ph":"X","ts":5,"dur":50,"name":"Frontend"},
{"pid":5,"tid":5,"ph":"X","ts":0,"dur":60,"name":"ExecuteCompiler"},
{"pid":5,"tid":6,"ph":"X","ts":0,"dur":60,"name":"Total ExecuteCompiler","args":{"count":1,"avg ms":0}},
{"cat":"","pid":5,"tid":5,"ts":0,"ph":"M","name":"thread_name","args":{"name":"clang-20"}}],
"beginningOfTime":1760000000000000}""",
        {
            "clang-20": [("ExecuteCompiler", 0, 60_000), ("Frontend", 5_000, 55_000)],
            "6": [("Total ExecuteCompiler", 0, 60_000)],
            "": [("Source", 10_000, 45_000), ("Source", 20_000, 30_000)],
        },
    ),
    # Kineto with a GPU (libkineto, output_json.cpp): streams as threads, arrows from the launch to
    # the kernel, pids and tids as text, epoch times with three decimals.
    "pytorch on a GPU": Form(
        """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "GPU"}],
  "traceEvents": [
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 40, "tid": 40, "ts": 1760000000000100.250, "dur": 4.500, "args": {"correlation": 3}},
  {"ph": "s", "id": 3, "pid": 40, "tid": 40, "ts": 1760000000000100.250, "cat": "ac2g", "name": "ac2g"},
  {"ph": "X", "cat": "kernel", "name": "gemm<float>", "pid": 0, "tid": 7, "ts": 1760000000000110.001, "dur": 80.000, "args": {"stream": 7}},
  {"ph": "f", "id": 3, "pid": 0, "tid": 7, "ts": 1760000000000110.001, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"name": "thread_name", "ph": "M", "ts": 1760000000000100.250, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}},
  {"ph": "X", "cat": "Trace", "ts": 1760000000000100.000, "dur": 100.000, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
  {"name": "process_sort_index", "ph": "M", "ts": 1760000000000100.000, "pid": "Spans", "tid": 0, "args": {"sort_index": 536870912}}
  ], "traceName": "a.pt.trace.json"
}""",
        {
            "40": [("cudaLaunchKernel", 1760000000000100250, 1760000000000104750)],
            "stream 7 ": [("gemm<float>", 1760000000000110001, 1760000000000190001)],
            "PyTorch Profiler": [
                ("PyTorch Profiler (0)", 1760000000000100000, 1760000000000200000)
            ],
        },
        flows=[("cudaLaunchKernel", "gemm<float>")],
    ),
    # PyTorch's list of events, as all of it was written once (torch/autograd/profiler_util.py): an
    # array on one line, the pid a text, arrows to the kernels.
    "pytorch, events": Form(
        """[{"name": "aten::mm", "ph": "X", "ts": 10.5, "dur": 20.25, "tid": 1, "pid": "CPU functions", "args": {}}, {"name": "aten::mm", "ph": "s", "ts": 10.5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda", "args": {}}, {"name": "aten::mm", "ph": "f", "ts": 40.0, "tid": 7, "pid": "CUDA functions", "id": 0, "cat": "cpu_to_cuda", "bp": "e", "args": {}}, {"name": "sgemm", "ph": "X", "ts": 39.0, "dur": 8.0, "tid": 7, "pid": "CUDA functions", "args": {}}]""",
        {"1": [("aten::mm", 10_500, 30_750)], "7": [("sgemm", 39_000, 47_000)]},
        flows=[("aten::mm", "sgemm")],
    ),
    # Horovod (horovod/common/timeline.cc): an array that is never closed, pids for tensors, B and E
    # without names.
    "horovod": Form(
        """[
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad"}},
{"name": "process_sort_index", "ph": "M", "pid": 1, "args": {"sort_index": 1}},
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 100, "pid": 1},
{"ph": "X", "name": "0", "ts": 120, "pid": 1, "dur": 0},
{"ph": "E", "ts": 150, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": 200, "pid": 1},
{"ph": "E", "ts": 290, "pid": 1, "args": {"dtype": "float32"}},
""",
        {
            "1": [
                ("NEGOTIATE_ALLREDUCE", 100_000, 150_000),
                ("0", 120_000, 120_001),
                ("ALLREDUCE", 200_000, 290_000),
            ]
        },
    ),
    # Chromium through about:tracing (base/trace_event): ftrace text beside the events, "tts".
    "about:tracing": Form(
        """{"traceEvents":[{"args":{"name":"CrBrowserMain"},"cat":"__metadata","name":"thread_name","ph":"M","pid":3,"tid":4,"ts":0},
{"args":{},"cat":"toplevel","dur":25,"name":"RunTask","ph":"X","pid":3,"tdur":20,"tid":4,"ts":500,"tts":90},
{"args":{},"cat":"net","id":"0x1f","name":"URLRequest","ph":"b","pid":3,"scope":"net","tid":4,"ts":505},
{"args":{},"cat":"net","id":"0x1f","name":"URLRequest","ph":"e","pid":3,"scope":"net","tid":4,"ts":700}],
"systemTraceEvents":"# tracer: nop\\n<idle>-0 [000] d..0 88.8: cpu_idle: state=0","metadata":{"os-name":"Linux"}}""",
        {"CrBrowserMain": [("RunTask", 500_000, 525_000)], "": [("URLRequest", 505_000, 700_000)]},
    ),
    # TypeScript --generateTrace (src/compiler/tracing.ts): an unnamed main thread, one event a line.
    "tsc": Form(
        """[
{"name":"process_name","args":{"name":"tsc"},"cat":"__metadata","ph":"M","ts":1,"pid":1,"tid":1},
{"name":"thread_name","args":{"name":"Main"},"cat":"__metadata","ph":"M","ts":1,"pid":1,"tid":1},
{"name":"TracingStartedInBrowser","cat":"disabled-by-default-devtools.timeline","ph":"M","ts":1,"pid":1,"tid":1},
{"pid":1,"tid":1,"ph":"B","cat":"program","ts":10.5,"name":"createProgram","args":{"configFilePath":"/a"}},
{"pid":1,"tid":1,"ph":"X","cat":"check","ts":11.25,"name":"checkExpression","dur":2.125,"args":{"kind":209}},
{"pid":1,"tid":1,"ph":"E","cat":"program","ts":20,"name":"createProgram"}
]
""",
        {"Main": [("createProgram", 10_500, 20_000), ("checkExpression", 11_250, 13_375)]},
    ),
}


def shown(trace: Trace) -> dict[str, list[Span]]:
    """The slices of each thread, by begin; outer ones first."""
    found: dict[str, list[Span]] = {}
    slices = trace.slices
    for row in range(len(slices)):
        thread = trace.lanes[int(slices.lane[row])].thread
        name = "" if thread is None else trace.threads[thread].name
        span = (trace.name(row), int(slices.begin[row]), int(slices.end[row]))
        found.setdefault(name, []).append(span)
    return {name: sorted(spans, key=lambda s: (s[1], -s[2])) for name, spans in found.items()}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_form_of_another_tool(form: Form, compress: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(compress(form.content.encode()))
    trace = tilelang_trace.read(path)

    assert shown(trace) == form.threads
    assert [trace.strings[i] for i in trace.instants.name.tolist()] == form.instants
    values: dict[str, list[float]] = {}
    for track, value in zip(trace.counters.track.tolist(), trace.counters.value.tolist()):
        values.setdefault(trace.counter_tracks[track].name, []).append(value)
    assert values == form.counters
    arrows = [tuple(map(trace.name, flow)) for flow in trace.flows.tolist()]
    assert arrows == form.flows


@pytest.mark.parametrize("ending", [".pftrace", ".json"])
def test_it_is_converted(form: Form, ending: str, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(form.content)
    trace = tilelang_trace.read(tmp_path / "trace")
    tilelang_trace.write(trace, tmp_path / f"ours{ending}")

    ours = tilelang_trace.read(tmp_path / f"ours{ending}")
    assert not ours.findings
    assert sorted(shown(ours).values()) == sorted(form.threads.values())


@pytest.mark.parametrize(
    "content",
    [
        # py-spy, speedscope.app: a schema of its own.
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"shared":{}}',
        # Node --cpu-prof and Chrome's CPU profiles.
        b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"startTime":1,"samples":[]}',
        # tsc --generateTrace writes this beside the trace.
        b'[{"configFilePath":"/a","tracePath":"/t/trace.json","typesPath":"/t/types.json"}]',
        b"# ninja log v5\n0\t16\t1796099039623501280\ta.o\tb83cff0a9a003cc9\n",
        b"go 1.19 trace\x00\x00\x00",
        b"MMPD\x09\x00\x00\x00",
    ],
    ids=["speedscope", "cpuprofile", "tsc legend", "ninja", "go", "rustc"],
)
def test_what_is_no_trace_is_refused_in_a_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(UserError) as refused:
        tilelang_trace.read(tmp_path / "file.json")
    assert "\n" not in str(refused.value)


# ----------------------------------------------------------------------------- report and compare


def llvm(*spans: tuple[str, int, int, str], sums: bool = True) -> str:
    """A file as clang writes it: (name, ts, dur, detail), and the sums of each name."""
    events: list[dict[str, Any]] = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": ts, "dur": dur, "name": name, "args": {"detail": d}}
        for name, ts, dur, d in spans
    ]
    for tid, name in enumerate(sorted({name for name, *_ in spans}), 2):
        dur = sum(span[2] for span in spans if span[0] == name)
        arguments = {"count": 1, "avg ms": dur // 1000}
        total = {"ph": "X", "pid": 1, "tid": tid, "ts": 0, "dur": dur, "name": f"Total {name}"}
        events += [{**total, "args": arguments}] * sums
    return json.dumps({"traceEvents": events})


def test_the_sums_of_a_tool_are_not_counted(tmp_path: Path) -> None:
    spans = (("ExecuteCompiler", 0, 100, ""), ("Source", 10, 40, "a.h"), ("Source", 60, 30, "b.h"))
    path = tmp_path / "a.json"
    path.write_text(llvm(*spans))
    summary = summarize(tilelang_trace.read(path))

    assert summary.total_ns == summary.wall_ns == 100_000
    assert summary.sums == 2
    found = {entry.name: (entry.self_ns, entry.inclusive_ns) for entry in summary.passes}
    assert found == {"ExecuteCompiler": (30_000, 100_000), "Source": (70_000, 70_000)}
    assert [run.detail for run in summary.slowest] == ["a.h", "", "b.h"]
    # A slice of that name without LLVM's argument is work like any other.
    path.write_text(llvm(("Total Source", 0, 100, "a.h"), sums=False))
    assert summarize(tilelang_trace.read(path)).total_ns == 100_000


def test_the_slice_that_frames_a_profile_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(FORMS["pytorch on a GPU"].content)
    summary = summarize(tilelang_trace.read(tmp_path / "a.json"))

    assert summary.sums == 1
    assert {entry.name for entry in summary.passes} == {"cudaLaunchKernel", "gemm<float>"}
    assert summary.total_ns == 84_500


def test_slices_of_no_thread_are_told_and_not_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(FORMS["clang 20"].content)
    summary = summarize(tilelang_trace.read(tmp_path / "a.json"))

    assert (summary.total_ns, summary.off_threads) == (60_000, 2)
    assert summary.largest_off_threads == (("Source", 35_000),)


def test_traces_of_another_tool_are_compared(tmp_path: Path) -> None:
    base, new = tmp_path / "base.json", tmp_path / "new.json"
    base.write_text(llvm(("ExecuteCompiler", 0, 100, ""), ("Source", 10, 40, "a.h")))
    new.write_text(llvm(("ExecuteCompiler", 0, 130, ""), ("Source", 10, 70, "a.h")))
    comparison = tilelang_trace.compare(base, new)

    assert comparison.of_all_categories
    assert (comparison.total.base_ns, comparison.total.new_ns) == (100_000, 130_000)
    assert [(e.name, e.change, e.self_delta_ns) for e in comparison.passes] == [
        ("ExecuteCompiler", "matched", 0),
        ("Source", "matched", 30_000),
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["report", "base.json"],
        ["report", "--format", "markdown", "base.json"],
        ["compare", "base.json", "new.json"],
        ["compare", "--by", "path", "base.json", "new.json"],
        ["compare", "--by", "phase", "base.json", "new.json"],
        ["compare", "--format", "markdown", "base.json", "new.json"],
        ["bundle", "base.json", "--print", "-o", "base.zip"],
    ],
    ids=" ".join,
)
def test_what_is_said_is_not_of_passes(
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    spans = [("ExecuteCompiler", 0, 100, ""), ("Source", 10, 40, "a.h")]
    Path("base.json").write_text(llvm(*spans))
    Path("new.json").write_text(llvm(*spans, ("Source", 60, 7, "b.h")))
    assert main(command) == 0

    said = capsys.readouterr().out
    assert "ExecuteCompiler" in said or "--by" in command
    assert "slice" in said and "Total Source" not in said
    assert not re.search("pass", said.replace("there are no passes", ""))


def test_a_compile_is_not_compared_with_another_tools_trace(tmp_path: Path) -> None:
    base, new = tmp_path / "base.json", tmp_path / "new.json"
    base.write_text(llvm(("ExecuteCompiler", 0, 100, "")))
    new.write_text(
        '[{"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "name": "A", "cat": "pass"}]'
    )
    with pytest.raises(
        UserError, match=r"base.json \(base\): another tool wrote it, and the other"
    ):
        tilelang_trace.compare(base, new)
