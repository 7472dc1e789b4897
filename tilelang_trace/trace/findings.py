"""What was not as it should be in an input, and what the reader did about it."""

from __future__ import annotations

from dataclasses import dataclass

CUT_OFF = "cut-off"
"""The file ends in the middle of an event."""

NEVER_ENDED = "never-ended"
"""A slice has a begin and no end."""

END_WITHOUT_BEGIN = "end-without-begin"
"""An end where no slice is open."""

OVERLAP = "overlap"
"""Two slices of one lane overlap without nesting."""

ROUNDING = "rounding"
"""A child sticks out of its parent by no more than times rounded to microseconds explain."""

EMPTY_SLICE = "empty-slice"
"""A slice lasts no time, which viewers nest wrongly."""

NEGATIVE_DURATION = "negative-duration"
"""A slice ends before it begins."""

SHIFTED = "shifted"
"""An event at the time of another one is moved by ns, so that each has its own time."""

UNKNOWN_PHASE = "unknown-phase"
"""A JSON event of a phase that is not read."""

BAD_METADATA = "bad-metadata"
"""Metadata that can't be read."""

LOSSES = frozenset({CUT_OFF, NEVER_ENDED, END_WITHOUT_BEGIN})
"""The rules that mean: the file doesn't hold all that happened."""


@dataclass(frozen=True)
class Finding:
    """Something in an input that was not as it should be, and what was done about it."""

    place: str
    """Where: `line 12`, `byte 3456`, or a slice in words."""
    rule: str
    """Which rule it breaks, one of the names above."""
    done: str
    """What the reader did about it, one line."""

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.done}"
