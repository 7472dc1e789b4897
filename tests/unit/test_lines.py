"""Tables of the reports, held against those of rich, which look the same."""

from __future__ import annotations

import random
import re
from io import StringIO

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tilelang_trace.reports.lines import Table, heading, line, printed

CELLS = ("", "1", "1.000", "a name", "漢字 ≥ größer", "e\u0301", "x" * 40, "[red]")


def by_rich(columns: list[str], numbers: int, rows: list[list[str]], closing: list[list[str]]):
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at < numbers else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    table.add_section()
    for row in closing:
        table.add_row(*map(Text, row))
    stream = StringIO()
    Console(file=stream, width=1000).print(table)
    return "".join(f"{text.rstrip()}\n" for text in stream.getvalue().splitlines())


@pytest.mark.parametrize("seed", range(40))
def test_a_table_looks_like_one_of_rich(seed: int) -> None:
    chance = random.Random(seed)
    numbers, texts = chance.randrange(4), chance.randrange(1, 4)
    columns = [f"column {at}" for at in range(numbers + texts)]
    rows = [[chance.choice(CELLS) for _ in columns] for _ in range(chance.randrange(4))]
    closing = [
        [chance.choice(CELLS) for _ in columns[: numbers + 1]] for _ in range(chance.randrange(3))
    ]
    table = Table(columns, numbers)
    for row in rows:
        table.add(row, chance.choice(["", "red"]))
    for row in closing:
        table.close(row)
    expected = by_rich(columns, numbers, rows, closing)
    assert printed(table.lines(), color=False) == expected
    assert re.sub("\x1b\\[[0-9;]*m", "", printed(table.lines(), color=True)) == expected


def test_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = [*heading("Passes"), *line("  it failed ", "bold red")]
    assert printed([tuple(shown[:2]), tuple(shown[2:])], color=True) == (
        "\n\x1b[1mPasses\x1b[0m\n\x1b[1;31m  it failed\x1b[0m\n"
    )
    table = Table(["ms", "pass"], 1)
    table.add(["1", "Lower"], "red")
    table.close(["1", "(total)"])
    assert printed(table.lines(), color=True).splitlines()[2:] == [
        " 1   \x1b[31mLower\x1b[0m",
        "",
        "\x1b[2m 1   (total)\x1b[0m",
    ]


def test_no_colours_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed([line("bad", "bold red")], color=True) == "\x1b[1mbad\x1b[0m\n"
