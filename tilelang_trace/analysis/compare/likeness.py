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
