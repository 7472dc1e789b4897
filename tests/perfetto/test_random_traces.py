"""What SQL says about the file of a random Trace is what the Trace says: slices with their place
and arguments, instants, counters, arrows, and whose they are.

Texts and arguments are those that every version of Perfetto shows as they are; the odd ones are in
`test_written_traces`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.perfetto.engine import Engine
from tilelang_trace.formats import files
from tilelang_trace.trace import failures
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import CounterTrack, Lane, Trace

EXAMPLES = 30

_texts = st.text(st.sampled_from("ab XY_-:/ü漢😀'<>&"), min_size=1, max_size=8).map(
    lambda text: f"n{text}n"
)
_keys = st.sampled_from(["x", "status", "phase", "sequence", "größe", "a key"])
# Perfetto v52 rounds the last digit of other ones in JSON.
_floats = st.integers(-(10**6), 10**6).map(lambda eighths: eighths / 8)
_scalars = st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), _texts, _floats, st.just(""))
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(st.sampled_from(["p", "q"]), inner, min_size=1),
    ),
    max_leaves=4,
)
_arguments = st.dictionaries(_keys, _values, max_size=3)
_categories = st.sampled_from(["pass", "context", "pass,user", "python", ""])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A Trace of two processes. No two events of a lane are at one time, so that an arrow of JSON
    has one slice that begins where it does.
    """
    builder = TraceBuilder()
    for number, name in enumerate(["base", "new"][: draw(st.integers(1, 2))]):
        process = builder.process(name, 100 + number)
        for more in range(draw(st.integers(1, 2))):
            thread = builder.thread(process, f"thread {draw(_texts)}", 100 + number + 10 * more)
            lane = builder.lane(Lane(thread))
            _draw_events(draw, builder, lane)
        builder.counter_tracks.append(CounterTrack(draw(_texts), "bytes", process=process))
        for time in draw(st.sets(st.integers(0, 10**6), max_size=3)):
            builder.counter(number, time, draw(_floats))
    if len(builder.begins) > 1:
        rows = st.integers(0, len(builder.begins) - 1)
        # No format has arrows that go back in time.
        pairs = st.tuples(rows, rows).filter(
            lambda pair: builder.begins[pair[0]] < builder.begins[pair[1]]
        )
        builder.flows = draw(st.lists(pairs, max_size=3, unique=True))
    return builder.build()


def _draw_events(draw: st.DrawFn, builder: TraceBuilder, lane: int) -> None:
    time, open_ = draw(st.integers(0, 2**50)), list[int]()
    gaps = st.one_of(st.integers(1, 3), st.integers(1, 10**7))
    for what in draw(st.lists(st.sampled_from(["begin", "begin", "end", "instant"]), max_size=15)):
        time += draw(gaps)
        name, category, arguments = draw(_texts), draw(_categories), draw(_arguments)
        if what == "begin":
            open_.append(builder.slice(lane, time, time + 1, name, category, arguments))
        elif what == "instant":
            builder.instant(lane, time, name, category, arguments)
        elif open_:
            builder.ends[open_.pop()] = time
    for row in reversed(open_):
        time += draw(gaps)
        builder.ends[row] = time


FILES = {"json": (files.JSON, "args."), "pftrace": (files.PFTRACE, "debug.")}

