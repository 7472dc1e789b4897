"""Whether two names may be names of one pass."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_ENOUGH = 0.6
"""So much of all words of both names must be in both."""


def core(name: str) -> str:
    """A name without the namespace: passes move from `tir.` to `tirx.` or `s_tir.`."""
    return name.rpartition(".")[2].lower()


def similar(base: str, new: str) -> bool:
    """Whether these look like two names of one pass: `tir.Simplify` and `tirx.StmtSimplify`, but
    not `LowerIntrin` and `LowerOpaqueBlock`.
    """
    if core(base) == core(new):
        return True
    one, other = _words(base), _words(new)
    common, all_words = len(one & other), len(one | other)
    # Of one word and two, one in common is enough.
    return common >= _ENOUGH * all_words or (common == 1 and all_words == 2)


@lru_cache(maxsize=4096)
def _words(name: str) -> frozenset[str]:
    last = name.rpartition(".")[2]
    return frozenset(word.lower() for word in _WORD.findall(last)) or frozenset([last])


def longest_in_order(may_match: list[list[bool]]) -> list[tuple[int, int]]:
    """The longest sequence of pairs in order that may match."""
    width = len(may_match[0]) if may_match else 0
    score = [[0] * (width + 1)]
    for row in may_match:
        above, here = score[-1], [0]
        for j, may in enumerate(row):
            here.append(max(above[j + 1], here[j], above[j] + may))
        score.append(here)
    pairs, i, j = [], len(may_match), width
    while i and j:
        if score[i][j] == score[i - 1][j]:
            i -= 1
        elif score[i][j] == score[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]
