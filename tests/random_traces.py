"""Random Traces for hypothesis: slices that nest in every way, arguments of every type, arrows."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Lane, Trace

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_numbers = st.one_of(
    st.integers(-3, 300),
    st.sampled_from([k << n for n in range(0, 64, 7) for k in (1, -1)]),
    st.integers(-(2**63), 2**64 - 1),
)
_scalars = st.one_of(
    _numbers, _texts, st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)
_arguments = st.fixed_dictionaries(
    {},
    optional={
        "sequence": _numbers,
        "depth": st.integers(0, 200),
        "phase": st.sampled_from(["lower", "ok", "größe"]),
        "status": st.sampled_from(["ok", "failed", "incomplete", "open", "other"]),
        "x": _values,
        "text": _texts,
        "error": st.just({"type": "E", "message": "no"}),
    },
)
_names = st.one_of(st.sampled_from(["Simplify", "pass", "a\nb"]), _texts)
_categories = st.one_of(
    st.sampled_from(["", "pass", "context", "pass,error", "difference,slower", "a,b,c"]),
    # One that begins or ends with a comma, or has two of them, has a part without a name.
    st.text("ab", min_size=1, max_size=3),
)
_gaps = st.one_of(st.integers(0, 3), st.integers(0, 2**40))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A Trace with up to three lanes."""
    builder = TraceBuilder()
    process = builder.process("p", 71)
    for number in range(draw(st.integers(1, 3))):
        lane = builder.lane(Lane(builder.thread(process, f"thread {number}", 71 + number)))
        _fill(draw, builder, lane)
    if builder.begins:
        rows = st.integers(0, len(builder.begins) - 1)
        builder.flows = draw(st.lists(st.tuples(rows, rows), max_size=3))
    return builder.build()


def _fill(draw: st.DrawFn, builder: TraceBuilder, lane: int) -> None:
    """Slices that begin and end in turns; each lasts at least 1 ns, as in every Trace."""
    time, open_ = draw(_gaps), list[int]()
    for begins in draw(st.lists(st.booleans(), max_size=30)):
        time += draw(_gaps)
        if begins:
            arguments: dict[str, Any] = draw(_arguments)
            name, category = draw(_names), draw(_categories)
            open_.append(builder.slice(lane, time, time + 1, name, category, arguments))
        elif open_:
            time = max(time, builder.begins[open_[-1]] + 1)
            builder.ends[open_.pop()] = time
    for row in reversed(open_):
        time = max(time, builder.begins[row] + 1)
        builder.ends[row] = time
