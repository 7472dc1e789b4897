"""Perfetto protobuf traces (`.pftrace`): packets -> Trace.

Reads what the writer and the recorder's journal write, and track events of any other tool. Packets
of other kinds are passed by. What Perfetto would not show as meant, and what is lost, is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_trace.formats.pftrace.packet_reader import PacketReader
from tilelang_trace.formats.pftrace.placing import Placing
from tilelang_trace.formats.pftrace.read_arguments import ReadArguments
from tilelang_trace.trace import rules
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import Json


@dataclass
class Reading:
    """What a file holds: a builder with all its events, and what a reader of journals needs to
    know.
    """

    builder: TraceBuilder
    unfinished: dict[int, list[int]]
    """Per lane the rows of slices that never ended, outermost first; their ends are set to the last
    time.
    """
    arguments: ReadArguments
    """The arguments of the rows, not yet added to the builder."""
    documents: dict[str, Json]
    """JSON values that the file holds under a name (ChromeMetadata)."""
    last_time: int
    """Time of the last event, ns."""
    rows: range
    """The rows of the builder that came from this file."""


def read(data: bytes) -> TraceBuilder:
    """A builder with all that the file says. Raises UserError if it is no protobuf trace."""
    builder = TraceBuilder()
    packets = PacketReader(builder)
    packets.read(data)
    placing = Placing(builder, packets)
    placing.place()
    names = builder.strings.texts()
    for rows in placing.unfinished.values():
        for row in rows:
            where = placing.where(row, f", slice {names[builder.names[row]]!r}")
            builder.finding(where, rules.NEVER_ENDED, "ends at the end of the trace")
    if not placing.is_ours:
        builder.place = lambda row: placing.where(row)()
    _tell_of_the_whole(builder, packets, placing)
    placing.arguments.add_to(builder.arguments)
    return builder


def read_events(data: bytes, builder: TraceBuilder) -> Reading:
    """The events of a journal, added to what a builder has. Raises UserError if it is no protobuf
    trace.
    """
    packets = PacketReader(builder)
    packets.read(data, is_live=True)
    placing = Placing(builder, packets)
    placing.place()
    return Reading(
        builder,
        placing.unfinished,
        placing.arguments,
        packets.documents,
        placing.last_time,
        placing.rows,
    )


def _tell_of_the_whole(builder: TraceBuilder, packets: PacketReader, placing: Placing) -> None:
    """Findings that are about a file of another tool as a whole."""
    if placing.is_ours:
        return
    for name, number in packets.annotations.changed.items():
        packets.tell(number, rules.CHANGED_NAME, f"the argument {name!r} keeps its name")
    if not packets.has_events:
        kinds = [f"{count} {kind}" for kind, count in packets.passed_by.most_common(5)]
        held = ", ".join(kinds) or "nothing else either"
        builder.finding("byte 0", rules.NO_TRACK_EVENTS, f"no track events; there is: {held}")
