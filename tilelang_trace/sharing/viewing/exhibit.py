"""The one file that is handed to the page, and what the page shows of it first."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilelang_trace.analysis.compare.joint import JointTrace
from tilelang_trace.analysis.compare.stretch import Clock, start_of
from tilelang_trace.analysis.summary import slowest_row
from tilelang_trace.formats import clocks, envelope, files
from tilelang_trace.formats.archives.members import members
from tilelang_trace.formats.archives.together import Original, is_manifest, moved_in, packed
from tilelang_trace.sharing.viewing.link import View
from tilelang_trace.trace.failures import failures, main_failure
from tilelang_trace.trace.model import Trace


@dataclass(frozen=True)
class Exhibit:
    """What is served."""

    name: str
    """A file name that stands in an address as it is."""
    data: bytes
    view: View | None
    """None if there is no slice at all."""
    about: str
    """What the view is of, in words."""


def exhibit(named: Mapping[str, Sequence[Original]], *, offline: bool) -> Exhibit:
    """The file to serve for the paths that a person named, with the traces in them: one in a file
    or a folder of journals, one or more in an archive. Raises UserError.

    What Perfetto opens goes out as it is, any other trace as .pftrace. Several go into one .zip, in
    which all start together. The UI for `offline` is older: it refuses what else is in an archive,
    and makes one process of all that have one pid; for it several become one Trace.
    """
    originals = [original for traces in named.values() for original in traces]
    if len(named) == 1 and not offline:
        path = next(iter(named))
        if path != originals[0].path and (moved := _moved_in_zip(path, originals)) is not None:
            shifts = [
                _shift(original) + moved.get(original.path.removeprefix(f"{path}/"), 0)
                for original in originals
            ]
            return _exhibit(path, files.read_bytes(Path(path)), originals, shifts)
    if len(originals) == 1:
        return _single(originals[0])
    by_label = dict(zip(_labels(original.path for original in originals), originals))
    name = f"{next(iter(by_label))}-and-{len(by_label) - 1}-more"
    if offline:
        return _converted(name, _beside(by_label))
    archive = packed(by_label)
    return _exhibit(f"{name}.zip", archive.data, originals, archive.shifts)


def _moved_in_zip(path: str, originals: Sequence[Original]) -> dict[str, int] | None:
    """By how many ns the manifest of an archive moves its members; None if Perfetto does not open
    it: it is no .zip, or it has visible members that are no traces, or entries for folders.
    """
    data = files.read_bytes(Path(path))
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return None
    traces, visible = {original.path for original in originals}, members(data)
    known = all(f"{path}/{m.name}" in traces or is_manifest(m.data) for m in visible)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        folders = any(entry.is_dir() for entry in archive.infolist())
    return moved_in(visible) if known and not folders else None


def _shift(original: Original) -> int:
    data = original.content()
    assert data is not None, "it lies in an archive"
    return clocks.shift_in(data, original.trace)


def _single(original: Original) -> Exhibit:
    path, trace = original.path, original.trace
    data = original.content()
    if data is None or files.sniff(data) is files.LOG:
        return _converted(_stem(path), trace)
    # As it is, compressed too; out of an archive unpacked.
    whole = files.read_bytes(Path(path)) if Path(path).is_file() else data
    return _exhibit(path, whole, [original], [clocks.shift_in(data, trace)])


def _converted(stem: str, trace: Trace) -> Exhibit:
    data = b"".join(files.PFTRACE.write(trace))
    shift = clocks.shift_in(data, trace)
    return _exhibit(f"{stem}{files.PFTRACE.ending}", data, [Original("", trace)], [shift])


def _exhibit(
    path: str, data: bytes, originals: Sequence[Original], shifts: Sequence[int]
) -> Exhibit:
    view, about = _view([original.trace for original in originals], shifts)
    return Exhibit(_safe(Path(path).name), data, view, about)


def _view(traces: Sequence[Trace], shifts: Sequence[int]) -> tuple[View | None, str]:
    """The failure of the first trace that has one, else the pass with the most self time of all."""
    for trace, shift in zip(traces, shifts):
        if (failure := main_failure(trace, failures(trace))) is not None:
            bounds = _bounds(traces, shifts)
            return _view_of(trace, failure.row, shift, bounds, fails=True), failure.name
    slowest = [
        (self_ns, row, trace, shift)
        for trace, shift in zip(traces, shifts)
        for row, self_ns in filter(None, [slowest_row(trace)])
    ]
    if not slowest:
        return None, "nothing ran"
    self_ns, row, trace, shift = max(slowest, key=lambda entry: entry[0])
    view = _view_of(trace, row, shift, _bounds(traces, shifts), fails=False)
    return view, f"{trace.name(row)}, the slowest pass: {self_ns / 1e6:.3f} ms of its own"


def _bounds(traces: Sequence[Trace], shifts: Sequence[int]) -> tuple[int, int]:
    some = [(t, s) for t, s in zip(traces, shifts) if len(t.slices) or len(t.instants)]
    return (
        min(envelope.earliest(trace) + shift for trace, shift in some),
        max(envelope.latest(trace) + shift for trace, shift in some),
    )


def _view_of(trace: Trace, row: int, shift: int, bounds: tuple[int, int], *, fails: bool) -> View:
    slices = trace.slices
    begin, end = int(slices.begin[row]), int(slices.end[row])
    return View(
        begin=begin + shift,
        duration=end - begin,
        first=bounds[0],
        last=bounds[1],
        failures=fails,
        shared_times=int(np.sum((slices.begin == begin) & (slices.end == end))) > 1,
    )


def _beside(named: Mapping[str, Original]) -> Trace:
    """All of them in one Trace, each from zero."""
    joint = JointTrace()
    for label, original in named.items():
        joint.add_trace(label, original.trace, Clock.steady(start_of(original.trace)))
    return joint.build(", ".join(named), {})


def _labels(paths: Iterable[str]) -> list[str]:
    """A short name for each path, no two alike."""
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for path in paths:
        label = stem = _stem(path)
        while label in found:
            numbers[stem] = numbers.get(stem, 1) + 1
            label = f"{stem}-{numbers[stem]}"
        found[label] = None
    return list(found)


def _stem(path: str) -> str:
    """The name of a file without what says its format."""
    name = _safe(Path(path).name)
    endings = "|".join(re.escape(known.ending) for known in files.FORMATS)
    return re.sub(rf"(?:{endings})(?:\.gz|\.journal|\.\d+)*$", "", name) or name


def _safe(name: str) -> str:
    """A file name that stands in an address, and in an archive, as it is."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip(".") or "trace"
