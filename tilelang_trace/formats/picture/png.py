"""The picture as PNG, twice as fine as its layout, for screens that show that.

Pillow draws it: its wheels are there for every system, with a scalable font in them, so that a
machine without any font draws letters too. That font has ASCII and little else. A text with other
characters is drawn with a font of the system that has them; where there is none, they show as
escapes. The same Trace gives the same bytes on one machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tilelang_trace.errors import UserError
from tilelang_trace.formats.picture import colours
from tilelang_trace.formats.picture.layout import layout
from tilelang_trace.formats.picture.shapes import Box, Line, Picture, Text
from tilelang_trace.formats.picture.text_width import ELLIPSIS
from tilelang_trace.trace.model import Trace

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

SCALE = 2
"""Pixels of the file for one of the layout."""
_STRIPES = 12
_STRIPE = 3
_DASH, _NO_DASH = 8, 4
_SYSTEM_FONTS = (
    "DejaVuSans.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "Arial Unicode.ttf",
    "PingFang.ttc",
    "msyh.ttc",
    "segoeui.ttf",
)
"""Of Linux, macOS and Windows; the first that has all characters of a text draws it."""
_IN_NO_FONT = "\U0010fffe"


def write(trace: Trace) -> Iterator[bytes]:
    """The bytes of the picture of a Trace. Raises UserError if Pillow can't draw letters."""
    yield draw(layout(trace))


def draw(picture: Picture) -> bytes:
    """A picture as a PNG file."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (picture.width * SCALE, picture.height * SCALE), colours.PAPER)
    on = ImageDraw.Draw(image)
    on.rectangle((0, 0, image.width - 1, image.height - 1), outline=colours.FRAME)
    for line in picture.grid:
        _line(on, line)
    for box in picture.boxes:
        _box(image, on, box)
    for line in picture.leaders:
        _line(on, line)
    for text in picture.texts:
        _text(on, text)
    data = io.BytesIO()
    image.save(data, "PNG", optimize=True)
    return data.getvalue()


def _line(on: ImageDraw, line: Line) -> None:
    left = round((line.x - line.width / 2) * SCALE)
    right = max(left, round((line.x + line.width / 2) * SCALE) - 1)
    on.rectangle(
        (left, round(line.top * SCALE), right, round(line.bottom * SCALE)), fill=line.colour
    )


def _box(image: Image, on: ImageDraw, box: Box) -> None:
    left, top = round(box.x * SCALE), round(box.y * SCALE)
    # A rectangle of Pillow includes its last pixel.
    right = max(left, round((box.x + box.width) * SCALE) - 1)
    bottom = round((box.y + box.height) * SCALE) - 1
    on.rectangle((left, top, right, bottom), fill=box.fill)
    if box.look == "failed":
        _hatch(image, (left, top, right + 1, bottom + 1))
        on.rectangle((left, top, right, bottom), outline=colours.FAILED_STRIPES, width=2)
    elif box.look == "incomplete":
        on.rectangle((left, top, right, bottom), outline=colours.FAILED, width=3)
    elif box.look == "open":
        for x in range(left, right + 1, _DASH + _NO_DASH):
            end = min(x + _DASH, right)
            on.rectangle((x, top, end, top + 2), fill=colours.OPEN_FRAME)
            on.rectangle((x, bottom - 2, end, bottom), fill=colours.OPEN_FRAME)
        on.rectangle((left, top, left + 2, bottom), fill=colours.OPEN_FRAME)
        on.rectangle((max(left, right - 2), top, right, bottom), fill=colours.OPEN_FRAME)


def _hatch(image: Image, area: tuple[int, int, int, int]) -> None:
    from PIL import Image, ImageDraw

    left, top, right, bottom = area
    tile = Image.new("RGB", (right - left, bottom - top), colours.FAILED)
    on = ImageDraw.Draw(tile)
    for x in range(0, tile.width + tile.height, _STRIPES):
        on.line(((x, 0), (x - tile.height, tile.height)), colours.FAILED_STRIPES, _STRIPE)
    image.paste(tile, (left, top))


def _text(on: ImageDraw, text: Text) -> None:
    font, shown = _drawable(text.text, text.size * SCALE)
    shown = _cut(font, shown, text.room * SCALE)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[text.anchor]
    at = (text.x * SCALE, round(text.y * SCALE))
    on.text(at, shown, text.colour, font, anchor)
    if text.bold:
        # The font has no bold face: the letters are drawn again, a little to the right.
        on.text((at[0] + 1, at[1]), shown, text.colour, font, anchor)


def _drawable(text: str, size: int) -> tuple[FreeTypeFont, str]:
    """The font that has most of a text, and the text as it can show it."""
    characters = sorted(set(text))
    fonts = [_own_font(size)]
    if not text.isascii():
        fonts += [font for name in _SYSTEM_FONTS if (font := _system_font(name, size))]
    best = max(fonts, key=lambda font: sum(_has(font, c) for c in characters))
    return best, "".join(c if _has(best, c) else ascii(c)[1:-1] for c in text)


def _cut(font: FreeTypeFont, text: str, room: float) -> str:
    """The text, or its beginning with an ellipsis, in so many pixels."""
    if font.getlength(text) <= room:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if font.getlength(text[:middle] + ELLIPSIS) <= room:
            fits = middle
        else:
            too_long = middle
    return text[:fits] + ELLIPSIS


@lru_cache(maxsize=8)
def _own_font(size: int) -> FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise UserError("this Pillow was built without FreeType, and draws no letters: use .svg")
    return font


@lru_cache(maxsize=64)
def _system_font(name: str, size: int) -> FreeTypeFont | None:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return None  # not on this machine


@lru_cache(maxsize=4096)
def _has(font: FreeTypeFont, character: str) -> bool:
    """Whether a font has a character of its own: those that it lacks all look the same."""
    return bytes(font.getmask(character)) != bytes(font.getmask(_IN_NO_FONT)) or character == " "