EVENTS = """
select slice.id, slice.ts, slice.dur, slice.name, coalesce(slice.category, '') as category,
       slice.depth, slice.parent_id as parent, slice.arg_set_id,
       thread.name as thread, process.name as process
from slice join thread_track on thread_track.id = slice.track_id join thread using (utid)
left join process using (upid)
"""
ARGUMENTS = """
select arg_set_id, key, value_type, coalesce(int_value, real_value, string_value) as value
from args order by id
"""
COUNTERS = """
select process.name as process, track.name, counter.ts, counter.value
from counter join process_counter_track track on track.id = counter.track_id
join process using (upid)
"""
FLOWS = "select slice_out, slice_in from flow"


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=min(EXAMPLES, settings.default.max_examples))
@given(trace=traces())
def test_sql_says_what_the_trace_says(perfetto_engine: Engine, name: str, trace: Trace) -> None:
    format_, prefix = FILES[name]
    engine = perfetto_engine.load(b"".join(format_.write(trace)))
    assert engine.problems() == [] and engine.misplaced() == []

    arguments: dict[int, dict[str, Any]] = {}
    for row in engine.query(ARGUMENTS):
        value = bool(row["value"]) if row["value_type"] == "bool" else row["value"]
        if row["key"].startswith(prefix):
            key = row["key"].removeprefix(prefix)
            arguments.setdefault(row["arg_set_id"], {})[key] = value
    events = {row["id"]: row for row in engine.query(EVENTS)}
    begins = {id_: row["ts"] for id_, row in events.items()}
    found = Counter(
        (
            *(row["ts"], row["dur"], row["name"], row["category"], row["process"], row["thread"]),
            *(row["depth"], begins.get(row["parent"])),
            _as_text(arguments.get(row["arg_set_id"], {})),
        )
        for row in events.values()
    )
    assert found == Counter(_slices(trace)) + Counter(_instants(trace))
    values = [tuple(row.values()) for row in engine.query(COUNTERS)]
    assert Counter(values) == Counter(_counters(trace, " bytes" if name == "json" else ""))
    arrows = [[events[id_] for id_ in row.values()] for row in engine.query(FLOWS)]
    assert Counter(tuple((end["name"], end["ts"]) for end in arrow) for arrow in arrows) == Counter(
        tuple((trace.name(row), int(trace.slices.begin[row])) for row in flow)
        for flow in trace.flows.tolist()
    )


def _counters(trace: Trace, unit: str) -> Iterator[tuple[Any, ...]]:
    columns = (trace.counters.track, trace.counters.time, trace.counters.value)
    for number, time, value in zip(*(column.tolist() for column in columns)):
        track = trace.counter_tracks[number]
        yield trace.processes[track.process or 0].name, f"{track.name}{unit}", time, value


def _owners(trace: Trace, lane: int) -> tuple[str, str]:
    thread = trace.threads[trace.lanes[lane].thread or 0]
    return trace.processes[thread.process].name, thread.name


def _slices(trace: Trace) -> Iterator[tuple[Any, ...]]:
    depths: list[int] = []
    columns = (trace.slices.begin, trace.slices.end, trace.slices.lane, trace.slices.parent)
    for row, (begin, end, lane, parent) in enumerate(zip(*(c.tolist() for c in columns))):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        arguments = trace.arguments.of(row)
        category = failures.written_category(trace.category(row), arguments.get("status"))
        around = columns[0].tolist()[parent] if parent >= 0 else None
        yield (
            *(begin, end - begin, trace.name(row), category, *_owners(trace, lane)),
            *(depths[row], around, _as_text(_flat(arguments))),
        )


def _instants(trace: Trace) -> Iterator[tuple[Any, ...]]:
    """Instants are slices of length 0 to Perfetto, inside of those around them."""
    slices, text = trace.slices, trace.strings.__getitem__
    instants = trace.instants
    for row, (time, name, category, lane) in enumerate(
        zip(*(c.tolist() for c in (instants.time, instants.name, instants.category, instants.lane)))
    ):
        around = np.flatnonzero((slices.lane == lane) & (slices.begin < time) & (slices.end > time))
        yield (
            *(time, 0, text(name), text(category), *_owners(trace, lane), len(around)),
            int(slices.begin[around].max()) if len(around) else None,
            _as_text(_flat(trace.instant_arguments.of(row))),
        )


def _flat(value: Json, key: str = "") -> dict[str, Json]:
    """The arguments as Perfetto has them: one for each value in an object or list."""
    if isinstance(value, dict):
        parts = [(f"{key}.{name}" if key else name, inner) for name, inner in value.items()]
    elif isinstance(value, list):
        parts = [(f"{key}[{number}]", inner) for number, inner in enumerate(value)]
    else:
        return {key: value}
    found: dict[str, Json] = {}
    for name, inner in parts:
        found |= _flat(inner, name)
    return found


def _as_text(arguments: dict[str, Json]) -> str:
    return repr(sorted(arguments.items(), key=itemgetter(0)))
