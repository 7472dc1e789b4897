"""Perfetto protobuf traces (`.pftrace`): `reader` and `writer`.

- `wire`, `packets`: the bytes, for the writer and for the recorder's journal; `numbers`: of
  Perfetto's definitions;
- `byte_columns`, `slice_packets`: the packets of many slices at once;
- `wire_columns`, `plain_events`, `plain_chunk`: the events of many packets at once;
- `wire_reading`, `packet_chunks`, `unpacking`: where packets are, also in damaged and compressed
  data;
- `packet_reader`, `packet_sequence`, `track_event_reader`, `legacy_events`, `annotations`,
  `clock_times`, `track_descriptors`, `places`: all other packets, and what ids mean;
- `event_columns`, `track_keys`: events before it is known where they belong;
- `placing`, `stack_lanes`, `track_owners`, `named_ends`, `flow_arrows`, `counter_values`,
  `read_arguments`: from events to the columns of a builder.
"""
