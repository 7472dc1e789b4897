"""Wild Traces for hypothesis: anything that a reader might put into a TraceBuilder. Slices in any
order and at any times, any text and any values, rows that belong to anything.

`random_traces` has tame ones, which look like a recording.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.well_formed import as_text
from tilelang_trace.trace.arguments import CONTRACT, KINDS, STATUSES
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import storable
from tilelang_trace.trace.model import CounterTrack, Lane, Trace

SPAN = 2**60
"""How far apart times lie, 36 years: more than a double holds to the nanosecond. With the farthest
time it is just within what is read from JSON.
"""

_ODD_TEXTS = (
    *("\0", "a\0b", "\x1b[31m", "\x7f", "\r\n", "\u2028", "\ufeff", "\ufffd"),
    *("\\", "\\\\", '\\"', '"', "'", '\\"\\', "\\u0041", "\ud800", "\udfff", "a\udc80\ud800"),
    *("😀", "\U0010ffff", "\ud83d\ude00", "</script>", "NaN", "null", "a.b", "a,b", "{}", "[0]"),
    *(
        "error",
        "Failures",
        "failure",
        "tilelang_trace",
        "traceEvents",
        "pass_events",
        "value",
        "pass,error",
    ),
)
texts = st.one_of(st.sampled_from(_ODD_TEXTS), st.text(max_size=6), st.text(st.characters()))

_edges = (0, 1, 7, 31, 32, 52, 53, 62, 63, 64, 100, 2000)
_integers = st.one_of(
    st.integers(-3, 300),
    st.builds(
        lambda sign, bits, more: sign * 2**bits + more,
        st.sampled_from((1, -1)),
        st.sampled_from(_edges),
        st.integers(-1, 1),
    ),
)
_scalars = st.one_of(_integers, texts, st.booleans(), st.none(), st.floats())
values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_contract = st.sampled_from([argument.name for argument in CONTRACT])
arguments = st.dictionaries(st.one_of(_contract, texts), values, max_size=3)
_statuses = st.fixed_dictionaries({}, optional={"status": st.sampled_from(STATUSES)})
_categories = st.one_of(st.sampled_from((*KINDS, "pass,error", "context,error", ",")), texts)
_ids = st.one_of(st.none(), st.sampled_from((0, 1, 2, 71, -1, 2**31 - 1, 2**31, 2**32, 2**63)))
_durations = st.one_of(st.integers(-2, 5), st.integers(0, 2000), st.integers(0, 2**40))


@st.composite
def _times(draw: st.DrawFn) -> st.SearchStrategy[int]:
    """Times that lie close together around one place, with some that are far."""
    around = draw(st.sampled_from((0, 0, 10**9, -5, 1_760_000_000_123_456_789, 2**62, -(2**60))))
    near = st.integers(-20, 60).map(lambda ns: around + ns)
    return st.one_of(near, near, st.sampled_from((around, around + SPAN)))


@dataclass
class Wild:
    """What was put in, in the order in which it came, and the Trace of it."""

    slices: list[tuple[Any, ...]] = field(default_factory=list)
    """Lane, begin, end, name, category, arguments."""
    builder: TraceBuilder = field(default_factory=TraceBuilder)
    lanes: list[Lane] = field(default_factory=list)
    """The lanes as they were told."""
    instants: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    counters: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    flows: list[tuple[int, int]] = field(default_factory=list)
    trace: Trace = field(init=False)


@st.composite
def wild(draw: st.DrawFn) -> Wild:
    """A Trace of up to four lanes, and what it was made of."""
    made = Wild()
    builder, times = made.builder, draw(_times())
    _draw_owners(draw, builder)
    lanes = st.integers(0, len(builder.lanes) - 1) if builder.lanes else st.nothing()
    made.lanes = list(builder.lanes)
    if builder.lanes:
        for lane, begin, lasted, name, category, first, more in draw(
            st.lists(
                st.tuples(lanes, times, _durations, texts, _categories, _statuses, arguments),
                max_size=12,
            )
        ):
            row = (lane, begin, begin + lasted, name, category, {**first, **more})
            made.slices.append(row)
            builder.slice(*row)
        for lane, time, name, category, given in draw(
            st.lists(st.tuples(lanes, times, texts, _categories, arguments), max_size=4)
        ):
            builder.instant(lane, time, name, category, given)
            made.instants[time, storable(name), storable(category), as_text(given)] += 1
    if builder.counter_tracks:
        tracks = st.integers(0, len(builder.counter_tracks) - 1)
        for row in draw(st.lists(st.tuples(tracks, times, st.floats()), max_size=4)):
            builder.counter(*row)
            made.counters[(*row[:2], repr(row[2]))] += 1
    if made.slices:
        rows = st.integers(0, len(made.slices) - 1)
        made.flows = builder.flows = draw(st.lists(st.tuples(rows, rows), max_size=3))
    builder.metadata = draw(_metadata)
    made.trace = builder.build()
    return made


_metadata = st.one_of(
    st.dictionaries(texts, values, max_size=2),
    st.fixed_dictionaries(
        {},
        optional={
            "start": st.fixed_dictionaries(
                {},
                optional={
                    name: st.one_of(st.integers(0, 2**61), values)
                    for name in ("realtime_ns", "monotonic_ns", "boottime_ns")
                },
            )
            | values,
            "versions": st.dictionaries(texts, values, max_size=2) | values,
            "process": values,
        },
    ),
)


def _draw_owners(draw: st.DrawFn, builder: TraceBuilder) -> None:
    for _ in range(draw(st.integers(0, 2))):
        builder.process(draw(texts), draw(_ids))
    none_or = st.none()
    processes = none_or | st.integers(0, len(builder.processes) - 1)
    if not builder.processes:
        processes = none_or
    else:
        for _ in range(draw(st.integers(0, 3))):
            process = draw(st.integers(0, len(builder.processes) - 1))
            builder.thread(process, draw(texts), draw(_ids))
    threads = st.integers(0, len(builder.threads) - 1) if builder.threads else st.nothing()
    owners = st.one_of(st.builds(dict, thread=threads), st.builds(dict, process=processes))
    for _ in range(draw(st.integers(0, 4))):
        builder.lane(Lane(**draw(owners), name=draw(texts)))
    for _ in range(draw(st.integers(0, 3))):
        builder.counter_tracks.append(
            CounterTrack(draw(texts), draw(st.sampled_from(("", "bytes")) | texts), **draw(owners))
        )
