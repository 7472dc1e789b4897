"""An issue as GitHub's Markdown.

No text of the trace acts in it, as Markdown, HTML, a link, a mention or a reference: what comes
from the trace stands in code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from urllib.parse import quote as quote_url

from tilelang_trace.analysis.runs import Failed
from tilelang_trace.reports import wording
from tilelang_trace.reports.as_markdown import code, fenced, heading, table
from tilelang_trace.reports.issue.fitting import LIMIT, Fold, fitting, safe_lines, shown, size
from tilelang_trace.reports.issue.issue import SLOWEST, Issue
from tilelang_trace.reports.text import duration, middle_cut, plural, visible
from tilelang_trace.trace.failed_passes import FAILED_PASSES
from tilelang_trace.trace.headline import VERSION_NAMES
from tilelang_trace.trace.json_values import Json

_NAME = 100
"""Characters of a name; the attached file has it whole."""
_PATH = 12
"""Names of a path."""
_ERROR_ROOM = 4000
_VERSIONS = 16
_OPTIONS = 10
_REASONS = 5
_OTHERS = 50
_STACK_CAUSES = ("signal", "timeout")
"""What ended a process from outside: the text of the error is a Python stack."""


def render(
    issue: Issue,
    *,
    attachment: str,
    picture: str | None,
    reproducer: str,
    why_no_reproducer: str,
    left_out: Sequence[str],
) -> str:
    """The text of the issue."""
    head = [
        *picture_of(issue, picture),
        *_what_happened(issue),
        *_versions(issue),
        *_slowest(issue),
        *_recording(issue, left_out),
        *how_to_open(attachment),
        *_how_to_run(reproducer, why_no_reproducer),
    ]
    folds = shown(_folds(issue), LIMIT - size(head))
    return "".join(f"{line}\n" for line in [*head, *folds])


def how_to_open(attachment: str) -> Iterator[str]:
    """The section that says what to do with the attached file."""
    yield from heading("How to open the attached file")
    yield (
        f"Drag {_code(attachment)} into [ui.perfetto.dev](https://ui.perfetto.dev) as it is "
        "(it stays on your machine), or:"
    )
    yield ""
    yield from fenced([f"tilelang-trace open {quote(visible(attachment))}"], "sh")


def picture_of(issue: Issue, picture: str | None) -> Iterator[str]:
    """The picture, with words for who can't see it."""
    if picture is None:
        return
    failed = issue.failed
    state = f"{code_free(failed.name)} failed" if failed else "no failure"
    yield f"![Flame chart of the compile, {state}]({quote_url(picture, safe='/:?=&%.-_~')})"
    yield ""


