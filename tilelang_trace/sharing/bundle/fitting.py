"""What is left out of an archive so that it is small enough: what is least useful first.

First the files of IR that are there for reading, then the IR of passes that did not fail, then
short passes: as many as must go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilelang_trace.analysis.selection.leave_out import without_short
from tilelang_trace.errors import UserError
from tilelang_trace.sharing.bundle.material import Material
from tilelang_trace.trace.arguments import FAILED, PASS
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

_AIM = 0.9
"""Short passes go until the archive is about so much of what it may be."""
_TRIES = 6
"""Each leaves out more of the short passes; the last one all that did not fail."""


def fitted(
    material: Material, pack: Callable[[Material], bytes], most_bytes: int
) -> tuple[Material, bytes]:
    """The most of the material whose archive has at most so many bytes, and that archive. Raises
    UserError if nothing is small enough.
    """
    size = len(archive := pack(material))
    if size <= most_bytes:
        return material, archive
    for smaller in _without_ir(material):
        size = len(archive := pack(smaller))
        material = smaller
        if size <= most_bytes:
            return material, archive
    whole = material
    share = 1.0
    for number in range(_TRIES):
        share = 0.0 if number == _TRIES - 1 else share * _AIM * most_bytes / size
        material = _without_short(whole, share)
        size = len(archive := pack(material))
        if size <= most_bytes:
            return material, archive
    raise UserError(
        f"{_megabytes(size)} even without IR and short passes, but only {_megabytes(most_bytes)} "
        "may be attached: take a part of it (convert --only 'KERNEL')"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _without_ir(material: Material) -> Iterator[Material]:
    """The material without the files of IR; then also without the IR in the traces."""
    files = replace(
        material,
        ir_files=False,
        left_out=(*material.left_out, "the files of IR (the trace has the IR of each pass)"),
    )
    if material.ir_files:
        yield files
    if any(map(_has_ir_texts, material.traces.values())):
        yield replace(
            files,
            traces=files.changed(without_ir_texts),
            left_out=(*material.left_out, "the IR of passes that did not fail"),
        )


def without_ir_texts(trace: Trace) -> Trace:
    """The Trace without the text of the IR before and after passes, but for those that failed."""
    failed = {row for row, s in trace.arguments.values("status").items() if s == FAILED}
    parts = Parts.of(trace)
    columns = []
    for column in parts.columns:
        if column.name == "ir" and column.type == "json":
            values = np.empty(len(column.rows), np.object_)
            values[:] = [
                value if row in failed else _without_texts(value)
                for row, value in zip(column.rows.tolist(), column.values)
            ]
            column = replace(column, values=values)
        columns.append(column)
    return assemble(replace(parts, columns=columns))


def _without_texts(ir: Json) -> Json:
    if not isinstance(ir, Mapping):
        return ir
    return {key: value for key, value in ir.items() if key not in ("before", "after")}


def _has_ir_texts(trace: Trace) -> bool:
    return any(_without_texts(ir) != ir for ir in trace.arguments.values("ir").values())


def _without_short(material: Material, share: float) -> Material:
    """The material with only this share of the passes, the longest ones."""
    durations = np.concatenate(
        [trace.slices.duration[trace.is_kind(PASS)] for trace in material.traces.values()]
    )
    if not len(durations):
        return material
    least = int(np.quantile(durations, 1 - share, method="higher")) + (share == 0)
    return replace(
        material,
        traces=material.changed(lambda trace: without_short(trace, least)),
        left_out=(
            *(text for text in material.left_out),
            f"passes shorter than {least / 1e6:.3f} ms (those around them say how many: `hidden`)",
        ),
    )
