"""What the packets of one sequence have said so far: names by their ids, and their track."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    from tilelang_trace.trace.json_values import Json

CATEGORIES, NAMES, ARGUMENTS, TEXTS = range(4)
"""The kinds of interned texts; each has ids of its own."""


class Told(NamedTuple):
    """A text that a packet tells."""

    kind: int
    iid: int
    text: str


class SequenceState:
    """The incremental state of one sequence. `number` is that of a packet in the file."""

    def __init__(self) -> None:
        self.texts: tuple[dict[int, str], ...] = ({}, {}, {}, {})
        """Per kind the texts by their ids."""
        self.since: dict[tuple[int, int], int] = {}
        """The packet that told what an id means that meant nothing before, by kind and id, if it is
        one of those that are being read together.
        """
        self.track = 0

    def learn(self, told: list[Told], number: int) -> None:
        """Texts that a packet tells."""
        for kind, iid, text in told:
            if iid not in self.texts[kind]:
                self.since[kind, iid] = number
            self.texts[kind][iid] = text

    def contradicts(self, told: list[Told]) -> bool:
        """Whether one of these ids means something else so far."""
        return any(self.texts[kind].get(iid, text) != text for kind, iid, text in told)

    def text(self, kind: int, iid: int, number: int) -> str:
        """What an id means in a packet: nothing if it is told only after that."""
        return "" if self.since.get((kind, iid), 0) > number else self.texts[kind].get(iid, "")


def texts_told(interned: pb.InternedData) -> list[Told]:
    """The texts in a packet's interned data."""
    told = []
    for kind, entries in (
        (CATEGORIES, interned.event_categories),
        (NAMES, interned.event_names),
        (ARGUMENTS, interned.debug_annotation_names),
    ):
        for entry in entries:
            told.append(Told(kind, entry.iid, utf8(entry.name)))
    for entry in interned.debug_annotation_string_values:
        told.append(Told(TEXTS, entry.iid, entry.str.decode("utf-8", "replace")))
    return told


def utf8(value: str | bytes) -> str:
    """A text field; protobuf gives bytes where it is not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def annotation_name(annotation: pb.DebugAnnotation, state: SequenceState, number: int) -> str:
    """The name of an argument in a packet."""
    if annotation.name_iid:
        return state.text(ARGUMENTS, annotation.name_iid, number)
    return utf8(annotation.name)


def annotation_value(annotation: pb.DebugAnnotation, state: SequenceState, number: int) -> Json:
    """The value of an argument in a packet."""
    if annotation.dict_entries:
        return {
            annotation_name(entry, state, number): annotation_value(entry, state, number)
            for entry in annotation.dict_entries
        }
    if annotation.array_values:
        return [annotation_value(entry, state, number) for entry in annotation.array_values]
    which = annotation.WhichOneof("value")
    if which is None:
        return None
    value = getattr(annotation, which)
    if which == "string_value_iid":
        return state.text(TEXTS, value, number)
    if which == "legacy_json_value":
        try:
            return orjson.loads(value)
        except ValueError:
            return utf8(value)
    return utf8(value) if isinstance(value, bytes) else value