def code_free(name: str) -> str:
    """A name where no code may stand: only of characters that never act."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._ ") else "?" for c in name)
    return middle_cut(plain, _NAME)


def _code(text: str) -> str:
    return code(middle_cut(visible(text), _NAME))


def _what_happened(issue: Issue) -> Iterator[str]:
    yield "## What happened"
    yield ""
    if issue.failed is None:
        yield from _no_failure(issue)
    else:
        yield from _failure(issue, issue.failed)


def _failure(issue: Issue, failed: Failed) -> Iterator[str]:
    cause = f" ({_code(failed.cause)})" if failed.cause and failed.cause != "exception" else ""
    error = f" with {_code(failed.type)}{cause}" if failed.type else ""
    yield (
        f"{_code(failed.name)} failed{error} after {duration(failed.inclusive_ns)}, "
        f"{duration(issue.headline.failed_after_ns)} into the compile."
    )
    yield ""
    yield f"- path: {_path(failed)}"
    if failed.phase and failed.phase not in failed.path:
        yield f"- phase: {_code(failed.phase)}"
    yield from _compiled(issue, failed.kernel)
    if issue.others:
        yield f"- further failures: {len(issue.others)}"
    yield ""
    yield from fenced(_error(failed))


def _path(failed: Failed) -> str:
    names = [*failed.path, failed.name]
    if len(names) > _PATH:
        names[_PATH // 2 : _PATH // 2 - _PATH] = ["..."]
    return " > ".join(map(_code, names))


def _compiled(issue: Issue, kernel: str = "") -> Iterator[str]:
    kernels = (kernel,) if kernel else issue.headline.kernels
    if kernels:
        more = f" and {len(kernels) - 5} more" if len(kernels) > 5 else ""
        yield f"- kernel: {', '.join(map(_code, kernels[:5]))}{more}"


def _error(failed: Failed) -> list[str]:
    """What an error says: of an exception all that has room, of a signal only what it was."""
    text = "" if failed.cause in _STACK_CAUSES else failed.detail
    text = text or failed.message or f"no message ({failed.type or failed.cause or 'no type'})"
    return fitting(safe_lines(text), _ERROR_ROOM)[0]


def _no_failure(issue: Issue) -> Iterator[str]:
    summary = issue.summary
    if summary.of_all_categories:
        runs = f"{plural(summary.runs, 'slice')} of {plural(len(summary.passes), 'name')}"
        yield f"Another tool's trace of {duration(summary.wall_ns)}, with {runs}."
    elif not len(summary.passes):
        yield f"No pass was recorded in {duration(summary.wall_ns)}."
    else:
        runs = f"{plural(summary.runs, 'run')} of {plural(len(summary.passes), 'pass')}"
        state = "had not ended after" if issue.headline.is_open else "took"
        yield f"The compile {state} {duration(summary.wall_ns)}, with {runs}. No pass failed."
    yield ""
    for run in summary.running[:_REASONS]:
        yield f"- still running: {_code(run.name)}, for {duration(run.inclusive_ns)}"
    yield from _compiled(issue)
    for kind, ns in summary.between_by_kind.items():
        yield f"- time in {kind}, outside of passes: {duration(ns)}"


def _versions(issue: Issue) -> Iterator[str]:
    rows = [[name, _code(value)] for name, value in _known_versions(issue)]
    options = dict(issue.context)
    config = options.pop("config", None)
    for name, value in options.items():
        rows.append([name, _code(_plain(value))])
    if isinstance(config, Mapping):
        entries = list(config.items())
        for key, value in entries[:_OPTIONS]:
            rows.append(["config", _code(f"{key} = {_plain(value)}")])
        if len(entries) > _OPTIONS:
            rows.append(["config", f"{len(entries) - _OPTIONS} more"])
    if rows:
        yield from heading("Versions and options")
        yield from table(("what", "value"), 0, rows)


def _known_versions(issue: Issue) -> list[tuple[str, str]]:
    found = []
    for name, value in issue.headline.versions[:_VERSIONS]:
        found.append((name if name in VERSION_NAMES else _code(name), value))
    tool = issue.metadata.get("tool")
    return [*found, ("recorded with", tool)] if isinstance(tool, str) else found


def _slowest(issue: Issue) -> Iterator[str]:
    summary = issue.summary
    passes = summary.passes[:SLOWEST]
    if not passes:
        return
    yield from heading(f"Slowest {'slices' if summary.of_all_categories else 'passes'}")
    rows = [[*wording.pass_cells(e), _code(e.name), wording.ended(e)] for e in passes]
    yield from table((*wording.pass_columns(summary), "ended"), 5, rows)
    rest = summary.passes[SLOWEST:]
    others = (
        f"{plural(len(rest), 'other')}: {duration(sum(e.self_ns for e in rest))}. " if rest else ""
    )
    yield ""
    if not summary.of_all_categories:
        others += f"Between passes: {duration(summary.between_passes_ns)}. "
    yield f"By self time. {others}Total: {duration(summary.total_ns)}."


def _recording(issue: Issue, left_out: Sequence[str]) -> Iterator[str]:
    yield from heading("The recording")
    whole, summary = issue.summary.recording, issue.summary
    if whole.complete:
        yield "It is whole."
    else:
        yield "**It is incomplete:**"
        yield ""
        for reason in whole.reasons[:_REASONS]:
            yield f"- {_code(reason)}"
    if summary.hidden:
        runs = f"{plural(summary.hidden, 'run')}, {duration(summary.hidden_ns)}"
        yield ""
        yield f"Short passes were left out: {runs}, in the time of what encloses them."
    if left_out:
        yield ""
        yield "Left out of the attached file:"
        yield ""
        yield from (f"- {_code(what)}" for what in left_out)


def _how_to_run(reproducer: str, why_none: str) -> Iterator[str]:
    if reproducer:
        yield from heading("How to run the reproducer")
        yield from fenced(list(safe_lines(reproducer)), "sh")
    elif why_none:
        yield ""
        yield f"There is no reproducer: {code(visible(why_none))}"


def _folds(issue: Issue) -> Iterator[Fold]:
    """The long texts, the most useful ones first."""
    failed = issue.failed
    if failed is not None and failed.detail:
        lines = safe_lines(failed.detail)
        if list(lines) != _error(failed):
            by_death = failed.cause in _STACK_CAUSES
            yield Fold("Python stack" if by_death else "The whole error", lines)
    ending = issue.metadata.get("exit")
    if isinstance(ending, dict) and isinstance(stack := ending.get("stack"), str):
        yield Fold("Python stack", safe_lines(stack))
    command = issue.headline.command
    if command:
        yield Fold("Command line", safe_lines(command))
    if issue.others:
        lines = tuple(_one_line(other) for other in issue.others[:_OTHERS])
        yield Fold(f"Further failures ({len(issue.others)})", lines)
    options = [*_entries(issue.context)]
    options += [line for target in issue.targets for line in safe_lines(f"target: {target}")]
    if options:
        yield Fold("PassContext and target", tuple(options))
    told = ("command", "exit", FAILED_PASSES)
    environment = {k: v for k, v in issue.metadata.items() if k not in told}
    if environment:
        yield Fold("Environment", tuple(_entries(environment)))


def _one_line(failed: Failed) -> str:
    place = wording.failure_place(failed, visible)
    around = f" ({place})" if place else ""
    return safe_lines(f"{failed.name}: {wording.failure_error(failed)}{around}")[0]


def _entries(values: Mapping[str, Json], prefix: str = "") -> Iterator[str]:
    """The values of a nested object, one a line."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and prefix.count(".") < 3:
            yield from _entries(value, f"{name}.")
        else:
            yield from safe_lines(f"{name}: {_plain(value)}")


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
