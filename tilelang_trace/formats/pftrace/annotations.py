"""The arguments of events, as debug annotations -> JSON values.

Source of the rules: Perfetto's debug_annotation.proto. Of annotations of one name the last counts;
if that is a dictionary or an array, what earlier ones hold joins it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import orjson

from tilelang_trace.formats.pftrace.packet_sequence import ARGUMENTS, TEXTS, SequenceState, utf8
from tilelang_trace.trace import rules
from tilelang_trace.trace.findings import Tell

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    from tilelang_trace.trace.json_values import Json

_CHANGED = frozenset(".[]")
"""Perfetto puts an underscore for each of these in a name."""


def is_changed(name: str) -> bool:
    """Whether Perfetto shows another name of an argument than this one."""
    return not _CHANGED.isdisjoint(name)


class AnnotationReader:
    """Reads annotations, with what the sequence of their packet knows."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.changed: dict[str, int] = {}
        """The names that Perfetto changes, and the first packet that has them."""

    def arguments(
        self, annotations: Iterable[pb.DebugAnnotation], state: SequenceState, number: int
    ) -> dict[str, Json]:
        """All arguments of an event, or of a dictionary, in a packet."""
        found: dict[str, Json] = {}
        containers: dict[str, Json] = {}
        for annotation in annotations:
            if annotation.HasField("proto_value"):
                self.tell_unread(number)
                continue
            name = self.name(annotation, state, number)
            value = self.value(annotation, state, number)
            if isinstance(value, (dict, list)):
                value = containers[name] = joined(containers.get(name), value)
            found[name] = value
        return found

    def tell_unread(self, number: int) -> None:
        """Tell of an argument of a type that is unknown here."""
        self._tell(number, rules.UNREAD_ARGUMENT, "an argument is a message, left out")

    def name(self, annotation: pb.DebugAnnotation, state: SequenceState, number: int) -> str:
        """The name of an argument."""
        if not annotation.name_iid:
            name = utf8(annotation.name)
        else:
            told = state.text(ARGUMENTS, annotation.name_iid, number)
            if told is None:
                self.tell_untold(number, annotation.name_iid)
            name = told or ""
        self.note(name, number)
        return name

    def note(self, name: str, number: int) -> None:
        """Take notice of a name in a packet."""
        if name not in self.changed and is_changed(name):
            self.changed[name] = number

    def tell_untold(self, number: int, iid: int) -> None:
        """Tell of an id that means nothing."""
        self._tell(number, rules.UNTOLD_NAME, f"no text has the id {iid}, left empty")

    def value(self, annotation: pb.DebugAnnotation, state: SequenceState, number: int) -> Json:
        """The value of an argument."""
        if annotation.dict_entries:
            return self.arguments(annotation.dict_entries, state, number)
        if annotation.array_values:
            return [self.value(entry, state, number) for entry in annotation.array_values]
        which = annotation.WhichOneof("value")
        if which is None:
            return None
        value = getattr(annotation, which)
        if which == "string_value_iid":
            text = state.text(TEXTS, value, number)
            if text is None:
                self.tell_untold(number, value)
            return text or ""
        if which == "legacy_json_value":
            try:
                return orjson.loads(value)
            except ValueError:
                return utf8(value)
        if which == "nested_value":
            return _nested(value)
        return utf8(value) if isinstance(value, bytes) else value


def joined(known: Json, more: Json) -> Json:
    """What two dictionaries, or two arrays, of one name are together; of two kinds the second."""
    if isinstance(known, dict) and isinstance(more, dict):
        both = dict(known)
        for name, value in more.items():
            both[name] = joined(known.get(name), value)
        return both
    return known + more if isinstance(known, list) and isinstance(more, list) else more


def _nested(value: pb.DebugAnnotation.NestedValue) -> Json:
    """A value of the older form."""
    if value.nested_type == value.DICT:
        return dict(zip(map(utf8, value.dict_keys), map(_nested, value.dict_values)))
    if value.nested_type == value.ARRAY:
        return list(map(_nested, value.array_values))
    for field in ("int_value", "double_value", "bool_value", "string_value"):
        if value.HasField(field):
            found = getattr(value, field)
            return utf8(found) if field == "string_value" else found
    return None
