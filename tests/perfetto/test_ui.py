"""A failed compile in the real Perfetto UI, as the person sees it who opens the file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.perfetto.ui import PerfettoUI
from tests.traces import DETAIL, ERROR, failed_compile
from tilelang_trace.formats import files

FAILED = "InjectPipeline"


def rows_of_png(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height, and the rows of a PNG picture as they are stored."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, width, height, packed = 8, 0, 0, b""
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    data = zlib.decompress(packed)
    assert len(data) % height == 0
    stride = len(data) // height
    return width, height, [data[k : k + stride] for k in range(0, len(data), stride)]


@pytest.mark.browser
def test_a_failed_compile_shows_its_failure_first(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path
) -> None:
    path = tmp_path / "failed compile.pftrace"
    files.write(failed_compile(), path)
    ui = perfetto_ui(path, size=(1400, 800))
    assert ui.import_errors() == 0

    ui.expand_all()
    rows = [name.strip() for name in ui.tracks()]
    assert "Failures" in rows
    assert rows.index("Failures") < rows.index("failing.py 71") < rows.index("MainThread 71")

    # The failed pass: its own slice, and the instant in the row of failures.
    assert ui.search(FAILED) == 2
    ui.select(FAILED)
    details = ui.details().splitlines()
    assert {FAILED, "pass,error", "MainThread [71]", "failing.py [71]"} <= set(details)
    values = dict(zip(details, details[1:]))
    assert values["status"] == "failed"
    assert values["phase"] == "lower"
    assert values["sequence"] == "4"
    assert values["type"] == ERROR["type"]
    assert values["cause"] == ERROR["cause"]
    assert values["message"] == ERROR["message"]
    assert "\n".join(details).count(DETAIL) == 1
    assert f"{FAILED} failed: {ERROR['message']}" in details

    picture = ui.screenshot(tmp_path / "failed.png").read_bytes()
    width, height, lines = rows_of_png(picture)
    assert (width, height) == (1400, 800)
    assert len(set(lines)) > 100

    # And back from the instant to the pass.
    ui.select(f"{FAILED} failed: {ERROR['message']}")
    details = ui.details().splitlines()
    assert "failure" in details
    assert FAILED in details


@pytest.mark.browser
def test_a_failed_compile_as_json_shows_its_failure_too(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path
) -> None:
    path = tmp_path / "failed.json"
    files.write(failed_compile(), path)
    ui = perfetto_ui(path)
    assert ui.import_errors() == 0
    ui.expand_all()
    assert any("Failures" in name for name in ui.tracks())
    ui.select(FAILED)
    details = ui.details().splitlines()
    values = dict(zip(details, details[1:]))
    assert (values["status"], values["type"]) == ("failed", ERROR["type"])
    assert {"pass,error", FAILED} <= set(details)
