"""Files that other tools write, made on the spot: what is read is what the tool did, and what
Perfetto's engine shows of the file.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.peers import agrees, names
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.trace.model import Trace


def tool(name: str) -> str:
    """The path of a program; the test is skipped where it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run(*command: str | Path, cwd: Path) -> None:
    """Run a program, which must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def phases(path: Path) -> Counter[str]:
    """How many events of each phase a file has."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    value = json.loads(content)
    events = value["traceEvents"] if isinstance(value, dict) else value
    return Counter(event["ph"] for event in events)


def count_of(trace: Trace, name: str) -> int:
    """How many slices and instants have a name that begins so."""
    return sum(count for known, (count, _) in names(trace).items() if known.startswith(name))


# -------------------------------------------------------------------------------------- viztracer

VIZTRACER = """
import asyncio, multiprocessing, threading
from viztracer import get_tracer
from viztracer.vizcounter import VizCounter
from viztracer.vizobject import VizObject

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

async def nap():
    await asyncio.sleep(0)
    fib(1)

async def naps():
    await asyncio.gather(nap(), nap())

if __name__ == "__main__":
    tracer = get_tracer()
    fib(5)
    counter = VizCounter(tracer, "load")
    counter.first, counter.second, counter.first = 1, 2.5, 3
    VizObject(tracer, "state").text = "running"
    tracer.log_instant("here", {"n": 3})
    with tracer.log_event("<block>"):
        pass
    asyncio.run(naps())
    worker = threading.Thread(target=fib, args=(3,), name="worker")
    worker.start()
    worker.join()
    child = multiprocessing.get_context("spawn").Process(target=fib, args=(4,), name="child")
    child.start()
    child.join()
"""


@pytest.fixture(scope="module")
def viztracer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("viztracer", reason="viztracer is not installed")
    folder = tmp_path_factory.mktemp("viztracer")
    (folder / "script.py").write_text(VIZTRACER)
    viztracer = (sys.executable, "-m", "viztracer", "--quiet")
    run(*viztracer, "--log_async", "-o", "one.json", "--", "script.py", cwd=folder)
    return folder / "one.json"


def test_viztracer_with_a_thread_a_process_and_tasks(
    viztracer_file: Path, perfetto_engine: Any
) -> None:
    trace = agrees(perfetto_engine, viztracer_file)

    assert len(trace.slices) == phases(viztracer_file)["X"]
    # fib(n) is called 15 times for 5, 5 for 3, 9 for 4, and once in each nap.
    assert count_of(trace, "fib (") == 15 + 5 + 9 + 2
    assert count_of(trace, "<block>") == count_of(trace, "here") == 1
    assert "worker" in [thread.name for thread in trace.threads]
    assert len({process.pid for process in trace.processes}) == 2
    values = zip(trace.counters.track.tolist(), trace.counters.value.tolist())
    loads: dict[str, list[float]] = {}
    for track, value in values:
        loads.setdefault(f"{track}", []).append(value)
    assert sorted(loads.values()) == [[1, 1, 3], [2.5, 2.5]]


def test_viztracer_combined(viztracer_file: Path, perfetto_engine: Any) -> None:
    folder = viztracer_file.parent
    shutil.copy(viztracer_file, folder / "two.json")
    viztracer = (sys.executable, "-m", "viztracer", "--quiet")
    run(*viztracer, "--combine", "one.json", "two.json", "-o", "both.json", cwd=folder)
    trace = agrees(perfetto_engine, folder / "both.json")

    one = names(tilelang_trace.read(viztracer_file))
    assert names(trace) == {name: (2 * count, 2 * ns) for name, (count, ns) in one.items()}


# ------------------------------------------------------------------------------------ LLVM, cmake

SOURCE = """
template <int N> struct Sum { static int of(int x) { return Sum<N - 1>::of(x) + x * N; } };
template <> struct Sum<0> { static int of(int x) { return x; } };
int main(int count, char **) { return Sum<100>::of(count); }
"""


def compiled(folder: Path, *options: str) -> Path:
    """A time trace of clang."""
    clang = tool("clang++")
    (folder / "sum.cpp").write_text(SOURCE)
    run(clang, "-ftime-trace", *options, "-c", "sum.cpp", "-o", "sum.o", cwd=folder)
    return folder / "sum.json"


