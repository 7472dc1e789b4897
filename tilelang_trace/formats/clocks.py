"""How the times of a Trace look in a file of it, once Perfetto has read that."""

from __future__ import annotations

import re

from tilelang_trace.formats import envelope, files
from tilelang_trace.formats.chrome_json.writer import origin_of
from tilelang_trace.formats.pftrace.writer import boot_time_of
from tilelang_trace.trace.model import Trace

_ENVELOPE = re.compile(rb'"%s"\s*:\s*\{\s*"format_version"' % envelope.NAME.encode())


def shift_in(data: bytes, trace: Trace) -> int:
    """ns to add to a time of a Trace to get the `ts` that Perfetto's SQL shows for it in this file:
    the Trace is what the file, unpacked .pftrace or JSON, says.

    A .pftrace is shown on the boot clock if the file says how that relates to the others, else on
    its own. JSON of ours counts from the start of the recording, that of others is taken as it is.
    """
    if files.sniff(data) is files.JSON:
        return -origin_of(trace) if _ENVELOPE.search(data) else 0
    moved = boot_time_of(trace, 0)
    return moved if moved is not None else -min(0, envelope.earliest(trace))
