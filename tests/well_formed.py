"""What holds for every Trace, whatever it was made of: the invariants of `trace.model`, walked row
by row, unlike in the code that makes them true.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tests.traces import said
from tilelang_trace.trace.json_values import Json, storable, storable_keys
from tilelang_trace.trace.model import Arguments, Trace
from tilelang_trace.trace.rules import RULES

_TYPES = {"bool": bool, "int": int, "float": float, "string": str}


def check(trace: Trace) -> None:
    """Raises AssertionError if a Trace breaks what every Trace keeps to."""
    _check_owners(trace)
    _check_slices(trace)
    _check_arguments(trace.arguments, len(trace.slices))
    _check_arguments(trace.instant_arguments, len(trace.instants))
    instants, counters = trace.instants, trace.counters
    _check_sorted(list(zip(instants.lane.tolist(), instants.time.tolist())))
    _check_sorted(list(zip(counters.track.tolist(), counters.time.tolist())))
    _check_ids(instants.lane.tolist(), trace.lanes)
    _check_ids(counters.track.tolist(), trace.counter_tracks)
    for ids in (trace.slices.name, trace.slices.category, instants.name, instants.category):
        _check_ids(ids.tolist(), trace.strings)
    flows = [tuple(flow) for flow in trace.flows.tolist()]
    _check_sorted(flows)
    for flow in flows:
        _check_ids(list(flow), trace.slices.begin.tolist())
    assert len(set(trace.strings)) == len(trace.strings)
    for text in trace.strings:
        text.encode()
    _check_value(dict(trace.metadata))
    for finding in trace.findings:
        assert finding.rule in RULES


def _check_owners(trace: Trace) -> None:
    for thread in trace.threads:
        _check_ids([thread.process], trace.processes)
    for owned in (*trace.lanes, *trace.counter_tracks):
        _check_ids([owned.thread] if owned.thread is not None else [], trace.threads)
        _check_ids([owned.process] if owned.process is not None else [], trace.processes)
    for named in (*trace.processes, *trace.threads, *trace.lanes, *trace.counter_tracks):
        named.name.encode()
    for counter in trace.counter_tracks:
        counter.unit.encode()


def _check_slices(trace: Trace) -> None:
    slices = trace.slices
    begins, ends, lanes = (c.tolist() for c in (slices.begin, slices.end, slices.lane))
    _check_ids(lanes, trace.lanes)
    _check_sorted([(lane, begin, -end) for lane, begin, end in zip(lanes, begins, ends)])
    open_: list[int] = []
    for row, parent in enumerate(slices.parent.tolist()):
        assert begins[row] < ends[row], "a slice lasts at least 1 ns"
        while open_ and (lanes[open_[-1]] != lanes[row] or ends[open_[-1]] <= begins[row]):
            open_.pop()
        assert parent == (open_[-1] if open_ else -1)
        assert parent < 0 or ends[row] <= ends[parent], "a child lies within its parent"
        open_.append(row)


def _check_arguments(arguments: Arguments, count: int) -> None:
    borne = set[tuple[str, int]]()
    for name, type_, rows, values in arguments.content():
        name.encode()
        assert all(a < b for a, b in zip(rows, rows[1:])) and len(rows) == len(values)
        _check_ids(rows, range(count))
        for row, value in zip(rows, values):
            assert (name, row) not in borne, "a row has one value of a name"
            borne.add((name, row))
            assert type_ == "json" or type(value) is _TYPES[type_]
            _check_value(value)


def _check_value(value: Json) -> None:
    # Compared as text: NaN is not equal to itself, and dictionaries are in any order.
    assert repr(storable(value)) == repr(value)


def _check_sorted(keys: Sequence[tuple[int, ...]]) -> None:
    assert all(a <= b for a, b in zip(keys, keys[1:]))


def _check_ids(ids: Sequence[int], table: Sequence[object]) -> None:
    assert all(0 <= i < len(table) for i in ids)


def as_text(value: Json) -> str:
    """A value as text in which nothing of a Trace's values gets lost: keys that can't be stored are
    kept apart, NaN is equal to itself, and 1, 1.0 and True differ.
    """
    if isinstance(value, dict):
        keys = storable_keys(value)
        pairs = (f"{key!r}: {as_text(value[keys[key]])}" for key in sorted(keys))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_text, value))}]"
    return repr(storable(value))


def kept(trace: Trace) -> dict[str, Any]:
    """What a file of ours keeps of a Trace, as `said` has it: all but NaN and infinities, which
    JSON doesn't have and viewers choke on. As an argument they are null, a counter has a gap there.
    """
    found = said(trace)
    for table in ("slices", "instants"):
        found[table] = [(*row, without_nan(arguments)) for *row, arguments in found[table]]
    found["metadata"] = without_nan(found["metadata"])
    found["counters"] = [row for row in found["counters"] if math.isfinite(float(row[2]))]
    return found


def without_nan(text: str) -> str:
    """JSON text with null in the place of what is none, and its keys in order."""
    value = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