def test_clang_time_trace(tmp_path: Path, perfetto_engine: Any) -> None:
    path = compiled(tmp_path, "-O2", "-ftime-trace-granularity=0")
    trace = tilelang_trace.read(path)
    summary = summarize(trace)
    events = [e for e in json.loads(path.read_bytes())["traceEvents"] if e["ph"] == "X"]
    totals = {e["name"][6:]: e for e in events if e["name"].startswith("Total ")}

    assert len(trace.slices) == len(events)
    assert summary.sums == len(totals) and summary.runs == len(events) - len(totals)
    # clang has added up the outermost slices of each name itself, in whole microseconds.
    assert {entry.name for entry in summary.passes} == {*totals}
    for entry in summary.passes:
        assert abs(entry.inclusive_ns - 1000 * totals[entry.name]["dur"]) <= 1000 * (
            entry.count + 1
        )
    assert summary.total_ns == pytest.approx(1000 * totals["ExecuteCompiler"]["dur"], abs=2000)

    perfetto_engine.load(path)
    shown = perfetto_engine.query("select name, count(*) as count from slice group by name")
    assert {row["name"]: row["count"] for row in shown} == {
        name: count for name, (count, _) in names(trace).items()
    }


def test_two_clang_time_traces_compared(tmp_path: Path) -> None:
    base = compiled(tmp_path, "-O0").rename(tmp_path / "base.json")
    comparison = tilelang_trace.compare(base, compiled(tmp_path, "-O2"))

    assert comparison.of_all_categories
    assert comparison.total.base_ns == summarize(tilelang_trace.read(base)).total_ns
    assert any(e.name == "ExecuteCompiler" and e.change == "matched" for e in comparison.passes)
    assert not any(e.name.startswith("Total ") for e in comparison.passes)


