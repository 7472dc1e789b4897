"""The notebook magic: `%load_ext tilelang_trace`, then `%%tilelang_trace [OUT]` above a cell."""

from __future__ import annotations

import ast
import html
import os
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tilelang_trace.errors import UserError
from tilelang_trace.recording.launch.outcome import how_to_see
from tilelang_trace.recording.record import record


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tilelang_trace` calls."""
    display = import_module("IPython.display").display
    usage_error = import_module("IPython.core.error").UsageError

    def tilelang_trace(line: str, cell: str) -> Any:
        """Record what a cell compiles, and show a link to the trace.

        %%tilelang_trace [OUT]

        Without OUT it is `cell-NUMBER.pftrace` in the folder of the notebook. A cell that fails has
        its trace too.
        """
        words = shlex.split(line) or [f"cell-{shell.execution_count}.pftrace"]
        if len(words) > 1:
            raise usage_error(f"%%tilelang_trace takes one file name, not {len(words)}")
        try:
            recording = record(words[0])
            recording.is_told = True  # by the link below
        except UserError as error:
            raise usage_error(str(error)) from None
        # Outside of what is recorded: what is wrong in the cell's text is no failure of a compile.
        run, value_of = _compiled(shell, cell)
        try:
            with recording:
                exec(run, shell.user_ns)
                return eval(value_of, shell.user_ns) if value_of is not None else None
        finally:
            if recording.paths:  # else what went wrong has been said on stderr
                display(_Link(recording.paths[0]))

    shell.register_magic_function(tilelang_trace, "cell", "tilelang_trace")


def _compiled(shell: Any, cell: str) -> tuple[Any, Any]:
    """The code of a cell, and that of the expression in its last line, whose value is the cell's,
    if it has one. Other magics in the cell work.
    """
    text = shell.transform_cell(cell)
    tree = shell.transform_ast(shell.compile.ast_parse(text))
    value_of = None
    name = shell.compile.cache(text, shell.execution_count, raw_code=cell)  # shown in tracebacks
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.rstrip().endswith(";"):
        value_of = shell.compile(ast.Expression(tree.body.pop().value), name, "eval")
    return shell.compile(tree, name, "exec"), value_of


class _Link:
    """A written file, as a notebook or a terminal shows it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"tilelang-trace: wrote {self._path}; {how_to_see(self._path)}"

    def _repr_html_(self) -> str:
        path = os.path.relpath(self._path)
        return (
            f'<a href="{quote(path)}" download>{html.escape(path)}</a>: to see it: '
            f"<code>tilelang-trace open {html.escape(shlex.quote(path))}</code> (or drag it into "
            '<a href="https://ui.perfetto.dev" target="_blank">ui.perfetto.dev</a>)'
        )
