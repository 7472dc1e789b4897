"""A picture in a real browser: it is drawn, nothing is cut off, and no letter leaves its bar."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.perfetto.fixtures import cannot_run
from tests.traces import failed_compile, foreign, main_thread
from tilelang_trace.engine.errors import EngineUnavailable
from tilelang_trace.formats.picture.layout import layout
from tilelang_trace.formats.picture.svg import draw
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

BOXES = """() => [...document.querySelectorAll('rect, text')].map((e) => {
    const r = e.getBoundingClientRect();
    return {text: e.tagName === 'text' ? e.textContent : '', anchor: getComputedStyle(e).textAnchor,
            left: r.left, right: r.right, top: r.top, bottom: r.bottom};
})"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    named = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    browser = shutil.which(named)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        cannot_run(EngineUnavailable(f"playwright cannot be imported: {error}"))
    if browser is None:
        cannot_run(EngineUnavailable(f"there is no browser {named}"))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield launched
        launched.close()


def many_names() -> Trace:
    """Bars of all widths with names of all kinds of letters."""
    builder = TraceBuilder()
    lane = main_thread(builder)
    begin = 0
    for name in (
        "MMMMWWWW@@@@",
        "漢字カタカナ",
        "😀😀😀😀",
        "ЖЩШЮ größe",
        "iiiilllll.....",
        "שלום עולם",
    ):
        for width in range(5, 140, 11):
            builder.slice(lane, begin, begin + width * 1_000, name * 2, "pass", {"status": "ok"})
            begin += width * 1_000
        lane = main_thread(builder)
        begin = 0
    return builder.build()


@pytest.mark.browser
@pytest.mark.parametrize("make", [failed_compile, foreign, many_names])
def test_nothing_is_cut_off_and_no_letter_leaves_its_room(
    chromium: Any, make: Callable[[], Trace]
) -> None:
    picture = layout(make())
    page = chromium.new_page(viewport={"width": 1000, "height": picture.height + 50})
    page.set_content(f"<body style='margin:0'>{draw(picture)}")
    drawn = page.evaluate(BOXES)
    page.close()
    assert len(drawn) > len(picture.boxes) + len(picture.texts)
    for one in drawn:
        assert one["left"] >= -0.5 and one["right"] <= picture.width + 0.5, one
        assert one["top"] >= -0.5 and one["bottom"] <= picture.height + 0.5, one
    shown = [one for one in drawn if one["text"]]
    assert [one["text"] for one in shown] == [text.text for text in picture.texts if text.text]
    for one, text in zip(shown, (text for text in picture.texts if text.text)):
        assert one["right"] - one["left"] <= text.room + 0.5, one


@pytest.mark.browser
def test_the_failed_bar_is_red_on_paper_that_is_white(chromium: Any) -> None:
    import io

    from PIL import Image

    picture = layout(failed_compile())
    page = chromium.new_page(viewport={"width": 900, "height": picture.height})
    page.set_content(f"<body style='margin:0;background:#0d1117'>{draw(picture)}")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    failed = next(box for box in picture.boxes if box.tooltip.startswith("InjectPipeline"))
    area = (
        round(failed.x + failed.width / 2),
        round(failed.y) + 3,
        round(failed.x + failed.width) - 3,
        round(failed.y) + 14,
    )
    colours = image.crop(area).getcolors(10_000)
    assert colours is not None
    assert all(r > 130 and g < 60 and b < 70 for _, (r, g, b) in colours)
    assert len(colours) > 1  # it is hatched
    assert image.getpixel((6, picture.height // 2)) == (255, 255, 255)
