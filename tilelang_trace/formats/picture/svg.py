"""The picture as SVG: no script, nothing from elsewhere, names as tooltips.

The same Trace gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from tilelang_trace.formats.picture import colours
from tilelang_trace.formats.picture.layout import layout
from tilelang_trace.formats.picture.shapes import Box, Line, Picture, Text
from tilelang_trace.trace.model import Trace

_CLASSES = {"plain": "", "failed": "f", "incomplete": "i", "open": "o"}
_STYLE = (
    "text{font-family:Verdana,'DejaVu Sans',Geneva,sans-serif;pointer-events:none;"
    "white-space:pre}"
    ".b{font-weight:bold}.m{text-anchor:middle}.e{text-anchor:end}"
    f".f{{fill:url(#f);stroke:{colours.FAILED_STRIPES}}}"
    f".i{{stroke:{colours.FAILED};stroke-width:1.5}}"
    f".o{{stroke:{colours.OPEN_FRAME};stroke-width:1.5;stroke-dasharray:4 2}}"
)
_HATCH = (
    '<pattern id="f" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)">'
    f'<rect width="6" height="6" fill="{colours.FAILED}"/>'
    f'<rect width="1.5" height="6" fill="{colours.FAILED_STRIPES}"/></pattern>'
)


def write(trace: Trace) -> Iterator[bytes]:
    """The bytes of the picture of a Trace."""
    yield draw(layout(trace)).encode()


def draw(picture: Picture) -> str:
    """A picture as an SVG document."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    size = f'width="{picture.width}" height="{picture.height}"'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {picture.width} {picture.height}" role="img" '
        f"aria-label={quoteattr(_allowed(picture.alt))}>"
    )
    yield f"<style>{_STYLE}</style>"
    yield f"<defs>{_HATCH}</defs>"
    # A background of its own: the page may be light or dark.
    yield (
        f'<rect x=".5" y=".5" width="{picture.width - 1}" height="{picture.height - 1}" rx="6" '
        f'fill="{colours.PAPER}" stroke="{colours.FRAME}"/>'
    )
    yield from map(_line, picture.grid)
    yield from map(_box, picture.boxes)
    yield from map(_line, picture.leaders)
    yield from map(_text, picture.texts)
    yield "</svg>"


def _line(line: Line) -> str:
    return (
        f'<rect x="{_number(line.x - line.width / 2)}" y="{_number(line.top)}" '
        f'width="{_number(line.width)}" height="{_number(line.bottom - line.top)}" '
        f'fill="{line.colour}"/>'
    )


def _box(box: Box) -> str:
    look = _CLASSES[box.look]
    attributes = (
        f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" fill="{box.fill}"'
    )
    if look:
        attributes += f' class="{look}"'
    if not box.tooltip:
        return f"<rect {attributes}/>"
    return f"<rect {attributes}><title>{escape(_allowed(box.tooltip))}</title></rect>"


def _text(text: Text) -> str:
    classes = " ".join(
        name
        for name, holds in (
            ("b", text.bold),
            ("m", text.anchor == "middle"),
            ("e", text.anchor == "end"),
        )
        if holds
    )
    attributes = (
        f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{text.size}" fill="{text.colour}"'
    )
    if classes:
        attributes += f' class="{classes}"'
    return f"<text {attributes}>{escape(_allowed(text.text))}</text>"


def _number(value: float) -> str:
    """Hundredths of a pixel, without what says nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _allowed(text: str) -> str:
    """The text without what XML 1.0 can't hold in any way."""
    return "".join(c if _is_allowed(ord(c)) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_allowed(code: int) -> bool:
    # https://www.w3.org/TR/xml/#charsets
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or code >= 0x10000
    )
