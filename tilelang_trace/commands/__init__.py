"""The command line: one file a subcommand. Arguments in, messages out, no logic.

A command is a module with `NAME`, `HELP`, `add_arguments(parser)` and `run(options) -> exit code`,
listed in `COMMANDS`; it may have `ALIASES`. What a person got wrong is a UserError and ends here:
one line on stderr, exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from tilelang_trace.errors import UserError
from tilelang_trace.version import __version__

COMMANDS = ("run", "snapshot", "open", "report", "compare", "convert", "bundle", "reproduce")


class Command(Protocol):
    """What a module in this package offers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


class _Parser(argparse.ArgumentParser):
    """A mistake is one line: the usage of a command with many options would bury it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tilelang-trace",
        description="Turn a TVM or TileLang compile into a timeline that ui.perfetto.dev opens: "
        "every compiler pass a nested slice.",
    )
    parser.add_argument("--version", action="version", version=f"tilelang-trace {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = cast(Command, import_module(f"{__name__}.{name}"))
        subparser = subparsers.add_parser(
            command.NAME,
            aliases=getattr(command, "ALIASES", ()),
            help=command.HELP,
            description=command.HELP,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except UserError as error:
        print(f"tilelang-trace: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of a pipe (`head`) has seen enough: nothing more can be written, even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
