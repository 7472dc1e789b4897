"""Ends that say what they end: the innermost open slice of their name and category, which need not
be the innermost of all.

Source of the rule: Perfetto's slice_tracker.cc (`MatchingIncompleteSliceIndex`). A name that is not
said fits all, and so does a slice without a name; a category fits only itself. (In JSON a slice
without a name is given one, so that no other fits: `trace.named_ends`.)
"""

from __future__ import annotations

import numpy as np

from tilelang_trace.formats.pftrace.wire_columns import Ints
from tilelang_trace.trace.begin_end import Pairs, paired
from tilelang_trace.trace.model import Ids, Mask

_ANY = -1


def paired_by_name(
    stack: Ids, times: Ints, begins: Mask, names: Ids, categories: Ids, nothing: int
) -> tuple[Pairs, list[int]]:
    """The slices of begin and end events, and which of them never ended although one around them
    did: they end with that. Those of a stack stand together, in the order of time; `nothing` is the
    id of the empty text.
    """
    pairs = paired(stack, times, begins)
    by_name = set(_stacks_to_pair_by_name(stack, begins, names, categories, nothing, pairs))
    left_behind = []
    if by_name:
        starts = np.flatnonzero(np.diff(stack, prepend=stack[:1] - 1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(stack)]):
            if int(stack[start]) in by_name:
                events = slice(start, stop)
                left_behind += _pair_by_name(
                    events, times, begins, names, categories, nothing, pairs
                )
    return pairs, left_behind


def _stacks_to_pair_by_name(
    stack: Ids, begins: Mask, names: Ids, categories: Ids, nothing: int, pairs: Pairs
) -> list[int]:
    """The stacks on which an end says something else than the slice that it would end if all ended
    the innermost one.
    """
    speaks = ~begins & ((names != nothing) | (categories != nothing))
    if not speaks.any():
        return []
    ends = np.flatnonzero(speaks & (pairs.of_event >= 0))
    begin = np.flatnonzero(begins)[pairs.of_event[ends]]
    fits = _fits(names[ends], names[begin], nothing) | (names[begin] == nothing)
    fits &= _fits(categories[ends], categories[begin], nothing)
    found: list[int] = np.unique(stack[ends[~fits]]).tolist()
    return found


def _fits(said: Ids, known: Ids, nothing: int) -> Mask:
    fits: Mask = (said == nothing) | (said == known)
    return fits


def _pair_by_name(
    events: slice,
    times: Ints,
    begins: Mask,
    names: Ids,
    categories: Ids,
    nothing: int,
    pairs: Pairs,
) -> list[int]:
    """Put the pairs of one stack right, whose events these are; returns what is left behind."""
    first = int(np.count_nonzero(begins[: events.start]))
    stack = _Open(nothing)
    of_event: list[int] = []
    number = first
    columns = (times, begins, names, categories)
    for time, is_begin, name, category in zip(*(column[events].tolist() for column in columns)):
        if is_begin:
            stack.begin(number, name, category)
            pairs.begin[number], pairs.end[number] = time, time + 1
            of_event.append(number)
            number += 1
        else:
            ended = stack.end(time, name, category)
            of_event.append(ended)
            if ended >= 0:
                pairs.end[ended] = max(time, int(pairs.begin[ended]) + 1)
    pairs.of_event[events] = of_event
    pairs.is_open[first:number] = False
    left_behind = []
    for number in sorted(stack.open):
        until = stack.until.get(number)
        pairs.is_open[number] = until is None
        if until is not None:
            pairs.end[number] = max(until, int(pairs.begin[number]) + 1)
            left_behind.append(number)
    return left_behind


class _Open:
    """The open slices of a stack, by what an end may say of them. What was ended otherwise is
    dropped from a list when it turns up there: each end takes constant time on average.
    """

    def __init__(self, nothing: int) -> None:
        self._nothing = nothing
        self.open: set[int] = set()
        self.until: dict[int, int] = {}
        """When the innermost slice around another ended before that did."""
        self._inside: list[int] = []
        """Those of which that is not known."""
        self._by: dict[tuple[int, int], list[int]] = {}

    def begin(self, number: int, name: int, category: int) -> None:
        self.open.add(number)
        self._inside.append(number)
        for key in {(name, category), (name, _ANY), (_ANY, category), (_ANY, _ANY)}:
            self._by.setdefault(key, []).append(number)

    def end(self, time: int, name: int, category: int) -> int:
        """The slice that an end ends, -1 if there is none."""
        its_category = _ANY if category == self._nothing else category
        names = (_ANY,) if name == self._nothing else (name, self._nothing)
        found = max(self._innermost(its_name, its_category) for its_name in names)
        self.open.discard(found)
        if found >= 0:
            while self._inside and self._inside[-1] >= found:
                self.until[self._inside.pop()] = time
        return found

    def _innermost(self, name: int, category: int) -> int:
        numbers = self._by.get((name, category), [])
        while numbers and numbers[-1] not in self.open:
            numbers.pop()
        return numbers[-1] if numbers else -1
