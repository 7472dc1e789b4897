"""What the packets of one sequence have said so far: names by their ids, and defaults.

Source of the rules: Perfetto's packet_sequence_state_builder.h and track_event_sequence_state.h.
What a sequence tells is good until it is cleared; after a loss of packets nothing is, until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilelang_trace.formats.pftrace.track_keys import DEFAULT_TRACK, ThreadKey, TrackKey

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

CATEGORIES, NAMES, ARGUMENTS, TEXTS, TYPES = range(5)
"""The kinds of interned texts; each has ids of its own."""

_NONE: dict[int, str] = {}


class Told(NamedTuple):
    """A text that a packet tells."""

    kind: int
    iid: int
    text: str


class SequenceState:
    """The incremental state of one sequence. `number` is that of a packet in the file.

    A file may have a million sequences that tell nothing: what they need takes no memory before.
    """

    __slots__ = (
        "_texts",
        "clock",
        "counters",
        "is_valid",
        "number",
        "reference",
        "since",
        "thread",
        "track",
    )

    def __init__(self, number: int, is_valid: bool, thread: ThreadKey | None) -> None:
        self.number = number
        """The number of this state: counters begin anew with each."""
        self.is_valid = is_valid
        self._texts: dict[int, dict[int, str]] = {}
        """Per kind the texts by their ids."""
        self.since: dict[tuple[int, int], int] = {}
        """The packet that told what an id means that meant nothing before, by kind and id, if it is
        one of those that are being read together.
        """
        self.track: int | None = None
        self.thread = thread
        """What a ThreadDescriptor said."""
        self.clock = 0
        """The clock of timestamps, as `EventColumns` counts clocks."""
        self.counters: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        """The tracks of further counter values, integers and doubles."""
        self.reference: list[int] | None = None
        """What the deltas of events add to: time and thread time in ns, thread instructions."""

    def default_track(self) -> TrackKey:
        """Where an event is that doesn't say it."""
        if self.track:
            return self.track
        return DEFAULT_TRACK if self.thread is None else self.thread

    def learn(self, told: list[Told], number: int) -> None:
        """Texts that a packet tells."""
        for kind, iid, text in told:
            texts = self._texts.setdefault(kind, {})
            if iid not in texts:
                self.since[kind, iid] = number
            texts[iid] = text

    def contradicts(self, told: list[Told]) -> bool:
        """Whether one of these ids means something else so far."""
        return any(self._texts.get(kind, _NONE).get(iid, text) != text for kind, iid, text in told)

    def text(self, kind: int, iid: int, number: int) -> str | None:
        """What an id means in a packet: None if it is told only after that, or never."""
        if self.since.get((kind, iid), 0) > number:
            return None
        return self._texts.get(kind, _NONE).get(iid)

    def known(self, kind: int, iid: int) -> tuple[str | None, int]:
        """What an id means, and from which packet on."""
        return self._texts.get(kind, _NONE).get(iid), self.since.get((kind, iid), 0)


def texts_told(interned: pb.InternedData) -> list[Told]:
    """The texts in a packet's interned data."""
    told = []
    for kind, entries in (
        (CATEGORIES, interned.event_categories),
        (NAMES, interned.event_names),
        (ARGUMENTS, interned.debug_annotation_names),
        (TYPES, interned.debug_annotation_value_type_names),
    ):
        for entry in entries:
            told.append(Told(kind, entry.iid, utf8(entry.name)))
    for entry in interned.debug_annotation_string_values:
        told.append(Told(TEXTS, entry.iid, entry.str.decode("utf-8", "replace")))
    return told


def utf8(value: str | bytes) -> str:
    """A text field; protobuf gives bytes where it is not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
