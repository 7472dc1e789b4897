"""What holds for any Trace, whatever it was made of: the model's invariants, and that nothing of it
is lost, in memory and in files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces import said
from tests.well_formed import as_text, check, kept, without_nan
from tests.wild_traces import Wild, wild
from tilelang_trace.checking import check_file
from tilelang_trace.formats import files
from tilelang_trace.formats.archives.together import Original, write_both
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.json_values import storable
from tilelang_trace.trace.model import Trace


@given(made=wild())
def test_any_slices_in_any_order_make_a_well_formed_trace(made: Wild) -> None:
    check(made.trace)


@given(made=wild())
def test_nothing_is_lost(made: Wild) -> None:
    trace = made.trace
    instants, counters, text = trace.instants, trace.counters, trace.strings.__getitem__
    put_in = [
        (made.lanes[lane].thread, made.lanes[lane].process, *map(storable, texts), as_text(given))
        for lane, _, _, *texts, given in made.slices
    ]
    told = [
        (lane.thread, lane.process, trace.name(row), trace.category(row), as_text(arguments))
        for row, arguments in enumerate(trace.arguments.between(0, len(trace.slices)))
        for lane in [trace.lanes[trace.slices.lane[row]]]
    ]
    assert Counter(told) == Counter(put_in)
    assert Counter((told[a], told[b]) for a, b in trace.flows.tolist()) == Counter(
        (put_in[a], put_in[b]) for a, b in made.flows
    )
    columns = (instants.time, map(text, instants.name), map(text, instants.category))
    given = map(as_text, trace.instant_arguments.between(0, len(instants)))
    assert Counter(zip(*columns, given)) == made.instants
    rows = zip(counters.track.tolist(), counters.time.tolist(), map(repr, counters.value.tolist()))
    assert Counter(rows) == made.counters


@given(made=wild())
def test_slices_that_nest_keep_their_times(made: Wild) -> None:
    trace = made.trace
    if any(end <= begin for _, begin, end, *_ in made.slices) or _crossing(made.slices):
        assert trace.findings
        return
    assert not trace.findings
    assert trace.lanes == tuple(replace(lane, name=storable(lane.name)) for lane in made.lanes)
    columns = (trace.slices.lane, trace.slices.begin, trace.slices.end)
    assert Counter(zip(*(column.tolist() for column in columns))) == Counter(
        row[:3] for row in made.slices
    )


def _crossing(slices: list[tuple[Any, ...]]) -> bool:
    """Whether two slices of a lane overlap, and neither lies within the other."""
    return any(
        lane == other_lane and begin < other_begin < end < other_end
        for lane, begin, end, *_ in slices
        for other_lane, other_begin, other_end, *_ in slices
    )


FORMATS = pytest.mark.parametrize("format_", [files.PFTRACE, files.JSON], ids=lambda f: f.name)


@FORMATS
@given(made=wild())
def test_a_file_says_what_the_trace_says(format_: files.Format, made: Wild) -> None:
    data = b"".join(format_.write(made.trace))
    assert files.sniff(data) is format_
    read = format_.read(data).build()
    check(read)
    assert not read.findings
    assert said(read) == kept(made.trace)
    assert b"".join(format_.write(read)) == data


@given(made=wild())
def test_a_file_by_way_of_the_other_format_is_the_same(made: Wild) -> None:
    for there, back in ((files.JSON, files.PFTRACE), (files.PFTRACE, files.JSON)):
        data = b"".join(there.write(made.trace))
        between = b"".join(back.write(there.read(data).build()))
        assert b"".join(there.write(back.read(between).build())) == data


@given(made=wild(), ending=st.sampled_from([".pftrace", ".json"]), gz=st.sampled_from(["", ".gz"]))
def test_files_and_archives(
    made: Wild, ending: str, gz: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{ending}{gz}"
    files.write(made.trace, path)
    assert said(files.read(path)) == kept(made.trace)

    both = path.with_name("both.zip")
    originals = Original(str(path), files.read(path)), Original("", made.trace)
    write_both(*originals, both)
    for name, member in files.contents_in(both).items():
        assert said(files.read_content(member, both / name)) == kept(made.trace)
    for written in (path, both):
        assert not check_file(str(written)).findings


@given(made=wild())
def test_a_log_keeps_the_passes(made: Wild) -> None:
    trace = made.trace
    data = b"".join(files.LOG.write(trace))
    assert files.sniff(data) is files.LOG
    read = files.LOG.read(data).build()
    check(read)
    assert Counter(_passes(read)) == Counter(_passes(trace))
    assert without_nan(json.dumps(dict(read.metadata))) == without_nan(
        json.dumps(dict(trace.metadata))
    )


_ARGUMENTS_OF_A_LOG = ("sequence", "depth", "parent_sequence", "phase", "status", "error")


def _passes(trace: Trace) -> Iterator[tuple[object, ...]]:
    """What a log tells of each pass, whatever else is on its thread."""
    for row in trace.is_kind(PASS).nonzero()[0].tolist():
        arguments = trace.arguments.of(row)
        own = {name: value for name, value in arguments.items() if name not in _ARGUMENTS_OF_A_LOG}
        yield trace.name(row), without_nan(json.dumps(own))
