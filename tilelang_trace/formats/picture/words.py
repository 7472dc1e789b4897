"""The words in a picture: on bars, in their tooltips, and about the whole of it."""

from __future__ import annotations

import re

from tilelang_trace.formats.picture import colours
from tilelang_trace.formats.picture.axis import duration
from tilelang_trace.formats.picture.bars import Bar
from tilelang_trace.formats.picture.text_width import ELLIPSIS, shortened
from tilelang_trace.trace.arguments import DIFFERENCE, PASS
from tilelang_trace.trace.headline import Headline
from tilelang_trace.trace.model import Trace

LONGEST_NAME = 300
"""Characters of a name in a tooltip."""

_KIND = 40
_LEAST_LETTERS = 4
_ALT_WHAT, _ALT_STATE = 100, 200


def visible(text: str) -> str:
    """A text on one line in which nothing hides: what is not printable shows as an escape."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown)


def name(trace: Trace, bar: Bar) -> str:
    """The name of a slice, or how many there are in a bar."""
    if bar.count == 1:
        # No more of it fits into the picture, and a name may be very long.
        return visible(trace.name(bar.row)[: LONGEST_NAME + 1])
    kind = trace.category(bar.row).partition(",")[0]
    return f"{bar.count} {'passes' if kind == PASS else 'slices'}"


def name_and_time(trace: Trace, bar: Bar) -> str:
    """All that a bar says where it has room."""
    # The name of a difference has a time in it.
    says_time = bar.count > 1 or trace.category(bar.row).startswith(DIFFERENCE)
    return name(trace, bar) + ("" if says_time else f"  {duration(bar.end - bar.begin)}")


def fitting(label: str, size: int, room: float, bold: bool) -> str:
    """What of a name fits: it, its beginning, or that of its last part; a letter or two say
    nothing.
    """
    shown = shortened(label, size, room, bold)
    if shown != label and re.fullmatch(r"[\w.]+", label):
        shown = shortened(label.rpartition(".")[2], size, room, bold)
    return shown if len(shown) > _LEAST_LETTERS or shown == label else ""


def tooltip(trace: Trace, bar: Bar, start: int, status: str) -> str:
    """What a bar says to who points at it; times count from `start`."""
    slices = trace.slices
    time = f"{duration(bar.end - bar.begin)} at {duration(bar.begin - start)}"
    longest = visible(_beginning(trace.name(bar.longest), LONGEST_NAME))
    if bar.count > 1:
        its_time = duration(int(slices.end[bar.longest] - slices.begin[bar.longest]))
        failed = f", {bar.failed} failed" if bar.failed else ""
        return f"{name(trace, bar)}{failed}, {time}; the longest: {longest}, {its_time}"
    kind = visible(_beginning(trace.category(bar.row).partition(",")[0], _KIND))
    return ", ".join(part for part in (longest, kind, time, status) if part)


def state(head: Headline) -> tuple[str, str]:
    """How it ended, with the time, and the colour for that."""
    time = duration(head.wall_ns)
    if head.failure is not None:
        more = f" (and {head.failures - 1} more)" if head.failures > 1 else ""
        after = duration(head.failed_after_ns)
        rest = f", {time} in all" if after != time else ""
        return f"failed in {head.failure.slice_name} after {after}{more}{rest}", colours.FAILED
    if head.is_open:
        return f"still running after {time}", colours.OPEN_FRAME
    return f"{time}, no failure", colours.INK


def alt(head: Headline) -> str:
    """The picture in a sentence, for who can't see it."""
    what = _beginning(head.what, _ALT_WHAT)
    ended = _beginning(state(head)[0], _ALT_STATE)
    return visible(f"Flame chart of the compile of {what}: {ended}")


def _beginning(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS
