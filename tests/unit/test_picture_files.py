"""Pictures as files: what an XML parser and a decoder of PNG find in them; who takes them."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageFont

from tests.traces import TRACES, failed_compile, nested_compile, one_lane
from tilelang_trace.commands import main
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files, naming
from tilelang_trace.formats.picture import png, svg
from tilelang_trace.formats.picture.layout import layout
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.model import Trace
from tilelang_trace.trace.phases import with_phases

FIXTURES = Path(__file__).parents[2] / "fixtures"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "]]><script>alert(1)</script>",
    "&amp; & < > \" '",
    "\x00\x01\x1b[31m\x7f\x85",
    "\ufffe\uffff",
    "\u202eevil\u200b\u2067",
    "😀 漢字 ﷽",
    "x" * 300,
    "&<>" * 200,
    "line\nbreak\r\ttab",
    "<image href='https://example.org/a.png'/>",
    "url(https://example.org)",
    "",
]
RED = (0xCF, 0x22, 0x2E)
DARK_RED = (0x8F, 0x0F, 0x1B)


def svg_of(trace: Trace) -> bytes:
    return b"".join(svg.write(trace))


def image_of(trace: Trace) -> Image.Image:
    image = Image.open(io.BytesIO(b"".join(png.write(trace))))
    image.load()
    return image


def hostile() -> Trace:
    """Every text of a trace is hostile; each pass is wide enough for its name."""
    trace = one_lane(
        *(
            (n * 1_000, n * 1_000 + 1_000, name, "pass", {"status": "failed", "error": error(name)})
            for n, name in enumerate(HOSTILE)
        )
    )
    parts = Parts.of(trace)
    parts.processes = [type(p)(HOSTILE[0] + HOSTILE[4], p.pid) for p in trace.processes]
    parts.threads = [type(t)(t.process, HOSTILE[2], t.tid) for t in trace.threads]
    parts.metadata = {"command": HOSTILE, "versions": {"tvm": HOSTILE[1]}, "target": HOSTILE[0]}
    return assemble(parts)


def error(text: str) -> dict[str, str]:
    return {"type": text, "cause": "exception", "message": text}


# ---------------------------------------------------------------------------------------- SVG


@pytest.mark.parametrize("make", [*TRACES.values(), hostile], ids=lambda make: make.__name__)
def test_an_svg_is_valid_and_has_nothing_active(make: object) -> None:
    trace = make()  # type: ignore[operator]
    data = svg_of(trace)
    root = ElementTree.fromstring(data)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img" and root.get("aria-label")
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "style", "defs", "pattern", "rect", "text", "title")
    }
    for element in root.iter():
        assert not [name for name in element.attrib if "href" in name or name.startswith("on")]
        values = [v for name, v in element.attrib.items() if name != "aria-label"]
        assert not [v for v in values if "url(" in v]
    style = root.find(f"{SVG}style")
    assert style is not None and re.findall(r"url\(.*?\)", style.text or "") == ["url(#f)"]
    assert data == svg_of(trace)


def test_names_are_tooltips_and_show_what_is_hidden_in_them() -> None:
    titles = [t.text or "" for t in ElementTree.fromstring(svg_of(hostile())).iter(f"{SVG}title")]
    starts = (*HOSTILE[:2], r"\x00\x01\x1b[31m\x7f\x85", r"\u202eevil\u200b\u2067", "😀 漢字 ﷽")
    for start in (*starts, "x" * 300, r"line\nbreak\r\ttab"):
        assert [title for title in titles if title.startswith(start + ", pass, 1.00 us at")], start


def test_endless_names_and_categories_make_no_endless_file() -> None:
    trace = one_lane(*((n, n + 1, f"{n}" + "&" * 100_000, "x" * 100_000) for n in range(800)))
    assert len(svg_of(trace)) < 500_000


def test_an_svg_says_what_its_layout_says() -> None:
    picture = layout(nested_compile())
    root = ElementTree.fromstring(svg_of(nested_compile()))
    drawn = {
        rect[0].text: tuple(float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if len(rect)
    }
    assert len(drawn) == len([box for box in picture.boxes if box.tooltip])
    for box in picture.boxes:
        if box.tooltip:
            assert drawn[box.tooltip] == pytest.approx((box.x, box.y, box.width, 17), abs=0.01)
    shown = [text.text for text in root.iter(f"{SVG}text")]
    assert shown == [text.text for text in picture.texts]


def test_the_picture_in_the_readme_is_what_is_drawn() -> None:
    trace = with_phases(files.read(FIXTURES / "recordings" / "tilelang_fails.pftrace"))
    assert svg_of(trace) == (FIXTURES / "screenshots" / "picture.svg").read_bytes()


# ---------------------------------------------------------------------------------------- PNG


def test_in_a_png_the_failed_box_is_red_and_hatched() -> None:
    image = image_of(failed_compile())
    picture = layout(failed_compile())
    assert image.size == (2 * picture.width, 2 * picture.height)
    failed = next(b for b in picture.boxes if b.tooltip.startswith("InjectPipeline"))
    # The right half of it, where no letter stands.
    left = round(2 * (failed.x + failed.width / 2))
    right = round(2 * (failed.x + failed.width)) - 4
    rows = range(round(2 * failed.y) + 4, round(2 * (failed.y + 17)) - 4)
    seen = {image.getpixel((x, y)) for x in range(left, right) for y in rows}
    assert seen == {RED, DARK_RED}
    around = next(b for b in picture.boxes if b.tooltip.startswith("LowerTIR"))
    x, y = round(2 * (around.x + around.width / 2)), round(2 * around.y)
    assert image.getpixel((x, y + 1)) == RED  # its frame
    assert image.getpixel((x, y + 17)) == (0xFF, 0xDC, 0xD7)
    good = next(b for b in picture.boxes if b.tooltip.startswith("FlattenBuffer"))
    x, y = round(2 * (good.x + good.width) - 6), round(2 * good.y + 6)
    assert image.getpixel((x, y)) == tuple(bytes.fromhex(good.fill[1:]))


def test_a_png_has_paper_of_its_own_and_letters() -> None:
    image = image_of(nested_compile())
    assert image.mode == "RGB" and image.getpixel((6, 6)) == (255, 255, 255)
    title = image.crop((24, 24, 200, 60))
    blank = Image.new("RGB", title.size, "#ffffff")
    assert ImageChops.difference(title, blank).getbbox() is not None


@pytest.mark.parametrize("make", [*TRACES.values(), hostile], ids=lambda make: make.__name__)
def test_every_trace_makes_a_png_and_the_same_one_again(make: object) -> None:
    trace = make()  # type: ignore[operator]
    assert b"".join(png.write(trace)) == b"".join(png.write(trace))


def test_letters_stay_in_their_boxes_also_where_no_font_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(png, "_SYSTEM_FONTS", ())
    font, shown = png._drawable("größe 漢", 22)
    assert shown == r"gr\xf6\xdfe \u6f22"
    cut = png._cut(font, shown, 60)
    assert cut.endswith("…") and font.getlength(cut) <= 60 < font.getlength(shown)
    # Nothing is drawn in the gap right of a box whose name became longer than it.
    trace = one_lane((0, 107, "漢字" * 10, "pass"), (800, 876, "B", "pass"))
    picture, image = layout(trace), image_of(trace)
    box = next(b for b in picture.boxes if b.tooltip.startswith("漢"))
    at = round(2 * (box.x + box.width)) + 1
    column = [image.getpixel((at, round(2 * box.y) + y)) for y in range(34)]
    assert set(column) == {(255, 255, 255)}


def test_a_pillow_without_letters_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFont, "load_default", lambda size=None: ImageFont.ImageFont())
    png._own_font.cache_clear()
    with pytest.raises(UserError, match=r"use \.svg"):
        b"".join(png.write(nested_compile()))
    png._own_font.cache_clear()


# -------------------------------------------------------------------------------------- files


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "mlp.pftrace"
    files.write(nested_compile(), path)
    return path


@pytest.mark.parametrize("name", ["x.svg", "x.PNG"])
def test_convert_makes_a_picture(recorded: Path, name: str, tmp_path: Path) -> None:
    assert main(["convert", str(recorded), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes()[:4] in (b"<svg", b"\x89PNG")


def test_a_picture_without_phases_in_the_trace_has_them_too(tmp_path: Path) -> None:
    files.write(nested_compile(), tmp_path / "x.pftrace")
    files.write(files.read(tmp_path / "x.pftrace"), tmp_path / "read.svg")
    files.write(nested_compile(), tmp_path / "made.svg")
    assert (tmp_path / "read.svg").read_bytes() == (tmp_path / "made.svg").read_bytes()


@pytest.mark.parametrize("name", ["x.svg", "x.png"])
def test_a_picture_is_no_trace(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    files.write(nested_compile(), path)
    assert main(["report", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{name}: a picture, which has no data of a trace: name the trace it shows" in said


def test_a_recording_into_a_picture_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, output = tmp_path / "mlp.py", tmp_path / "x.svg"
    script.write_text("print('ran')")
    assert main(["run", "-o", str(output), str(script)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert f"tilelang-trace convert {tmp_path / 'x.pftrace'} -o {output}" in err
    assert list(tmp_path.iterdir()) == [script]
    with pytest.raises(UserError, match="keeps no data"):
        naming.at_start("{script}-{time}.PNG", "mlp")


@pytest.mark.parametrize("name", ["x.svg.gz", "x.png.gz", "x.svgz"])
def test_a_picture_is_not_compressed(name: str) -> None:
    with pytest.raises(UserError, match=r"\.svg or \.png for a picture"):
        files.format_for(name)


def test_only_a_png_imports_pillow(recorded: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from tilelang_trace.commands import main\n"
        f"main(['convert', {str(recorded)!r}, '-o', {str(tmp_path / 'x.svg')!r}])\n"
        "assert 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
