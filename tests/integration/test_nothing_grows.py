"""A recording takes the same memory however much it records, and leaves none behind."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tilelang_trace
from tilelang_trace.recording.hooks import tvm as hooks
from tilelang_trace.recording.recorder import Recording


@contextmanager
def growth() -> Iterator[list[int]]:
    """By how many bytes, and Python objects, the block has grown what there is."""
    grown: list[int] = []
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
    try:
        yield grown
    finally:
        gc.collect()
        grown += [
            tracemalloc.get_traced_memory()[0] - before[0],
            len(gc.get_objects()) - before[1],
        ]
        tracemalloc.stop()


def test_however_many_passes(tvm: Any, module: Any, tmp_path: Path) -> None:
    def run_new_passes() -> None:
        made = [tvm.tirx.transform.RemoveNoOp() for _ in range(5_000)]
        tvm.transform.Sequential(made)(module)

    recording = Recording(tmp_path)
    hooks.start(recording)
    try:
        with tvm.transform.PassContext():
            run_new_passes()  # fills what is kept up to a limit
            with growth() as grown:
                for _ in range(4):
                    run_new_passes()
    finally:
        hooks.stop(recording)
        recording.close()
    assert grown[0] < 300_000  # of 2 MB in the journal


def test_however_many_recordings(tvm: Any, module: Any, tmp_path: Path) -> None:
    no_op = tvm.tirx.transform.RemoveNoOp()

    def record() -> None:
        with tilelang_trace.record(tmp_path / "x.pftrace"), tvm.transform.PassContext():
            no_op(module)

    for _ in range(5):
        record()
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with growth() as grown:
        for _ in range(40):
            record()
    assert grown[0] < 40_000
    assert grown[1] < 40
    if files:
        assert len(os.listdir("/proc/self/fd")) == files
