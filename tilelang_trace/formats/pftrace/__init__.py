"""Perfetto protobuf traces (`.pftrace`): `reader` and `writer`.

The way of a file of any tool, however broken, from its bytes to a builder:

- `wire_reading`, `packet_chunks`: where fields and packets are; `unpacking`: those that lie
  compressed in others;
- `packet_reader`: packets -> events. The plain ones, nearly all in files of ours, many at once, as
  columns: `wire_columns`, `plain_events`, `plain_chunk`; all others one by one:
  `track_event_reader`, `legacy_events`, `annotations`, `packet_sequence` (what ids mean),
  `clock_times`, `track_descriptors`; `places` knows the bytes at which packets begin;
- `event_columns`, `track_keys`: events before it is known where they belong;
- `placing`: events -> builder, with `stack_lanes` and `track_owners` (where they belong),
  `named_ends`, `flow_arrows`, `counter_values`, `read_arguments`.

The way out, of the writer and of the recorder's journal: `wire`, `packets`; the packets of many
slices at once: `byte_columns`, `slice_packets`. `numbers`: those of Perfetto's definitions.
"""
