"""Numbers of Perfetto's protobuf (perfetto/trace/trace.proto, builtin_clock.proto)."""

KEY = 0x0A
"""What a file says in front of each packet: field 1, with a length."""

CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME = 1, 3, 6
"""Ids of clocks."""
