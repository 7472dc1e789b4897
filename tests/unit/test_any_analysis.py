"""What holds for comparisons, selections and redactions of any Trace."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.compiled import INCOMPLETE, Tree, a_compile, a_context, a_pass, failed, trace
from tests.traces import said
from tests.well_formed import check
from tests.wild_traces import Wild, wild
from tilelang_trace.analysis.compare.compare import compare_traces
from tilelang_trace.analysis.compare.comparison import Comparison
from tilelang_trace.analysis.hidden import hidden_passes
from tilelang_trace.analysis.selection.choose import select
from tilelang_trace.analysis.selection.selection import Selection
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.formats import files
from tilelang_trace.sharing.redaction.choice import Machine
from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.redact import redact
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.model import Lane, Trace

_own_ns = st.integers(1, 50)
_names = st.sampled_from(["Simplify", "Lower", "Fuse", "Tune"])
_outcomes = st.sampled_from([{}, {}, {}, failed("no"), INCOMPLETE, {"status": "open"}])


def _a_pass(name: str, own_ns: int, outcome: dict[str, Any], inside: list[Tree]) -> Tree:
    return a_pass(name, own_ns, *inside, **outcome)


_passes = st.recursive(
    st.builds(_a_pass, _names, _own_ns, _outcomes, st.just([])),
    lambda inner: st.builds(_a_pass, _names, _own_ns, _outcomes, st.lists(inner, max_size=4)),
    max_leaves=8,
)
_contexts = st.builds(lambda inside: a_context(*inside), st.lists(_passes, max_size=4))
_compiles = st.builds(
    lambda name, inside: a_compile(name, *inside),
    st.sampled_from(["gemm", "attention"]),
    st.lists(st.one_of(_contexts, _passes), max_size=2),
)
compiled = st.builds(
    lambda trees: trace(*trees), st.lists(st.one_of(_contexts, _compiles, _passes), max_size=3)
)


# ---------------------------------------------------------------------------------- comparing


def compared(base: Trace, new: Trace) -> Comparison:
    """The comparison, with what holds for all of them checked."""
    found = compare_traces([base], [new], ["base"], ["new"])
    total = found.total
    assert sum(p.self_delta_ns for p in found.passes) + total.between_delta_ns == total.delta_ns
    for side, whole in (("base", base), ("new", new)):
        of_side = [getattr(p, side) for p in found.passes if getattr(p, side) is not None]
        rows = [one.rows[0] for one in of_side]
        assert len(set(rows)) == len(rows), "each run of a pass stands once"
        assert getattr(total, f"{side}_ns") == summarize(whole).total_ns
    return found


@given(one=st.one_of(compiled, wild().map(lambda made: made.trace)))
def test_nothing_differs_between_a_trace_and_itself(one: Trace) -> None:
    found = compared(one, one)
    assert {entry.change for entry in found.passes} <= {"matched"}
    assert all(entry.delta_ns == entry.self_delta_ns == 0 for entry in found.passes)
    assert found.total.delta_ns == found.total.between_delta_ns == 0
    assert found.first_divergence is None and not found.context_changes


@given(base=compiled, new=compiled)
def test_sides_that_change_places_change_the_sign(base: Trace, new: Trace) -> None:
    there, back = compared(base, new).total, compared(new, base).total
    assert there.delta_ns == -back.delta_ns
    assert there.between_delta_ns == -back.between_delta_ns
    assert {kind: -ns for kind, ns in there.between_by_kind.items()} == back.between_by_kind


@given(base=wild(), new=wild())
def test_any_two_traces_can_be_compared(base: Wild, new: Wild) -> None:
    compared(base.trace, new.trace)


# ---------------------------------------------------------------------------------- selecting


def counted(one: Trace) -> tuple[int, int]:
    """Passes, and the time of all, with what is left out."""
    summary = summarize(one)
    passes = int(one.is_kind(PASS).sum())
    return passes + summary.hidden, summary.total_ns + summary.hidden_outside_ns


@given(one=compiled, min_ns=st.integers(0, 200))
def test_what_is_left_out_is_counted(one: Trace, min_ns: int) -> None:
    (part,) = select(one, Selection(min_ns=min_ns)).parts
    check(part.trace)
    assert counted(part.trace) == counted(one)
    # All of it is on one thread, where one left out inside another is in the time of that one.
    gone = Counter(_spans(one)) - Counter(_spans(part.trace))
    last = time = 0
    for _, begin, end in sorted(gone, key=itemgetter(1)):
        time += max(0, end - max(begin, last))
        last = max(last, end)
    assert (gone.total(), time) == hidden_passes(part.trace)
    again = select(part.trace, Selection(min_ns=min_ns)).parts[0].trace
    assert again == part.trace


@given(one=compiled)
def test_each_pass_is_in_one_part_of_a_split_trace(one: Trace) -> None:
    parts = [part.trace for part in select(one, Selection(split="kernel")).parts]
    for part in parts:
        check(part)
    assert sum((Counter(_spans(part)) for part in parts), Counter()) == Counter(_spans(one))


def _spans(one: Trace) -> list[tuple[str, int, int]]:
    slices = one.slices
    return [
        (one.name(row), int(slices.begin[row]), int(slices.end[row]))
        for row in one.is_kind(PASS).nonzero()[0].tolist()
    ]


@given(made=wild(), min_ns=st.integers(0, 100), split=st.sampled_from([None, "kernel"]))
def test_any_trace_can_be_selected_from(made: Wild, min_ns: int, split: Any) -> None:
    for part in select(made.trace, Selection(("a*",), min_ns, split)).parts:
        check(part.trace)
        summarize(part.trace)


# ---------------------------------------------------------------------------------- redacting

TOKEN = "ghp_" + "0123456789abcdefABCDEFghijklmnopqrst"
FOLDER = "/home/jdoe/kernels"
_around = st.sampled_from(["", " ", '"', "\n", "\\", "größe ", "=", "\0", "("])


@given(
    made=wild(),
    before=_around,
    after=_around,
    secret=st.sampled_from([TOKEN, FOLDER]),
    where=st.integers(0, 6),
)
def test_a_secret_is_hidden_wherever_it_stands(
    made: Wild, before: str, after: str, secret: str, where: int
) -> None:
    text = f"{before}{secret}{after}"
    names = [text if place == where else "x" for place in range(7)]
    builder = made.builder
    process = builder.process(names[0])
    lane = builder.lane(Lane(builder.thread(process, names[1]), name=names[2]))
    builder.slice(lane, 0, 10, names[3], "pass", {"a": names[4], "b": {"c": [names[5]]}})
    builder.metadata["note"] = names[6]
    one = builder.build()

    done = redact(one, machine=Machine())
    check(done.trace)
    for column in ("begin", "end", "lane", "parent"):
        assert (getattr(done.trace.slices, column) == getattr(one.slices, column)).all()
    for format_ in (files.JSON, files.PFTRACE):
        data = b"".join(format_.write(done.trace))
        assert secret.encode() not in data
        assert leaks([("trace", data)], done.secrets) == []
    assert said(redact(done.trace, machine=Machine()).trace) == said(done.trace)
