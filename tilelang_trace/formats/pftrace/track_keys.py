"""What an event can be on: a track by its uuid, or what older events say instead of one.

Source of the rules: Perfetto's track_event_event_importer.h (`ParseInitialTrackAssociation`,
`ParseTrackAssociationInternal`).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

DEFAULT_TRACK = 0
"""The uuid of the track of events that say nothing of theirs."""


class ThreadKey(NamedTuple):
    """A thread by its ids, of a ThreadDescriptor or of an event itself."""

    pid: int
    tid: int


class AsyncKey(NamedTuple):
    """Slices that have an id in common: legacy events of the phases b, e, n, S, T, p and F."""

    process: TrackKey | None
    """Something on the process that the id belongs to; None if it belongs to the whole trace."""
    scope: str
    id: int


class InstantsKey(NamedTuple):
    """Legacy instants of a whole process, by something on it, or of the whole trace."""

    process: TrackKey | None


class ThreadCounterKey(NamedTuple):
    """A counter that events of a thread carry along."""

    thread: TrackKey
    name: str


TrackKey: TypeAlias = "int | ThreadKey | AsyncKey | InstantsKey | ThreadCounterKey"
