"""Events with values of any type in any place: they are read, or told, and never break anything."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import chrome_events
from tests.traces import said
from tests.unit.test_nesting import canonical, reference_parents
from tilelang_trace.commands.printing import print_report
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.chrome_json import times
from tilelang_trace.reports.choice import Choice
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

_json = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2**32, -1, 1.5, 1e300, -1e300, 1e-300]),
    st.sampled_from(["", "1", "0x1", " 5.5 ", "1e400", "1e-999999999", "\ud800", "a\0b", "é"]),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.sampled_from(["global", "local", "name", "a"]), st.integers(0, 2)),
)
_odd = st.one_of(_json, st.sampled_from([float("nan"), float("inf")]))


def _mostly(*usual: Any) -> st.SearchStrategy[Any]:
    # Without NaN, which is null where it is kept as it is: so it comes out of the text of a file.
    return st.one_of(*[st.sampled_from(usual)] * 4, _json)


_time = st.one_of(
    st.integers(0, 20),
    st.sampled_from(["3", "4.75", "1.76e15", 0.1, 1760000000123456.25, -3, 5.0005]),
    _odd,
)
_arguments = st.one_of(
    _json,
    st.dictionaries(
        st.sampled_from(["name", "sort_index", "status", "error", "sequence", "phase", "v"]),
        st.one_of(st.sampled_from(["ok", "failed", "incomplete"]), _json),
        max_size=3,
    ),
)
_event = st.fixed_dictionaries(
    {},
    optional={
        "ph": _mostly(*"XXXBBEEbenstfCMiIRPO", "XXX"),
        "ts": _time,
        "dur": _time,
        "pid": _mostly(1, 2, "p"),
        "tid": _mostly(0, 1, 2, "t"),
        "name": _mostly("a", "b", "thread_name", "process_sort_index", "process_name"),
        "cat": _mostly("pass", "context", "compile", "c", "pass,error"),
        "id": _mostly(1, "1", "x"),
        "id2": _odd,
        "bind_id": _mostly(1, "1"),
        "flow_in": _mostly(True),
        "flow_out": _mostly(True),
        "bp": _mostly("e"),
        "s": _mostly("t", "p", "g"),
        "scope": _mostly("s"),
        "cname": _mostly("good"),
        "tts": _json,
        "args": _arguments,
    },
)


def assert_well_formed(trace: Trace) -> None:
    slices = trace.slices
    for lane in set(slices.lane.tolist()):
        rows = [row for row in range(len(slices)) if slices.lane[row] == lane]
        spans = [(int(slices.begin[row]), int(slices.end[row])) for row in rows]
        assert spans == canonical(spans)
        expected = reference_parents(spans)
        assert expected is not None
        own = [int(slices.parent[row]) for row in rows]
        assert [rows[k] if k >= 0 else -1 for k in expected] == own


def _is_whole(event: Any) -> bool:
    """Whether it is a complete event that has to be in the Trace."""
    if not isinstance(event, dict) or not str(event.get("ph", "")).startswith("X"):
        return False
    time = times.exact(event.get("ts")) if isinstance(event["ph"], str) else None
    return time is not None and times.nanoseconds(time) in times.CLOCK


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(*[_event] * 9, _odd), max_size=12))
def test_any_events_make_a_trace_that_every_format_holds(events: list[Any]) -> None:
    try:
        trace = chrome_events.read(*events)
    except UserError as error:
        assert "is no event" in str(error)
        return
    assert_well_formed(trace)
    begun = sum(isinstance(e, dict) and e.get("ph") in ("B", "b") for e in events)
    complete = sum(map(_is_whole, events))
    assert complete <= len(trace.slices) <= complete + begun
    for format_ in (files.JSON, files.PFTRACE):
        data = b"".join(format_.write(trace))
        back = format_.read(data).build()
        assert said(back) == said(trace)
        assert not back.findings


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_event, max_size=12))
def test_reports_take_arguments_that_only_look_like_ours(events: list[Any]) -> None:
    try:
        trace = with_phases(chrome_events.read(*events))
    except UserError:
        return
    for reports in ("reports", "reports.kernels"):
        outputs = f"tilelang_trace.{reports}"
        report = import_module(f"{outputs}.report").make_report(trace, "file", Choice())
        assert b"".join(files.SVG.write(trace))
        for form in ("table", "json", "csv", "markdown"):
            with redirect_stdout(io.StringIO()):
                print_report(outputs, form, report)
