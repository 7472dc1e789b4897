"""How wide a text will be, before anybody draws it.

Who looks at an SVG draws it with a font of theirs. The widths are those of DejaVu Sans, measured:
Verdana has nearly the same, and what else a sans-serif font may be is narrower. So a text that fits
here fits there.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"

# fmt: off
_ASCII = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)
# fmt: on
"""Of the characters from space to tilde, in thousandths of the font's size."""
_OTHER = 1100
"""The widest letters that are in use elsewhere, such as Cyrillic ones."""
_WIDE = 1400
"""Chinese, Japanese and Korean ones take 1000, emoji more."""
_BOLD = 1.2


def text_width(text: str, size: int, bold: bool = False) -> float:
    """The width of a text in pixels, or a little more."""
    width = sum(map(_character, text)) * size / 1000
    return width * _BOLD if bold else width


def shortened(text: str, size: int, room: float, bold: bool = False) -> str:
    """The text, or its beginning with an ellipsis, in so many pixels; empty if nothing fits."""
    if text_width(text, size, bold) <= room:
        return text
    left = room - text_width(ELLIPSIS, size, bold)
    kept = 0
    for character in text:
        left -= text_width(character, size, bold)
        if left < 0:
            break
        kept += 1
    return text[:kept].rstrip() + ELLIPSIS if kept else ""


def _character(character: str) -> int:
    code = ord(character) - 32
    if 0 <= code < len(_ASCII):
        return _ASCII[code]
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE
    base = unicodedata.normalize("NFD", character)[0]
    return _character(base) if base != character else _OTHER
