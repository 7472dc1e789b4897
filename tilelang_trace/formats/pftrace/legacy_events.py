"""Events of the older form, whose meaning is a phase as in Chrome JSON.

Source of the rules: Perfetto's track_event.proto (`LegacyEvent`) and track_event_event_importer.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang_trace.formats.pftrace.event_columns import (
    ARRIVES,
    ARRIVES_NEXT,
    COMPLETE,
    ENDS,
    INSTANT,
    JOINS,
    LEAVES,
    PASSES,
    POINT,
    SLICE_BEGIN,
    SLICE_END,
    FlowKey,
)
from tilelang_trace.formats.pftrace.packet_sequence import SequenceState, utf8
from tilelang_trace.formats.pftrace.track_keys import (
    DEFAULT_TRACK,
    AsyncKey,
    InstantsKey,
    ThreadKey,
    TrackKey,
)

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

METADATA = "M"

_BY_NAME = {"S": SLICE_BEGIN, "F": SLICE_END, "T": INSTANT, "p": INSTANT}
_BY_CATEGORY = {"b": SLICE_BEGIN, "e": SLICE_END, "n": INSTANT}
_ASYNC = _BY_NAME | _BY_CATEGORY
"""The phases of slices that have an id in common; those of one id and category, or name, nest."""

_FLOW_STEPS = {"s": LEAVES, "t": PASSES, "f": ARRIVES}

KINDS = {
    "B": SLICE_BEGIN,
    "E": SLICE_END,
    "X": COMPLETE,
    **dict.fromkeys("iIR", INSTANT),
    **_ASYNC,
    **dict.fromkeys(_FLOW_STEPS, POINT),
}
"""What an event of a phase is."""

_GLOBAL, _PROCESS = 1, 2
_FLOW_DIRECTIONS = {1: ARRIVES, 2: LEAVES, 3: PASSES}


def phase_of(event: pb.TrackEvent) -> str:
    """The phase of an event, "" if it has none."""
    phase = event.legacy_event.phase if event.HasField("legacy_event") else 0
    return chr(phase) if 0 < phase < 128 else "?" if phase else ""


def thread_of(event: pb.TrackEvent, state: SequenceState) -> TrackKey:
    """Where an event is that names no track, or says that it is on none."""
    legacy, thread = event.legacy_event, state.thread
    has_pid, has_tid = legacy.HasField("pid_override"), legacy.HasField("tid_override")
    is_silent = not event.HasField("track_uuid") or not event.HasField("type")
    if not has_pid and (thread is None or not (is_silent or has_tid)):
        return DEFAULT_TRACK
    pid, tid = thread or (0, 0)
    if has_pid:
        pid, tid = legacy.pid_override, -1
    if has_tid:
        tid = legacy.tid_override
    return ThreadKey(pid, tid)


def track_of(
    phase: str, event: pb.TrackEvent, key: TrackKey, name: str, category: str
) -> TrackKey | None:
    """Where an event with a phase is, if it would be on `key` without; None if that lacks an id."""
    legacy = event.legacy_event
    if phase in "iI" and legacy.instant_event_scope in (_GLOBAL, _PROCESS):
        return InstantsKey(key if legacy.instant_event_scope == _PROCESS else None)
    if phase not in _ASYNC:
        return key
    scope = name if phase in _BY_NAME else category
    if legacy.HasField("id_scope"):
        scope = f"{category}:{utf8(legacy.id_scope)}"
    if legacy.HasField("unscoped_id"):
        return AsyncKey(None, scope, legacy.unscoped_id)
    if legacy.HasField("global_id"):
        return AsyncKey(None, scope, legacy.global_id)
    return AsyncKey(key, scope, legacy.local_id) if legacy.HasField("local_id") else None


def flow_steps(
    phase: str, event: pb.TrackEvent, name: str, category: str
) -> list[tuple[FlowKey, int]]:
    """The steps of flows that an event takes, of the older forms and of the newer one."""
    steps: list[tuple[FlowKey, int]] = []
    legacy = event.legacy_event
    if phase in _FLOW_STEPS and legacy.HasField("unscoped_id"):
        step = _FLOW_STEPS[phase]
        if step == ARRIVES and not legacy.bind_to_enclosing:
            step = ARRIVES_NEXT
        steps.append(((legacy.unscoped_id, category, name), step))
    if legacy.HasField("bind_id") and legacy.flow_direction in _FLOW_DIRECTIONS:
        steps.append((legacy.bind_id, _FLOW_DIRECTIONS[legacy.flow_direction]))
    steps += [(flow, JOINS) for flow in event.flow_ids or event.flow_ids_old]
    ended = event.terminating_flow_ids or event.terminating_flow_ids_old
    steps += [(flow, ENDS) for flow in ended]
    return steps
