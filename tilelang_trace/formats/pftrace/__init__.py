"""Perfetto protobuf traces (`.pftrace`): `reader` and `writer`.

- `wire`, `packets`: the bytes, for the writer and for the recorder's journal;
- `byte_columns`, `slice_packets`: the packets of many slices at once;
- `wire_columns`, `plain_events`, `plain_chunk`: the events of many packets at once;
- `packet_chunks`, `packet_sequence`, `packet_reader`: all other packets, and what ids mean;
- `event_columns`, `track_owners`, `read_arguments`: from events to the columns of a builder.
"""
