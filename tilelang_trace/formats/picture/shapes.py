"""What a picture is made of: boxes, lines and texts, in pixels from the upper left corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Look: TypeAlias = Literal["plain", "failed", "incomplete", "open"]
"""How a box is drawn: `failed` is hatched, `incomplete` has a frame, `open` a dashed one. So a
failure is seen without colours too.
"""


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    """`#rrggbb`."""
    look: Look = "plain"
    tooltip: str = ""


@dataclass(frozen=True)
class Line:
    """A vertical line."""

    x: float
    top: float
    bottom: float
    width: float
    colour: str


@dataclass(frozen=True)
class Text:
    """A text on one line."""

    x: float
    y: float
    """Of the line that letters stand on."""
    text: str
    size: int
    colour: str
    room: float
    """The pixels that it may take; it does, with any font of usual width."""
    anchor: Literal["start", "middle", "end"] = "start"
    """What of the text is at `x`."""
    bold: bool = False


@dataclass(frozen=True)
class Picture:
    """All that is drawn, in this order: paper, grid, boxes, leaders, texts."""

    width: int
    height: int
    alt: str
    """What the picture shows, in a sentence."""
    grid: tuple[Line, ...]
    boxes: tuple[Box, ...]
    leaders: tuple[Line, ...]
    """From a failed box to the words about it."""
    texts: tuple[Text, ...]
