"""Benchmarks: what this project costs, next to peers that do the same work in the same run.

    python -m tests.benchmarks                     all of them
    python -m tests.benchmarks NAME ...            some
    python -m tests.benchmarks --json FILE NAME    results as JSON too
    python -m tests.benchmarks --size 100000       on smaller traces

Each bench is a module of this folder with a docstring that says what is measured, against what, and
which ratio is asked for; see `measure` for what it defines. Machines are noisy, so only ratios
within one run count. The exit code is 1 if something that is asked for is not reached.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.table import Table

from tests.benchmarks.measure import Figure

_NO_BENCHES = {"__init__", "__main__", "measure", "synthetic"}


def names() -> list[str]:
    """The benches of this folder."""
    modules = Path(__file__).parent.glob("*.py")
    return sorted(module.stem for module in modules if module.stem not in _NO_BENCHES)


def bench(name: str) -> ModuleType:
    """The module of a bench."""
    return import_module(f"tests.benchmarks.{name}")


def run(name: str, size: int | None, repeats: int | None) -> list[Figure]:
    """What a bench measures, with its own size and repeats where none are given."""
    module = bench(name)
    return list(
        module.run(
            size if size is not None else module.SIZE,
            repeats if repeats is not None else module.REPEATS,
        )
    )


def _table(name: str, figures: list[Figure]) -> Table:
    table = Table(title=name, title_justify="left", title_style="bold")
    for column in ("what", "value", "unit", "asked", ""):
        table.add_column(column, justify="right" if column == "value" else "left")
    for figure in figures:
        reached = "" if figure.reached is None else "ok" if figure.reached else "[red]missed[/]"
        table.add_row(figure.what, f"{figure.value:,.4g}", figure.unit, figure.asked, reached)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--size", type=int, help="slices or events, instead of each bench's own")
    parser.add_argument("--repeats", type=int, help="rounds, instead of each bench's own")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names()):
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")

    console = Console()
    results: dict[str, list[Figure]] = {}
    for name in options.names or names():
        console.print(
            (bench(name).__doc__ or "").strip(), style="dim", markup=False, soft_wrap=True
        )
        results[name] = run(name, options.size, options.repeats)
        console.print(_table(name, results[name]))
    if options.json:
        shown = {
            name: [{**asdict(figure), "reached": figure.reached} for figure in figures]
            for name, figures in results.items()
        }
        machine = {"python": platform.python_version(), "machine": platform.platform()}
        options.json.write_text(json.dumps({**machine, "benches": shown}, indent=1) + "\n")
    missed = any(f.reached is False for figures in results.values() for f in figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
