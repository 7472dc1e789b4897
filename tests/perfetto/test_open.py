"""`tilelang-trace open` with a real browser and the real UI: what the person sees who runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.perfetto.ui import PerfettoUI
from tests.traces import ERROR, failed_compile, nested_compile, one_lane
from tilelang_trace.formats import files
from tilelang_trace.formats.archives.writing import zipped

pytestmark = pytest.mark.browser

SELECTED = """() => {
    const {kind, name, category} = window.app.trace.selection.selection;
    return [kind, name, category];
}"""
PINNED = "() => window.app.trace.workspace.pinnedTracks.map((track) => track.name)"
VISIBLE = """() => {
    const window_ = window.app.trace.timeline.visibleWindow;
    return [Number(window_.start.integral), Math.round(window_.duration)];
}"""
FETCH = """async (address) => {
    try { return (await fetch(address)).status; } catch (error) { return String(error); }
}"""


@contextmanager
def opened(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command at work, and the link that it printed."""
    command = [sys.executable, "-m", "tilelang_trace", "open", "--no-browser", *arguments]
    environ = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout is not None
        try:
            link = process.stdout.readline().strip()
            assert link, process.communicate(timeout=10)[1]
            yield link, process
        finally:
            process.kill()


def traces(folder: Path) -> dict[str, Path]:
    """The failed compile in all forms; in the archive beside one that went well."""
    found = {name: folder / f"failed.{name}" for name in ("pftrace", "json", "events.jsonl", "zip")}
    for name, path in found.items():
        if name != "zip":
            files.write(failed_compile(), path)
    files.write(one_lane((10, 400_000, "P", "pass")), folder / "good.json")
    good, bad = (folder / "good.json").read_bytes(), found["json"].read_bytes()
    found["zip"].write_bytes(zipped({".report/README.md": b"#", "good.json": good, "x.json": bad}))
    return found


@pytest.mark.parametrize("name", ["pftrace", "json", "events.jsonl", "zip"])
def test_offline_the_failed_pass_is_selected_and_in_view(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path, name: str
) -> None:
    with opened("--offline", str(traces(tmp_path)[name])) as (link, process):
        ui = perfetto_ui(address=link)
        assert ui.page.evaluate(SELECTED) == ["track_event", "InjectPipeline", "pass,error"]
        assert {row.rpartition(" 4")[0] or row for row in ui.page.evaluate(PINNED)} == {"Failures"}
        begin, duration = ui.page.evaluate(VISIBLE)
        assert begin <= 30_001
        assert begin + duration >= 50_000
        assert duration <= 5 * 19_999
        # Above all, the error can be read.
        assert ui.page.get_by_text(ERROR["message"], exact=True).first.is_visible()
        assert ui.import_errors() == 0
        assert ui.blocked == []
        picture = ui.screenshot(tmp_path / "open.png")
        assert picture.stat().st_size > 10_000
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_a_pass_that_fills_its_phase_is_selected_and_not_the_phase(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path
) -> None:
    files.write(nested_compile(), tmp_path / "x.pftrace")
    with opened("--offline", str(tmp_path / "x.pftrace")) as (link, _):
        ui = perfetto_ui(address=link)
        assert ui.page.evaluate(SELECTED) == ["track_event", "VMCodeGen", "pass"]


@pytest.mark.parametrize("name", ["pftrace", "json"])
def test_online_the_page_gets_the_trace_and_the_command_ends(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path, name: str
) -> None:
    with opened(str(traces(tmp_path)[name])) as (link, process):
        assert link.startswith("https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F")
        ui = perfetto_ui(address=link, server="http://127.0.0.1:9001")
        assert ui.page.evaluate(SELECTED) == ["track_event", "InjectPipeline", "pass,error"]
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert "the page has it" in process.stderr.read()


def test_a_page_of_another_origin_gets_nothing(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path
) -> None:
    """Not even if it knows the whole address."""
    files.write(failed_compile(), tmp_path / "x.pftrace")
    with opened(str(tmp_path / "x.pftrace")) as (link, process):
        ui = perfetto_ui(tmp_path / "x.pftrace", server="http://127.0.0.1:9001")
        address = link.partition("url=")[2].partition("&")[0]
        address = address.replace("%3A", ":").replace("%2F", "/")
        refused: Any = ui.page.evaluate(FETCH, address)
        assert refused == "TypeError: Failed to fetch"
        assert process.poll() is None
