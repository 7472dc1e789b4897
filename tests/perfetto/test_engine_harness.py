"""The harness itself, on hand-made traces: does it tell a sound trace from each kind of broken one?

Only then does `assert not perfetto_engine.problems()` in the other tests mean anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.perfetto.engine import Engine
from tests.perfetto.fixtures import cannot_run
from tests.perfetto.ui import PerfettoUI
from tilelang_trace.engine.errors import (
    EngineCrashed,
    EngineUnavailable,
    QueryError,
    TimeLimitExceeded,
    TraceRefused,
)

SLICES = "select name, ts, dur, depth from slice order by ts, depth"


def event(ph: str, name: str, ts: float, **more: Any) -> dict[str, Any]:
    return {"ph": ph, "name": name, "ts": ts, "pid": 1, "tid": 1, **more}


def chrome_json(*events: dict[str, Any]) -> bytes:
    return json.dumps({"traceEvents": events}).encode()


NESTED = chrome_json(
    event("M", "process_name", 0, args={"name": "compiler"}),
    event("X", "outer", 1, dur=10.001, args={"shape": [8, 16], "target": {"kind": "cuda"}}),
    event("X", "inner", 2, dur=5),
)


def protobuf(*, intact: bool = True) -> bytes:
    """A thread with two nested slices; if not intact, the packet that starts its state is lost."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()

    def add_packet(**fields: Any) -> TracePacket:
        packet = builder.add_packet()
        packet.MergeFrom(TracePacket(trusted_packet_sequence_id=1, **fields))
        return packet

    def add_event(ts: int, kind: TrackEvent.Type, **fields: Any) -> TrackEvent:
        needs_state = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet = add_packet(timestamp=ts, sequence_flags=needs_state)
        packet.track_event.MergeFrom(TrackEvent(type=kind, track_uuid=7, **fields))
        return packet.track_event

    if intact:
        add_packet(sequence_flags=TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
    thread = {"pid": 42, "tid": 43, "thread_name": "passes"}
    add_packet(track_descriptor={"uuid": 7, "thread": thread})
    add_event(1001, TrackEvent.TYPE_SLICE_BEGIN, name="outer")
    add_event(2003, TrackEvent.TYPE_SLICE_BEGIN, name="inner")
    add_event(2004, TrackEvent.TYPE_SLICE_END)
    end = add_event(9009, TrackEvent.TYPE_SLICE_END)
    end.debug_annotations.add(name="failed", bool_value=True)
    end.debug_annotations.add(name="reason", string_value="größer\nals 2")
    size = end.debug_annotations.add(name="size")
    size.dict_entries.add(name="bytes", uint_value=2**40)
    return builder.serialize()


def problem_names(engine: Engine) -> set[str]:
    return {row["name"] for row in engine.problems()}


def args_of(engine: Engine, name: str) -> dict[str, Any]:
    return engine.args(engine.scalar(f"select arg_set_id from slice where name = '{name}'"))


def test_json_slices_nest_and_keep_their_arguments(perfetto_engine: Engine) -> None:
    perfetto_engine.load(NESTED)
    assert perfetto_engine.query(SLICES) == [
        {"name": "outer", "ts": 1000, "dur": 10001, "depth": 0},
        {"name": "inner", "ts": 2000, "dur": 5000, "depth": 1},
    ]
    assert args_of(perfetto_engine, "outer") == {
        "args.shape[0]": 8,
        "args.shape[1]": 16,
        "args.target.kind": "cuda",
    }
    assert args_of(perfetto_engine, "inner") == {}
    assert perfetto_engine.problems() == perfetto_engine.misplaced() == []


def test_protobuf_slices_are_exact_to_the_nanosecond(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "run.pftrace"
    file.write_bytes(protobuf())
    perfetto_engine.load(file)
    assert perfetto_engine.query(SLICES) == [
        {"name": "outer", "ts": 1001, "dur": 8008, "depth": 0},
        {"name": "inner", "ts": 2003, "dur": 1, "depth": 1},
    ]
    assert args_of(perfetto_engine, "outer") == {
        "debug.failed": True,
        "debug.reason": "größer\nals 2",
        "debug.size.bytes": 2**40,
    }
    assert perfetto_engine.query("select tid, name from thread where tid = 43") == [
        {"tid": 43, "name": "passes"}
    ]
    assert perfetto_engine.problems() == perfetto_engine.misplaced() == []


def test_each_load_starts_afresh(perfetto_engine: Engine) -> None:
    for _ in range(3):
        assert perfetto_engine.load(NESTED).scalar("select count(*) from slice") == 2
    assert perfetto_engine.load(b"").scalar("select count(*) from slice") == 0


def test_every_sql_type_comes_back(perfetto_engine: Engine) -> None:
    perfetto_engine.load(b"")
    row = {"i": -(2**63), "f": 2.5, "n": None, "t": "ä", "empty": "", "b": b"\0\xff"}
    sql = "select -9223372036854775808 as i, 2.5 as f, null as n, 'ä' as t, '' as empty, x'00ff' b"
    assert perfetto_engine.query(f"{sql} union all {sql}") == [row, row]


def test_an_answer_of_many_batches_comes_back_whole(perfetto_engine: Engine) -> None:
    perfetto_engine.load(b"")
    rows = perfetto_engine.query(
        "with recursive n(i) as (select 0 union all select i + 1 from n where i < 49999) "
        "select i, 'number ' || i as t from n"
    )
    assert rows == [{"i": i, "t": f"number {i}"} for i in range(50000)]


@pytest.mark.parametrize(
    "sql", ["select nonsense", "select 1 as a, 2 as a"], ids=["bad SQL", "equal names"]
)
def test_a_query_without_a_proper_answer_is_an_error(perfetto_engine: Engine, sql: str) -> None:
    with pytest.raises(QueryError):
        perfetto_engine.load(b"").query(sql)


def test_overlapping_slices_are_a_problem(perfetto_engine: Engine) -> None:
    perfetto_engine.load(chrome_json(event("X", "a", 1, dur=10), event("X", "b", 5, dur=10)))
    assert problem_names(perfetto_engine) == {"slice_drop_overlapping_complete_event"}


def test_loss_that_perfetto_calls_information_is_a_problem(perfetto_engine: Engine) -> None:
    perfetto_engine.load(protobuf(intact=False))
    assert perfetto_engine.query(SLICES) == []
    assert "tokenizer_skipped_packets" in problem_names(perfetto_engine)


def test_slices_in_a_wrong_place_are_found_without_a_problem(perfetto_engine: Engine) -> None:
    perfetto_engine.load(
        chrome_json(
            event("B", "short parent", 0),
            event("X", "long child", 5, dur=10),
            event("E", "short parent", 10),
            event("X", "backwards", 50, dur=-3),
            event("B", "did not end", 60),
        )
    )
    assert perfetto_engine.problems() == []
    names = [row["name"] for row in perfetto_engine.misplaced()]
    assert names == ["long child", "backwards"]


def test_slices_below_the_deepest_row_are_found(perfetto_engine: Engine) -> None:
    deep = [event("X", f"level {i}", i, dur=2000 - 2 * i) for i in range(600)]
    perfetto_engine.load(chrome_json(*deep))
    assert perfetto_engine.problems() == []
    assert "level 599" in {row["name"] for row in perfetto_engine.misplaced()}


@pytest.mark.parametrize(
    "trace",
    [b"this is not a trace", chrome_json(event("X", "a", 1, dur=None))],
    ids=["unknown type", "no number"],
)
def test_a_refused_trace_is_an_error_and_the_next_one_loads(
    perfetto_engine: Engine, trace: bytes
) -> None:
    with pytest.raises(TraceRefused):
        perfetto_engine.load(trace)
    assert perfetto_engine.load(NESTED).scalar("select count(*) from slice") == 2


def test_an_endless_loop_ends_at_the_time_limit_and_the_next_trace_loads(
    perfetto_engine: Engine,
) -> None:
    with Engine() as engine:  # one of its own, to leave the shared one its time limit
        engine.time_limit = 1.0
        with pytest.raises(TimeLimitExceeded, match=r"in 1\.0 s"):
            engine.load(chrome_json(event("C", "memory", 1, args={"bytes": float("nan")})))
        engine.time_limit = 60.0
        assert engine.load(NESTED).scalar("select count(*) from slice") == 2


@pytest.mark.usefixtures("perfetto_engine")
def test_an_engine_that_does_not_start_tells_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engine_bundle.js").write_text("throw new Error('a broken bundle')")
    monkeypatch.setenv("PERFETTO_WEB_DIST", str(tmp_path))
    with pytest.raises(EngineCrashed, match="a broken bundle"), Engine():
        pass


@pytest.mark.usefixtures("perfetto_engine")
def test_a_missing_engine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFETTO_WEB_DIST", str(tmp_path))
    with pytest.raises(EngineUnavailable, match="engine_bundle"), Engine():
        pass
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineUnavailable, match="node"), Engine():
        pass


def test_what_is_missing_skips_here_and_fails_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = EngineUnavailable("node is not on the PATH")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="node is not on the PATH"):
        cannot_run(reason)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="node is not on the PATH"):
        cannot_run(reason)


@pytest.mark.browser
def test_the_ui_shows_a_trace(perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path) -> None:
    file = tmp_path / "a name with % and #.pftrace"
    file.write_bytes(protobuf())
    ui = perfetto_ui(file, size=(1200, 800))
    assert ui.import_errors() == 0
    ui.expand_all()
    assert ui.tracks() == ["Process 42", "  passes 43"]

    slice_id = ui.select("outer")
    assert ui.query(f"select name from slice where id = {slice_id}") == [{"name": "outer"}]
    assert {"outer", "reason", "größer"} <= set(ui.details().splitlines())

    assert (ui.search("inner"), ui.search("nowhere")) == (1, 0)
    ui.click("Process 42")  # folds the group
    assert ui.tracks() == ["Process 42"]
    png = ui.screenshot(tmp_path / "page.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000


@pytest.mark.browser
def test_the_ui_counts_errors_and_refuses(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path
) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(chrome_json(event("X", "a", 1, dur=10), event("X", "b", 5, dur=10)))
    assert perfetto_ui(file).import_errors() == 1
    file.write_bytes(b"this is not a trace")
    with pytest.raises(TraceRefused):
        perfetto_ui(file)
