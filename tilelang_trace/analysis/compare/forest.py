"""What an alignment looks at: the passes of a compile as trees, apart from their Trace."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["pass", "context", "kernel"]


@dataclass(frozen=True)
class Forest:
    """Trees of passes, and of the contexts and kernels around them; one entry a node in each list.

    A parent stands before its children and these in the order in which they ran (preorder).
    """

    names: Sequence[str]
    parents: Sequence[int]
    """The node around each, -1 at the top."""
    kinds: Sequence[Kind] = ()
    """All are passes if not given."""
    labels: Sequence[str] = ()
    """What tells nodes of one name apart: the phase of a pass, the configuration of a kernel."""
    times: Sequence[int] = ()
    """How long each took, ns; all the same if not given."""
    begins: Sequence[int] = ()
    """When each began; in the order of the list if not given."""
    children: Sequence[Sequence[int]] = field(init=False)
    roots: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.names)
        children: list[list[int]] = [[] for _ in range(count)]
        roots: list[int] = []
        for node, parent in enumerate(self.parents):
            (children[parent] if parent >= 0 else roots).append(node)
        filled = {
            "kinds": self.kinds or ["pass"] * count,
            "labels": self.labels or [""] * count,
            "times": self.times or [0] * count,
            "begins": self.begins or range(count),
            "children": children,
            "roots": roots,
        }
        for name, value in filled.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.names)

    def pass_above(self) -> list[int]:
        """For each node the nearest pass around it, -1 if there is none."""
        above: list[int] = []
        for parent in self.parents:
            is_pass = parent < 0 or self.kinds[parent] == "pass"
            above.append(parent if is_pass else above[parent])
        return above

    def outermost_kernels(self) -> list[int]:
        """For each node the outermost kernel that it is or lies in, -1 if there is none."""
        kernel: list[int] = []
        for node, parent in enumerate(self.parents):
            outer = kernel[parent] if parent >= 0 else -1
            kernel.append(node if outer < 0 and self.kinds[node] == "kernel" else outer)
        return kernel


@dataclass(frozen=True)
class Merged:
    """Two forests in one: the nodes of the first in its order, and those that only the second has,
    each where it stands there.
    """

    first: list[int]
    """The node of the first forest, -1 for one that only the second has."""
    second: list[int]
    parents: list[int]


def merge(
    first: Forest, second: Forest, first_of: Sequence[int], moved: Container[int] = ()
) -> Merged:
    """Put two forests into one; `first_of` is the counterpart of each node of the second, or -1.

    A node that only the second has goes behind the sibling that it follows there, wherever that one
    is, unless that is one of those that have `moved`.
    """
    count = len(first)

    def merged(node: int) -> int:
        return first_of[node] if first_of[node] >= 0 else count + node

    # What goes behind a node; and, where there is no sibling to go behind, below a node.
    behind: dict[int, list[int]] = {}
    foremost: dict[int, list[int]] = {}

    def place(parent: int, children: Iterable[int]) -> None:
        anchor = -1
        for child in children:
            own = first_of[child]
            if own < 0:
                (behind if anchor >= 0 else foremost).setdefault(
                    anchor if anchor >= 0 else parent, []
                ).append(count + child)
                anchor = count + child
            elif child not in moved:
                anchor = own

    place(-1, second.roots)
    for node, children in enumerate(second.children):
        place(merged(node), children)

    second_of = {own: node for node, own in enumerate(first_of) if own >= 0}
    result = Merged([], [], [])
    position: dict[int, int] = {-1: -1}
    # Nodes to come, the next one last, each with the node around it; what goes behind a sibling is
    # put below it on the stack when it is taken off, so that its own children come before.
    stack: list[tuple[int, int]] = []

    def push(nodes: Iterable[int], parent: int) -> None:
        stack.extend((node, parent) for node in reversed(list(nodes)))

    push([*foremost.get(-1, ()), *first.roots], -1)
    while stack:
        node, parent = stack.pop()
        position[node] = len(result.parents)
        own = node if node < count else -1
        result.first.append(own)
        result.second.append(second_of.get(node, -1) if own >= 0 else node - count)
        result.parents.append(position[parent])
        push(behind.get(node, ()), parent)
        push([*foremost.get(node, ()), *(first.children[own] if own >= 0 else ())], node)
    return result
