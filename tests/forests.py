"""Hand-made forests for tests: a name, or a tuple of a name and what is in it."""

from __future__ import annotations

from typing import Any

from tilelang_trace.analysis.compare.align import Alignment, align
from tilelang_trace.analysis.compare.forest import Forest, Kind

CONTEXT = "PassContext"


def forest(*trees: Any, **columns: Any) -> Forest:
    """The forest of these trees. Names that begin with `kernel ` are kernels, `PassContext` is a
    context; what stands behind a `#` in a name is the label.
    """
    names: list[str] = []
    parents: list[int] = []
    waiting = [(tree, -1) for tree in reversed(trees)]
    while waiting:
        tree, parent = waiting.pop()
        name, *inside = [tree] if isinstance(tree, str) else tree
        waiting += [(child, len(names)) for child in reversed(inside)]
        names.append(name)
        parents.append(parent)
    split = [name.partition("#") for name in names]
    kinds: list[Kind] = [
        "kernel" if name.startswith("kernel ") else "context" if name == CONTEXT else "pass"
        for name, _, _ in split
    ]
    return Forest(
        [name for name, _, _ in split], parents, kinds, [label for *_, label in split], **columns
    )


def told(base: Forest, new: Forest, **options: Any) -> list[str]:
    """What became of each node that is not simply matched in its place, one line each."""
    found = align(base, new, **options)
    check(base, new, found)
    lines = []
    for b, n in enumerate(found.new_of):
        if n < 0:
            lines.append(f"- {base.names[b]}")
        elif found.how.get(b) == "renamed":
            lines.append(f"{base.names[b]} > {new.names[n]}")
        elif b in found.how:
            lines.append(f"~ {base.names[b]}")
    return lines + [f"+ {new.names[n]}" for n, b in enumerate(found.base_of) if b < 0]


def check(base: Forest, new: Forest, found: Alignment) -> None:
    """What holds for every alignment."""
    assert len(found.new_of) == len(base) and len(found.base_of) == len(new)
    for b, n in enumerate(found.new_of):
        if n >= 0:
            assert found.base_of[n] == b
            assert base.kinds[b] == new.kinds[n]
            if base.kinds[b] == "pass" and found.how.get(b) != "renamed":
                assert base.names[b] == new.names[n]
    assert sum(n >= 0 for n in found.new_of) == sum(b >= 0 for b in found.base_of)
