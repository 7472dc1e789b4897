"""Which kernels of two compiles are the same: by name, and those of one name in their order."""

from __future__ import annotations

from collections import Counter

from tilelang_trace.analysis.compare.prepared import Prepared
from tilelang_trace.analysis.compare.sequence import Likeness, align_sequences

ALIKE = 0.5
"""So much two branches must have in common to be one under two names."""

_LOOKED_AT = 200
"""So many kernels of unknown names are compared with each other, on each side."""


def pair_kernels(base: Prepared, new: Prepared, likeness: Likeness) -> list[tuple[int, int]]:
    """The outermost kernels that are the same.

    Those of one name are matched by their configuration, where an autotuner tried several, else in
    their order. One of another name is the same if it is the only one, or has mostly the same
    passes in it.
    """
    pairs: list[tuple[int, int]] = []
    of_base, of_new = _by_name(base), _by_name(new)
    for name, olds in of_base.items():
        news = of_new.get(name, [])
        configured = _by_label(base, new, olds, news)
        pairs += configured
        taken_base, taken_new = {b for b, _ in configured}, {n for _, n in configured}
        olds = [b for b in olds if b not in taken_base]
        news = [n for n in news if n not in taken_new]
        if len(olds) == len(news):
            pairs += zip(olds, news)
        else:
            found = align_sequences(base.items(olds), new.items(news), likeness)
            pairs += [(olds[i], news[j]) for i, j in found.tolist()]
    return pairs + _unlike(base, new, pairs, likeness)


def _by_name(side: Prepared) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for kernel in side.kernels:
        found.setdefault(int(side.name[kernel]), []).append(kernel)
    return found


def _by_label(
    base: Prepared, new: Prepared, olds: list[int], news: list[int]
) -> list[tuple[int, int]]:
    """Those whose label is there once on each side."""
    at_base, at_new = _once(base, olds), _once(new, news)
    return [(b, at_new[label]) for label, b in at_base.items() if label in at_new]


def _once(side: Prepared, kernels: list[int]) -> dict[str, int]:
    labels = side.forest.labels
    count = Counter(labels[kernel] for kernel in kernels)
    return {label: kernel for kernel in kernels if count[label := labels[kernel]] == 1 and label}


def _unlike(
    base: Prepared, new: Prepared, pairs: list[tuple[int, int]], likeness: Likeness
) -> list[tuple[int, int]]:
    if len(base.kernels) == len(new.kernels) == 1 and not pairs:
        return [(base.kernels[0], new.kernels[0])]
    taken_base, taken_new = {b for b, _ in pairs}, {n for _, n in pairs}
    olds = [b for b in base.kernels if b not in taken_base][:_LOOKED_AT]
    news = [n for n in new.kernels if n not in taken_new][:_LOOKED_AT]
    found = []
    for b in olds:
        for n in news:
            if likeness(b, n) >= ALIKE:
                found.append((b, n))
                news.remove(n)
                break
    return found
