"""The status line leaves what a program prints as it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal

PRINTS = """
import sys, time
def write(text, seconds=0.01):
    sys.stdout.write(text)
    sys.stdout.flush()
    time.sleep(seconds)
write("first\\n", 0.3)
for number in range(25):
    write(f"line {number} ")
    write("rest\\n")
write("wraps " * 15 + "\\n")
for number in range(20):
    write(f"\\r\\x1b[32m{number * 5} %\\x1b[0m")
write("\\n漢字 größe ", 0.25)
write("\\x1b[31mred", 0.25)
write(" still red\\x1b[0m, last")
"""
SHOWS = """
import os, subprocess, sys
from tilelang_trace.recording.launch.status_line import StatusLine
line = StatusLine(1)
line.show("status")
child = subprocess.Popen([sys.executable, "prints.py"])
number = 0
while child.poll() is None:
    number += 1
    line.show(f"status {number}", " 漢字" * 20)
    try:
        child.wait(0.02)
    except subprocess.TimeoutExpired:
        pass
line.close()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prints.py").write_text(PRINTS)
    (tmp_path / "shows.py").write_text(SHOWS)
    return tmp_path


def test_what_is_printed_meanwhile_is_as_without_it(folder: Path) -> None:
    alone = Terminal([sys.executable, "prints.py"], lines=11, cwd=folder)
    shown = Terminal([sys.executable, "shows.py"], lines=12, cwd=folder)
    shown.read_until(lambda: "50 %" in shown.rows())
    assert shown.rows()[-1].startswith("status ")
    assert len([row for row in shown.rows() if "status" in row]) == 1
    assert alone.wait() == shown.wait() == 0
    printed = alone.scrolled()
    assert printed[:2] == ["first", "line 0 rest"]
    assert printed[-1] == "漢字 größe red still red, last"
    assert shown.scrolled() == [*printed, ""]
    colours = [[cell.fg for cell in row] for row in (alone.cells()[-1], shown.cells()[-2])]
    assert colours[0] == colours[1]
    assert "red" in colours[0]


def test_a_program_that_begins_at_the_bottom_or_resizes_the_window_loses_nothing(
    folder: Path,
) -> None:
    shown = Terminal([sys.executable, "shows.py"], lines=12, cwd=folder)
    shown.read_until(lambda: "line 3 rest" in shown.rows())
    shown.resize(16, 60)
    shown.read_until(lambda: "50 %" in shown.rows())
    assert shown.rows()[-1].startswith("status ")
    assert shown.wait() == 0
    lines = [row for row in shown.scrolled() if row.startswith("line")]
    assert lines == [f"line {number} rest" for number in range(25)]
    assert not [row for row in shown.scrolled() if "status" in row]


@pytest.mark.parametrize("lines", [2])
def test_a_terminal_without_room_has_none(folder: Path, lines: int) -> None:
    shown = Terminal([sys.executable, "shows.py"], lines=lines, cwd=folder)
    assert shown.wait() == 0
    assert b"status" not in shown.output


def test_a_line_is_cut_to_the_width() -> None:
    from tilelang_trace.recording.launch.status_line import _fitted, _width

    assert _fitted("a | ", "lower > Simplify", 40) == "a | lower > Simplify"
    assert _fitted("a | ", "lower > Simplify", 14) == "a | … Simplify"
    assert _fitted("abcdef", "", 3) == "abc"
    assert all(_width(_fitted("12 | ", "漢字" * 9, width)) <= width for width in range(1, 50))


def test_what_is_no_terminal_can_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilelang_trace.recording.launch.status_line import can_show

    reading, writing = os.pipe()
    assert not can_show(writing)
    os.close(reading)
    os.close(writing)
