"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import argparse

A_TRACE = "a trace in any format, bundle.zip/trace.json (one in an archive), or OUT.journal"
"""What every command reads, as its help says it."""


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The options that say what is left out of the written file, and how many files there are."""
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="leave out kernels that this shell pattern does not match ('gemm*'); may be repeated",
    )
    parser.add_argument(
        "--min-ms",
        type=milliseconds,
        default=0.0,
        metavar="X",
        help="leave out passes shorter than X ms; what encloses them says how many and how long",
    )
    parser.add_argument(
        "--split",
        choices=("kernel",),
        help="write a file for each kernel, its name before the ending: out.gemm.pftrace",
    )


def count(text: str) -> int:
    """A whole number."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def port_number(text: str) -> int:
    """A TCP port."""
    number = count(text)
    if not 0 < number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is no port: 1 to 65535")
    return number


def times(text: str) -> int:
    """How often to do something, at least once."""
    number = count(text)
    if not number:
        raise argparse.ArgumentTypeError("0 times is never")
    return number


def milliseconds(text: str) -> float:
    """A time in ms."""
    try:
        ms = float(text)
    except ValueError:
        ms = -1.0
    if not 0 <= ms < 2**63 / 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no time in milliseconds")
    return ms


def seconds(text: str) -> float:
    """A time in s, above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is no time in seconds")
    return value


def nanoseconds(text: str) -> int:
    """A time in ms, as nanoseconds."""
    return round(milliseconds(text) * 1e6)


def percentage(text: str) -> float:
    """A percentage, `10%` or `10`, as a part."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage, such as 10%")
    return value / 100
