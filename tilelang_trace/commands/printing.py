"""Prints a report in the format that was asked for."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from typing import Any


def print_report(outputs: str, form: str, report: Any) -> None:
    """Render a report by the module for its format in the package `outputs`, and print it."""
    # Imported when asked for: rich alone takes as long as reading a small trace.
    output = import_module(f"{outputs}.as_{form}")
    if form == "table":
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else None
        text = output.render(report, width=width, color=terminal)
    else:
        text = output.render(report)
    # A terminal or pipe that can't show a character (Windows, the C locale) gets its escape.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
