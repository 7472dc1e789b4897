"""A Trace of any number of slices that looks like a long autotune: what benches run on.

One thread; contexts of 100 slices each, in which passes nest up to four deep and bear the five
arguments of a pass (`parent_sequence` is absent at the top); 200 names, 10 phases. All of it comes
from NumPy columns: 1,000,000 slices take a second or two.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from tilelang_trace.trace.arguments import CONTEXT, CONTEXT_NAME, OK, PASS
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Column, Lane, Process, Thread, Trace

PASSES = 99
"""Passes in each context."""

NAMES = tuple(f"tirx.Transform{number}" for number in range(200))
PHASES = tuple(f"phase {number}" for number in range(10))
_DEEPEST = 3
_SHAPES = 64


def _shape(chance: random.Random) -> tuple[list[int], list[int], list[int]]:
    """One context's passes: of each its depth, its parent, and the last pass inside it."""
    depths: list[int] = []
    parents: list[int] = []
    last = list(range(PASSES))
    open_: list[int] = []
    for number in range(PASSES):
        depth = chance.randint(0, min(len(open_), _DEEPEST))
        del open_[depth:]
        depths.append(depth)
        parents.append(open_[-1] if open_ else -1)
        for around in open_:
            last[around] = number
        open_.append(number)
    return depths, parents, last


def trace(count: int, seed: int = 0) -> Trace:
    """A Trace of `count` slices; the same seed gives the same Trace."""
    chance, random_ = random.Random(seed), np.random.default_rng(seed)
    shapes = [_shape(chance) for _ in range(_SHAPES)]
    contexts = -(-count // (PASSES + 1))
    chosen = random_.integers(0, _SHAPES, contexts)

    def column(part: int, of_context: int) -> np.ndarray:
        """A value for each row: the context's own, then those of its passes."""
        table = np.array([[of_context, *shape[part]] for shape in shapes])
        return table[chosen].ravel()[:count]

    row = np.arange(count)
    sequence = row % (PASSES + 1) - 1
    is_pass = sequence >= 0
    depth = column(0, -1)
    parent = column(1, -1)
    last = np.minimum(row + column(2, PASSES - 1) - sequence, count - 1)
    # The events of all slices in order: before a begin stand the earlier begins and the ends of all
    # of those but the ones still open; before an end the begins up to the last slice inside it.
    nesting = depth + 1
    times = np.cumsum(random_.integers(100, 50_000, 2 * count + 1)) + 10**12
    begin, end = times[2 * row - nesting], times[2 * last + 1 - nesting]

    strings = (*NAMES, *PHASES, CONTEXT_NAME, CONTEXT, PASS, OK)
    ids = {text: number for number, text in enumerate(strings)}
    passes = np.flatnonzero(is_pass)
    inner = np.flatnonzero(parent >= 0)
    around = np.flatnonzero(~is_pass)
    phase = ids[PHASES[0]] + sequence * len(PHASES) // PASSES
    columns = [
        _column("sequence", "int", passes, sequence[passes]),
        _column("depth", "int", passes, depth[passes]),
        _column("parent_sequence", "int", inner, parent[inner]),
        _column("phase", "string", passes, phase[passes]),
        _column("status", "string", row, np.full(count, ids[OK])),
        _column("context", "int", around, np.arange(len(around))),
        _column("opt_level", "int", around, np.full(len(around), 3)),
    ]
    return assemble(
        Parts(
            processes=[Process("tune.py", 4321)],
            threads=[Thread(0, "MainThread", 4321)],
            lanes=[Lane(0)],
            strings=strings,
            begin=begin,
            end=end,
            name=np.where(
                is_pass, random_.integers(0, len(NAMES), count), ids[CONTEXT_NAME]
            ).astype(np.int32),
            category=np.where(is_pass, ids[PASS], ids[CONTEXT]).astype(np.int32),
            lane=np.zeros(count, np.int32),
            columns=columns,
            metadata={"tool": "tilelang-trace", "whole": True},
        )
    )


def _column(name: str, kind: str, rows: np.ndarray, values: Sequence[int] | np.ndarray) -> Column:
    dtype = np.int64 if kind == "int" else np.int32
    return Column(name, kind, rows.astype(np.int32), np.asarray(values).astype(dtype))  # type: ignore[arg-type]
