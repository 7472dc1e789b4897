"""Chrome JSON of other tools: what Perfetto's own engine makes of a file is what we read from it,
and where a finding says that it makes something else of it, it does; what we write of it is sound.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chrome_events import e, m, read, told, x
from tests.perfetto.engine import Engine, EngineError
from tilelang_trace.formats import files
from tilelang_trace.trace.model import Trace

Slice = tuple[str, int, int, "str | None"]


def asynchronous(phase: str, name: str, ts: int, **more: Any) -> dict[str, Any]:
    return e(phase, name, ts, cat="c", **more)


SAME = {
    "nesting by time": [x("child", 1, 5), x("parent", 1, 10), x("other", 1, 10, tid=2)],
    "ends close by name": [
        e("B", "A", 0),
        e("B", "B", 1),
        e("E", "A", 5),
        e("E", "B", 5),
        e("B", "C", 6),
        e("E", None, 7),
    ],
    "ends close by category": [
        e("B", "A", 0, cat="x"),
        e("B", "B", 1, cat="y"),
        e("E", None, 5, cat="x"),
        e("E", None, 5, cat="y"),
    ],
    "a recursion with a lost end": [
        e("B", "f", 0),
        e("B", "g", 1),
        e("B", "f", 2),
        e("E", "g", 5),
        e("E", "f", 8),
    ],
    "X between B and E": [e("B", "B", 0), x("X", 1, 2), e("E", "B", 9), x("Y", 10, 1)],
    "times as text": [x("a", "100", "50.5"), x("b", "1.5e2", 0.25, tid=2)],
    "no ids": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}],
    "only the first letter": [{**x("a", 1, 2), "ph": "Xyz"}],
    "async slices": [
        asynchronous("b", "load", 0, id="0x1"),
        asynchronous("b", "part", 1, id="0x1"),
        asynchronous("e", "part", 2, id="0x1"),
        asynchronous("b", "load", 1, id="0x2"),
        asynchronous("e", "load", 9, id="0x1"),
        asynchronous("e", "load", 9, id="0x2"),
        asynchronous("b", "own", 5, id2={"local": 1}),
        asynchronous("e", "own", 6, id2={"local": 1}),
    ],
    "an async id in two processes": [
        asynchronous("b", "load", 0, id=1),
        asynchronous("b", "load", 1, id=1, pid=2),
        asynchronous("e", "load", 3, id=1),
        asynchronous("e", "load", 5, id=1, pid=2),
    ],
    "equal times of async slices": [
        asynchronous("b", "a", 0, id=1),
        asynchronous("b", "b", 0, id=1),
        asynchronous("e", "a", 1, id=1),
        asynchronous("e", "b", 1, id=1),
    ],
    "arrows": [
        x("a", 0, 10),
        x("b", 20, 10),
        x("c", 40, 10, tid=2),
        e("s", "n", 5, id="0x10"),
        e("t", "n", 25, id=16),
        e("f", "n", 35, id="10", tid=2),
        e("f", "n", 45, id="10", tid=2, bp="e"),
    ],
    "arrows by bind_id": [
        x("a", 0, 10, bind_id="0x1", flow_out=True),
        x("b", 20, 10, bind_id="1", flow_in=True, flow_out=True),
        x("c", 40, 10, bind_id=1, flow_in=True),
        x("d", 60, 10, bind_id=1, flow_in=True),
    ],
    "the last name counts": [
        x("a", 0, 1),
        m("thread_name", "late", ts=5),
        m("thread_name", "early", ts=1),
        m("process_name", "p"),
    ],
}
"""What Perfetto shows as it is meant, where only a lost end is worth a finding."""

OTHER = {
    "overlap": [x("A", 0, 100), x("B", 80, 60)],
    "rounding": [x("A", 0, 1), x("B", 0.5, 0.501)],
    "shifted": [e("B", "B", 0), x("X", 0, 5), e("E", "B", 9)],
    "empty-slice": [x("a", 5, 0), x("b", 5, 0)],
    "never-ended": [e("B", "A", 0), x("X", 5, 1, tid=2)],
    "end-without-begin": [e("E", "A", 0), x("X", 5, 1)],
    "negative-time": [x("a", -5, 1), x("b", 5, 1)],
    "no-time": [x("a", None, 1), x("b", 5, 1)],
    "no-duration": [x("a", 1, "x"), x("b", 5, 1)],
    "odd-number": [x("a", " 5", "1."), x("b", 7, 1)],
    "no-event": [{"name": "a"}, x("b", 5, 1)],
    "coarse-time": [x("a", "1760000000123456.001", 1)],
    "wide-id": [x("a", 0, 9, tid=2**40), x("b", 5, 9, tid=2**40 + 1)],
    "text-id": [x("a", 0, 9, pid="p"), m("process_name", "name", pid="p")],
    "zero-id": [x("a", 0, 9, pid=5, tid=0), x("b", 5, 9, pid=5, tid=5)],
    "no-owner": [e("b", "a", 0), e("e", "a", 5)],
    "no-text": [x("a", 0, 9), {**x("b", 20, 9), "name": 5}],
    "no-arguments": [x("a", 0, 9, args=[1])],
    "bad-counter": [e("C", "c", 0, args={"v": None})],
    "counter-id": [e("C", "c", 0, id=k, args={"v": k}) for k in range(2)],
    "bad-flow": [
        x("a", 0, 9),
        x("b", 10, 9),
        e("s", "n", 1, id="x-y"),
        e("f", "n", 11, id="x-y", bp="e"),
    ],
    "loose-flow": [x("a", 0, 9), e("f", "n", 1, id=1, bp="e")],
    "reused-flow": [
        *(x(name, 10 * k, 9) for k, name in enumerate("abcd")),
        *(e("sf"[k % 2], "n", 10 * k + 1, id=1, bp="e") for k in range(4)),
    ],
}
"""For each rule the events of a file that breaks it."""

SLICES = """
select slice.name, slice.ts, slice.dur, parent.name as parent from slice
left join slice parent on parent.id = slice.parent_id order by slice.ts, slice.depth, slice.name
"""
ARROWS = """
select a.name as a, b.name as b from flow join slice a on slice_out = a.id
join slice b on slice_in = b.id order by a.name, b.name
"""
OWNERS = """
select slice.name, thread.name as thread, process.name as process from slice
left join thread_track on thread_track.id = slice.track_id left join thread using (utid)
left join process using (upid) order by slice.name
"""
COUNTERS = """
select counter.ts, value, name from counter join counter_track on track_id = counter_track.id
order by counter.ts, name
"""


def answers(engine: Engine, data: bytes) -> tuple[Any, Any]:
    """What the engine makes of a file: its slices and its arrows."""
    engine.load(data)
    slices = [tuple(row.values()) for row in engine.query(SLICES)]
    return slices, [(row["a"], row["b"]) for row in engine.query(ARROWS)]


def all_of(engine: Engine, data: bytes) -> list[Any]:
    """These, counters, and the threads of the slices."""
    return [*answers(engine, data), engine.query(COUNTERS), engine.query(OWNERS)]


def ours(trace: Trace, origin: int = 0) -> tuple[list[Slice], list[tuple[str, str]]]:
    """The same of a Trace."""
    slices, depths, found = trace.slices, dict[int, int](), []
    for row in range(len(slices)):
        parent = int(slices.parent[row])
        depths[row] = depths[parent] + 1 if parent >= 0 else 0
        begin, name = int(slices.begin[row]), trace.name(row)
        around = trace.name(parent) if parent >= 0 else None
        of_slice = (name, begin - origin, int(slices.duration[row]), around)
        found.append((begin, depths[row], name, of_slice))
    arrows = sorted((trace.name(a), trace.name(b)) for a, b in trace.flows.tolist())
    return [of_slice for *_, of_slice in sorted(found, key=lambda f: f[:3])], arrows


def a_file(events: list[dict[str, Any]]) -> bytes:
    return json.dumps({"traceEvents": events}).encode()


@pytest.mark.parametrize("name", SAME)
def test_we_read_what_perfetto_shows(perfetto_engine: Engine, name: str) -> None:
    trace = read(*SAME[name])
    assert answers(perfetto_engine, a_file(SAME[name])) == ours(trace)
    assert {rule for _, rule in told(trace)} <= {"never-ended"}
    owners = perfetto_engine.query(OWNERS)
    if name == "the last name counts":
        assert owners == [{"name": "a", "thread": "late", "process": "p"}]


@pytest.mark.parametrize("rule", OTHER)
def test_what_a_finding_says_is_so_and_mended(perfetto_engine: Engine, rule: str) -> None:
    trace = read(*OTHER[rule])
    assert rule in {found for _, found in told(trace)}
    try:
        shown = all_of(perfetto_engine, a_file(OTHER[rule]))
        is_sound = not perfetto_engine.problems()
    except EngineError:
        shown, is_sound = [], False
    origin = int(trace.slices.begin.min(initial=1 << 62)) if rule in FROM_ZERO else 0
    again = all_of(perfetto_engine, b"".join(files.JSON.write(trace)))
    assert not perfetto_engine.problems()
    assert again[:2] == [*ours(trace, origin)]
    assert not is_sound or shown != again
    perfetto_engine.load(b"".join(files.PFTRACE.write(trace)))
    assert not perfetto_engine.problems()


FROM_ZERO = ("negative-time", "coarse-time")
"""Files whose times are written from the first one on."""


def test_what_is_too_deep_has_no_place(perfetto_engine: Engine) -> None:
    slices = [x(f"s{k}", k, 2_000 - 2 * k) for k in range(514)]
    assert told(read(*slices)) == [("event 513", "too-deep"), ("event 514", "too-deep")]
    shown, _ = answers(perfetto_engine, a_file(slices))
    around = {name: parent for name, _, _, parent in shown}
    assert around["s511"] == "s510"
    assert around.get("s512") is around.get("s513") is None
