"""What a failure ended: the passes behind it on the other side were not reached on this one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilelang_trace.analysis.compare.sides import AllRuns
from tilelang_trace.trace.arguments import ERROR_STATUSES, OPEN

_ENDED = (*ERROR_STATUSES, OPEN)


def not_reached(
    ended: AllRuns, whole: AllRuns, counterpart: Sequence[int], moved: set[int]
) -> set[int]:
    """The nodes of `whole` that `ended` would have come to, had it not failed; or that it may come
    to, if it is a snapshot.

    `counterpart` is the node of `whole` for each of `ended`, or -1; `moved` are those of `ended`
    that run elsewhere in `whole`, and so don't tell how far it came.
    """
    known = set(counterpart)
    kernel_of, its_kernels = ended.forest.outermost_kernels(), whole.forest.outermost_kernels()
    found: set[int] = set()

    def add_behind(nodes: Iterable[int], candidates: Iterable[int]) -> None:
        """Add the candidates that run after the last of the nodes, as far as that is known."""
        begins = whole.forest.begins
        last = max(
            (n for n in nodes if counterpart[n] >= 0 and n not in moved),
            key=lambda n: (ended.forest.begins[n], n),
            default=None,
        )
        place = (-1, -1) if last is None else (begins[counterpart[last]], counterpart[last])
        found.update(n for n in candidates if n not in known and (begins[n], n) > place)

    in_kernel, in_its_kernel = _by_kernel(kernel_of), _by_kernel(its_kernels)
    for kernel, nodes in in_kernel.items():
        if kernel >= 0 and counterpart[kernel] >= 0 and ended.status[kernel] in _ENDED:
            add_behind(nodes, in_its_kernel[its_kernels[counterpart[kernel]]])
    if _has_ended(ended):
        outside = (n for n, kernel in enumerate(its_kernels) if kernel not in known)
        add_behind(range(len(kernel_of)), outside)
    return found


def _by_kernel(kernels: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for node, kernel in enumerate(kernels):
        found.setdefault(kernel, []).append(node)
    return found


def _has_ended(side: AllRuns) -> bool:
    """Whether the last thing that ran failed, and the program with it as far as that is known."""
    forest, trace = side.forest, side.runs[0].trace
    if not forest.roots:
        return False
    last = max(forest.roots, key=lambda node: (forest.begins[node], node))
    if side.status[last] not in _ENDED:
        return False
    ending = trace.metadata.get("exit")
    return not (isinstance(ending, dict) and ending.get("code") == 0 and "signal" not in ending)