def test_cmake_profile(tmp_path: Path, perfetto_engine: Any) -> None:
    cmake = tool("cmake")
    lines = ["cmake_minimum_required(VERSION 3.18)", "project(nothing NONE)"]
    lines += ["foreach(i RANGE 1 7)", "  string(APPEND text x)", "endforeach()"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    profile = ("--profiling-format=google-trace", "--profiling-output=profile.json")
    run(cmake, *profile, "-S", ".", "-B", "build", cwd=tmp_path)
    trace = agrees(perfetto_engine, tmp_path / "profile.json")

    assert 2 * len(trace.slices) == phases(tmp_path / "profile.json").total()
    assert count_of(trace, "string") >= 7


# ------------------------------------------------------------------------------------------- Node

NODE = """
console.time("work");
performance.mark("begin");
for (let i = 0; i < 1e5; i++);
performance.measure("loop", "begin");
require("fs").promises.readFile(__filename).then(() => console.timeEnd("work"));
"""


def test_node_trace_events(tmp_path: Path, perfetto_engine: Any) -> None:
    (tmp_path / "work.js").write_text(NODE)
    run(tool("node"), "--trace-events-enabled", "work.js", cwd=tmp_path)
    trace = agrees(perfetto_engine, tmp_path / "node_trace.1.log")

    found, kinds = names(trace), phases(tmp_path / "node_trace.1.log")
    assert len(trace.slices) == kinds["X"] + kinds["B"] + kinds["b"]
    # console.time is a pair of events on a row of its own.
    (row,) = (r for r in range(len(trace.slices)) if trace.name(r) == "time::work")
    assert trace.lanes[int(trace.slices.lane[row])].thread is None
    assert found["Environment"][1] > found["time::work"][1] > found["FSREQPROMISE"][1] > 0


# --------------------------------------------------------------------------------------- Perfetto


def test_perfetto_trace_builder(tmp_path: Path, perfetto_engine: Any) -> None:
    builders = pytest.importorskip("perfetto.trace_builder.proto_builder")
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    event = protos.TrackEvent
    builder = builders.TraceProtoBuilder()

    def track(uuid: int, parent: int = 0, name: str = "") -> Any:
        descriptor = builder.add_packet().track_descriptor
        descriptor.uuid = uuid
        if parent:
            descriptor.parent_uuid = parent
        if name:
            descriptor.name = name
        return descriptor

    def add(ts: int, kind: int, uuid: int, name: str = "", **fields: Any) -> Any:
        packet = builder.add_packet()
        packet.timestamp, packet.trusted_packet_sequence_id = ts, 77
        packet.track_event.type, packet.track_event.track_uuid = kind, uuid
        if name:
            packet.track_event.name = name
        for key, value in fields.items():
            if isinstance(value, list):
                getattr(packet.track_event, key).extend(value)
            else:
                setattr(packet.track_event, key, value)
        return packet.track_event

    process = track(1).process
    process.pid, process.process_name = 1234, "server"
    thread = track(2, parent=1).thread
    thread.pid, thread.tid, thread.thread_name = 1234, 5678, "handler"
    track(3, name="orders")
    track(4, parent=1, name="load").counter.SetInParent()
    add(1000, event.TYPE_SLICE_BEGIN, 2, "request", flow_ids=[42], categories=["net", "rpc"])
    parse = add(1100, event.TYPE_SLICE_BEGIN, 2, "parse")
    note = parse.debug_annotations.add()
    note.name, note.int_value = "bytes", 512
    add(1400, event.TYPE_SLICE_END, 2)
    add(1500, event.TYPE_INSTANT, 2, "sent")
    add(1700, event.TYPE_SLICE_END, 2)
    add(2000, event.TYPE_SLICE_BEGIN, 3, "order", terminating_flow_ids=[42])
    add(2600, event.TYPE_SLICE_END, 3)
    add(1000, event.TYPE_COUNTER, 4, counter_value=10)
    add(1200, event.TYPE_COUNTER, 4, double_counter_value=2.5)
    path = tmp_path / "built.pftrace"
    path.write_bytes(builder.serialize())
    trace = agrees(perfetto_engine, path)

    assert names(trace) == {
        "request": (1, 700),
        "parse": (1, 300),
        "sent": (1, 0),
        "order": (1, 600),
    }
    assert trace.arguments.values("bytes") == {1: 512}
    assert [trace.category(row) for row in range(3)] == ["net,rpc", "", ""]
    assert [tuple(map(trace.name, flow)) for flow in trace.flows.tolist()] == [("request", "order")]
    assert trace.counters.value.tolist() == [10, 2.5]
    assert [(thread.name, thread.tid) for thread in trace.threads] == [("handler", 5678)]


# ---------------------------------------------------------------------------------------- PyTorch

PYTORCH = """
import torch
from torch.profiler import ProfilerActivity, profile, record_function

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
x = torch.randn(4, 8)
stacks = {"with_stack": True, "record_shapes": True}
for name, options in (("plain.json", {}), ("stacks.json.gz", stacks)):
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        for _ in range(3):
            with record_function("## step ##"):
                model(x).sum().backward()
    profiler.export_chrome_trace(name)
profiler.events().export_chrome_trace("events.json")
"""


@pytest.fixture(scope="module")
def pytorch_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = tmp_path_factory.mktemp("pytorch")
    (folder / "script.py").write_text(PYTORCH)
    run(sys.executable, "script.py", cwd=folder)
    return folder


@pytest.mark.tilelang
@pytest.mark.parametrize("name", ["plain.json", "stacks.json.gz"])
def test_pytorch_profiler(name: str, pytorch_files: Path) -> None:
    path = pytorch_files / name
    trace = tilelang_trace.read(path)
    summary = summarize(trace)
    found = names(trace)

    assert len(trace.slices) == phases(path)["X"]
    assert trace.flows.shape == (phases(path)["f"], 2)
    assert found["## step ##"][0] == 3
    assert found["aten::linear"][0] == found["aten::addmm"][0] == 6
    # The slice that frames all work is no work.
    assert summary.sums == 1 and summary.runs == len(trace.slices) - 1
    assert summary.total_ns < 2 * summary.wall_ns
    assert any(thread.name.startswith("thread ") for thread in trace.threads)


@pytest.mark.tilelang
def test_the_events_of_pytorch(pytorch_files: Path) -> None:
    trace = tilelang_trace.read(pytorch_files / "events.json")

    assert len(trace.slices) == phases(pytorch_files / "events.json")["X"]
    assert names(trace)["aten::addmm"][0] == 6
    assert [process.name for process in trace.processes] == ["CPU functions"]


@pytest.mark.tilelang
def test_pytorch_as_perfetto_shows_it(pytorch_files: Path, perfetto_engine: Any) -> None:
    agrees(perfetto_engine, pytorch_files / "plain.json")

    # With stacks, an annotation overlaps the Python function that begins it. v52 drops it then.
    path = pytorch_files / "stacks.json.gz"
    perfetto_engine.load(path)
    dropped = sum(problem["value"] for problem in perfetto_engine.problems())
    shown = perfetto_engine.scalar("select count(*) from slice where dur > 0")
    trace = tilelang_trace.read(path)
    assert shown + dropped == len(trace.slices)
    assert trace.findings.counts["overlap"] == dropped
