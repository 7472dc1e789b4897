"""Packets of single events, for tests that write a journal or a trace packet by packet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilelang_trace.formats.pftrace.packets import PacketSequence, flow_fields


class EventPackets(PacketSequence):
    """A sequence whose begins and ends are packets at once."""

    def begin(
        self,
        time: int,
        name: str,
        category: str,
        arguments: Mapping[str, Any],
        *,
        colour: str = "",
        flows: Iterable[int] = (),
        ended_flows: Iterable[int] = (),
    ) -> bytes:
        """The begin of a slice (time in ns)."""
        event = self.begin_event(name, category, arguments, colour)
        return self.stamped(time, event + flow_fields(flows, ended_flows))

    def end(self, time: int, arguments: Mapping[str, Any] = {}, *, colour: str = "") -> bytes:
        """The end of the innermost open slice (time in ns)."""
        return self.stamped(time, self.end_event(arguments, colour))
