"""A file of each kind that this package writes, for tests of what all of them have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from tests.packet_events import EventPackets
from tests.traces import TRACES, failed_compile, nested_compile
from tests.two_sides import base, compared_sides, new
from tilelang_trace.analysis.compare.timeline import Align, side_by_side
from tilelang_trace.formats import files
from tilelang_trace.formats.archives import together
from tilelang_trace.formats.pftrace.packets import track_packet
from tilelang_trace.recording.journal import Journal
from tilelang_trace.sharing.bundle import bundle
from tilelang_trace.trace.model import Trace

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
BUNDLES = (".zip", ".tgz", ".pftrace.gz", ".json.gz")


def own_files(folder: Path) -> Iterator[Path]:
    """All of them, each written when it is asked for."""
    yield from sorted(RECORDINGS.iterdir())
    for name, make in TRACES.items():
        for ending in (".pftrace", ".json", ".json.gz"):
            yield written(folder / f"{name}{ending}", make())
    yield written(folder / "log.events.jsonl.gz", nested_compile())
    for align in get_args(Align):
        for ending in (".pftrace", ".json"):
            both = side_by_side(compared_sides(), base(), new(), align=align)
            yield written(folder / f"both-{align}{ending}", both)
    sides = [together.Original("", side) for side in (base(), new())]
    together.write_both(*sides, folder / "both.zip")
    yield folder / "both.zip"
    for ending in BUNDLES:
        yield bundled(folder / f"one{ending}", {"trace": failed_compile()})
    for ending in BUNDLES[:2]:
        yield bundled(folder / f"two{ending}", {"base": failed_compile(), "new": nested_compile()})
    yield journals(folder / "x.pftrace.journal")


def written(path: Path, trace: Trace) -> Path:
    """The Trace as a file of this name."""
    files.write(trace, path)
    return path


def bundled(path: Path, traces: dict[str, Trace]) -> Path:
    """The Traces as a bundle of this name."""
    made = bundle.make_bundle(traces, str(path), bundle.Choice(None, verify=False))
    path.write_bytes(made.archive)
    return path


def journals(folder: Path) -> Path:
    """The journals of two processes that have ended."""
    folder.mkdir()
    for pid in (1, 2):
        journal, sequence = Journal(folder, pid), EventPackets(2, 7)
        journal.append(track_packet(2, 7, thread=(pid, pid, "main")))
        journal.append(sequence.first())
        journal.append(sequence.begin(10, "Lower", "pass", {"sequence": 0}))
        journal.append(sequence.end(20))
        journal.close()
    return folder
