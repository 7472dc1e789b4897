"""Chrome JSON of ours, one event a line: what is written from columns, held against the Trace; and
the reader of lines, held against the reader of any file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.benchmarks import synthetic
from tests.random_traces import traces
from tests.traces import TRACES, nested_compile, one_lane, said
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.chrome_json import reader as chrome_json_reader
from tilelang_trace.formats.chrome_json import slices as chrome_json_slices
from tilelang_trace.formats.chrome_json.reader import read, read_any, read_lines
from tilelang_trace.formats.chrome_json.writer import write
from tilelang_trace.trace import failures
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted((FIXTURES / "recordings").glob("*.pftrace"))


def written(trace: Trace) -> bytes:
    return b"".join(write(trace))


# ------------------------------------------------------------------------------------- writing


def check_slices(trace: Trace) -> None:
    """Hold the lines of the slices against the Trace, in their order and to the last digit."""
    lines = [line for line in written(trace).splitlines() if line.startswith(b'{"ph":"X"')]
    assert len(lines) == len(trace.slices)
    origin = None
    for row, line in enumerate(lines):
        event = json.loads(line.removesuffix(b","), parse_float=Decimal)
        begin = int(event["ts"] * 1000)
        origin = int(trace.slices.begin[row]) - begin if origin is None else origin
        arguments = trace.arguments.of(row)
        assert begin + origin == trace.slices.begin[row]
        assert int(event["dur"] * 1000) == trace.slices.duration[row]
        assert event["tid"] == trace.slices.lane[row] + 1
        assert event["name"] == trace.name(row)
        category, status = trace.category(row), arguments.get("status")
        assert event["cat"] == failures.written_category(category, status)
        assert list(event["args"]) == list(arguments)
        assert json.dumps(json.loads(line.removesuffix(b","))["args"]) == json.dumps(arguments)


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_each_slice_is_the_event_that_it_should_be(make: Callable[[], Trace]) -> None:
    check_slices(make())


@settings(max_examples=60, deadline=None)
@given(traces())
def test_each_slice_of_a_random_trace_is_the_event_that_it_should_be(trace: Trace) -> None:
    check_slices(trace)


def test_slices_are_the_same_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = synthetic.trace(500)
    whole = written(trace)
    for size in (1, 7, 499):
        monkeypatch.setattr(chrome_json_slices, "_CHUNK", size)
        assert written(trace) == whole


def test_no_text_ends_in_a_backslash_and_a_quote() -> None:
    """Perfetto v52 would not see its end."""
    texts = ["\\", "a\\", "\\\\", '\\"', '"\\', '"args":{,"', ',"args":{,']
    trace = one_lane(*((10 * k, 10 * k + 5, t, t, {t: t, "n": [t]}) for k, t in enumerate(texts)))
    data = written(trace)
    assert b'\\\\"' not in data.replace(b'\\\\\\"', b"")
    check_slices(trace)


# ------------------------------------------------------------------------------------- reading


def outcome(way: Callable[[bytes], TraceBuilder], data: bytes) -> Any:
    """All that comes of reading a file: the Trace and its findings, or what the user is told."""
    try:
        trace = way(data).build()
    except UserError as error:
        return str(error)
    return said(trace), trace.findings


def check(data: bytes) -> None:
    assert outcome(read, data) == outcome(read_any, data)


@pytest.fixture(params=[1, 300, 1 << 16])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one line, of some, and of all of them."""
    monkeypatch.setattr(chrome_json_reader, "_BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_lines_are_read_as_any_file_is(make: Callable[[], Trace]) -> None:
    check(written(make()))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_lines_of_real_traces_are_read_as_any_file_is(path: Path) -> None:
    data = written(files.read(path))
    assert read_lines(data) is not None
    check(data)


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_what_we_write_is_read_by_lines(make: Callable[[], Trace]) -> None:
    trace = make()
    if trace.lanes or trace.processes:  # else there is no line
        assert read_lines(written(trace)) is not None


MORE = [
    *(f'{{"ph":"{phase}","ts":1.5,"pid":1,"tid":1,"name":"n","cat":"c"}}' for phase in "BEiIRstfQ"),
    '{"ph":"X","ts":3.5,"dur":1.000,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":3,"dur":1,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":true,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":1e300,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":-1.5,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":0.0,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":0.0005,"dur":0.0015,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"pid":1,"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":9,"tid":99,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":[],"tid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":"1","name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":true,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":{},"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"name":"n","cat":"pass","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":null,"cat":7,"args":[]}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"c","args":[]}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":99,"name":"n","cat":"failure","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"pass,error","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"pass,error",'
    '"args":{"status":"failed","b":1,"a":{"y":1,"x":[1.5,true]}}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":"n","cat":"pass,error",'
    '"args":{"status":["failed"],"wide":18446744073709551616}}',
    '{"ph":"i","ts":5.5,"pid":3,"tid":98,"name":"n","cat":"failure"}',
    '{"ph":"C","ts":5.5,"pid":77,"name":"bytes","args":{"a":1,"b":true}}',
    '{"ph":"M","pid":9,"tid":99,"name":"thread_name","args":{"name":"late"}}',
    '{"ph":"M","pid":77,"name":"process_name","args":{"name":"late too"}}',
    '{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"renamed"}}',
    '{"ph":["X"]}',
    '{"ph":null}',
    "{}",
    "[]",
    '"X"',
    "5",
    "",
    " ",
    "}",
    '{"ph":"X",\n"ts":5.5}',
    '{"ph":"X","ts":5.5,\n"dur":1.5,"pid":1,"tid":1,"name":"a","cat":"b","args":{}}',
    '{"ph":"X","ts":5.5,"dur":1.5,"pid":1,"tid":1,"name":"\\ud800","cat":"b","args":{}}',
    "],[",
    '],"traceEvents":[',
    '],\n"displayTimeUnit":"ns",\n"otherData":{"tilelang_trace":{}}',
    "NaN",
]
"""What an editor or another tool may put between the lines of a file of ours."""


def with_lines(data: bytes, *more: tuple[int, str]) -> bytes:
    """A file with further lines at these places among its own, 0 is before the first event."""
    head, *lines = data.split(b"\n")
    events, rest = lines[: lines.index(b"],")], lines[lines.index(b"],") :]
    events = [event.removesuffix(b",") for event in events]
    for place, line in more:
        events.insert(place % (len(events) + 1), line.encode())
    return b"\n".join([head, b",\n".join(events), *rest])


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("place", [0, 5, -1])
@pytest.mark.parametrize("line", MORE)
def test_lines_that_are_not_ours(line: str, place: int) -> None:
    check(with_lines(written(nested_compile()), (place, line)))


@pytest.mark.parametrize(
    "event",
    [
        '{"ph":"X","ts":5.5,"dur":1.5,"pid":9,"tid":99,"name":"n","cat":"pass","args":{}}',
        '{"ph":"i","ts":5.5,"pid":9,"tid":99,"name":"n","cat":"mine"}',
        '{"ph":"C","ts":5.5,"pid":9,"name":"bytes","args":{"a":1}}',
    ],
)
def test_names_of_rows_that_are_not_ours_count_wherever_they_stand(event: str) -> None:
    thread = '{"ph":"M","pid":9,"tid":99,"name":"thread_name","args":{"name":"late"}}'
    process = '{"ph":"M","pid":9,"name":"process_name","args":{"name":"late"}}'
    data = with_lines(written(nested_compile()), (4, event), (-1, thread), (-1, process))
    trace = read(data).build()
    assert trace.processes[-1].name == "late"
    assert '"C"' in event or trace.threads[-1].name == "late"
    check(data)


def test_a_file_cut_anywhere_is_refused_as_any_file_is() -> None:
    data = written(one_lane((0, 10, "a", "pass", {"status": "ok"}), (2, 5, "b")))
    for length in range(data.index(b'"ph":"X"') - 20, len(data)):
        check(data[:length])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"origin_ns":0', b'"origin_ns":9223372036854775807'),
        (b'"origin_ns":0', b'"origin_ns":-4611686018427387904'),
        (b'"origin_ns":0', b'"origin_ns":"x"'),
        (b'"format_version":1', b'"format_version":99'),
        (b'"tilelang_trace":{', b'"tilelang_trace":5,"x":{'),
        (b'"otherData":{"t', b'"otherData":5,"x":{"t'),
        (b'"displayTimeUnit"', b'"traceEvents":[],"displayTimeUnit"'),
        (b'"displayTimeUnit":"ns"', b'"displayTimeUnit":"ms"'),
        (b"}}\n", b'},"traceEvents":[]}\n'),
        (b"}}\n", b'},"more":[]}\n'),
        (b"}}\n", b"}}\n}"),
        (b"}}\n", b"}} \n\n"),
        (b",\n", b",\r\n"),
        (b"[\n", b"["),
        (b"\n]", b",\n]"),
        (b"\n]", b"]"),
        (b"[\n", b"[\n,\n"),
    ],
)
def test_a_frame_that_is_not_ours(old: bytes, new: bytes) -> None:
    data = written(one_lane((0, 10, "a", "pass", {"status": "ok"}), (2, 5, "b")))
    assert old in data
    check(data.replace(old, new))


def test_times_that_only_their_sum_brings_to_where_clocks_are() -> None:
    data = written(one_lane((0, 10, "a", "pass", {"status": "ok"})))
    data = data.replace(b'"origin_ns":0', b'"origin_ns":7000000000000000000')
    data = data.replace(b'"ts":0.000', b'"ts":-1000000000000000.000')
    assert read(data).build().slices.begin.tolist() == [6 * 10**18]
    check(data)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(
    traces(),
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from(MORE)), max_size=2),
    st.sampled_from([1, 300, 1 << 16]),
)
def test_random_traces_with_lines_that_are_not_ours(
    trace: Trace, more: list[tuple[int, str]], size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chrome_json_reader, "_BLOCK", size)
        check(with_lines(written(trace), *more))


@settings(max_examples=60, deadline=None)
@given(traces())
def test_random_traces_come_back(trace: Trace) -> None:
    data = written(trace)
    builder = read_lines(data)
    assert builder is not None
    assert said(builder.build()) == said(trace)
