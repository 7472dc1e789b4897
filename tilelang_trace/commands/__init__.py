"""The command line: one file a subcommand. Arguments in, messages out, no logic.

A command is a line in `COMMANDS` and a module of that name with `add_arguments(parser)` and
`run(options) -> exit code`. Only the module of the command that was chosen is imported: `--help`
takes little longer than argparse. What a person got wrong is a UserError and ends here: one line on
stderr, exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from tilelang_trace.errors import UserError
from tilelang_trace.version import __version__

TYPE_CHECKING = False  # as typing has it, whose import would take a tenth of the time of --help
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

COMMANDS = {
    "run": "Run a Python script, unchanged, and write the trace of every TVM pass in it.",
    "snapshot": "Say where a compile that still runs is now, and write what it has done so far.",
    "open": "Show traces in the Perfetto UI: the failed or slowest pass selected and in view.",
    "report": "Show where the time of a compile went, and what failed.",
    "compare": "Compare two compiles, or two sets of repeated ones: what changed, pass by pass.",
    "convert": "Convert a trace to another format: .pftrace, .json or .events.jsonl, each also "
    "with .gz; or draw it: .svg, .png.",
    "bundle": "Pack a trace for a bug report: redacted, with the issue's text, a picture and a "
    "reproducer.",
    "reproduce": "Run the pass that failed once more, on the module that the trace kept of it.",
}
"""What each command does, in the order of `--help`."""

_LIVE = ("run", "snapshot")
"""Commands that read nothing of strangers."""

_ALIASES = {"compare": ("diff",)}


class _Parser(argparse.ArgumentParser):
    """A mistake is one line: the usage of a command with many options would bury it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help)\n")


class _CommandParser(_Parser):
    """Imports its command when that was chosen."""

    def __init__(self, *, command: str, **options: Any) -> None:
        super().__init__(description=COMMANDS[command], **options)
        self._command = command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As it is inherited, with the arguments of the command."""
        command = import_module(f"{__name__}.{self._command}")
        command.add_arguments(self)
        if self._command not in _LIVE:
            self.add_argument(
                "--limits",
                metavar="NAME=N,...",
                help="how much an input may be, as in unpacked_bytes=8GiB; README.md has the names "
                "(default: $TILELANG_TRACE_LIMITS)",
            )
        self.set_defaults(run=command.run)
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tilelang-trace",
        description="Turn a TVM or TileLang compile into a timeline that ui.perfetto.dev opens: "
        "every compiler pass a nested slice.",
    )
    parser.add_argument("--version", action="version", version=f"tilelang-trace {__version__}")
    subparsers = parser.add_subparsers(
        metavar="COMMAND", required=True, parser_class=_CommandParser
    )
    for name, text in COMMANDS.items():
        subparsers.add_parser(name, aliases=_ALIASES.get(name, ()), help=text, command=name)
    return parser


def _run(options: argparse.Namespace, limits_text: str | None) -> int:
    if limits_text is None:
        return options.run(options)  # type: ignore[no-any-return]
    from tilelang_trace import limits

    with limits.using(limits.read(limits_text)):
        return _run(options, None)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = _run(options, getattr(options, "limits", None))
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
