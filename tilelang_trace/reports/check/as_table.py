"""What was found, for the terminal: by rule, with the first places, what Perfetto does, the mend.

Texts of the file are shown so that they can't act on the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_trace.reports.check.report import Broken, Checked, Report, broken, command_for
from tilelang_trace.reports.lines import Line, line, printed
from tilelang_trace.reports.text import plural, visible

_COMMANDS = 5
"""Commands that are shown for the traces of an archive."""


def render(report: Report, *, width: int | None = None, color: bool = False) -> str:
    """A block of lines for each file, one line where nothing was found; of what is no trace none,
    as stderr has it.
    """
    return printed((each for file in report.files for each in _lines(file, report.top)), color)


def _lines(file: Checked, top: int | None) -> Iterator[Line]:
    name = visible(file.path)
    if file.error:
        return
    if not file.findings.total:
        asked = f" ({visible(file.engine)} says so too)" if file.engine else ""
        yield (f"{name}: ", "bold"), ("OK", "green"), (asked, "")
    else:
        asked = f", {visible(file.engine)} asked" if file.engine else ""
        told = f"{plural(file.findings.total, 'place')} that Perfetto won't show as meant{asked}"
        yield (f"{name}: ", "bold"), (told, "yellow")
        for rule in broken(file.findings, top):
            yield from _of_rule(rule)
        yield from _mends(file)
    for note in file.notes:
        yield line(f"  note: {visible(note)}")


def _of_rule(entry: Broken) -> Iterator[Line]:
    rule = entry.rule
    loss = " (lost)" if rule.is_loss else ""
    yield line("")
    yield line(f"  {rule.name}: {plural(entry.count, 'place')}{loss}", "bold")
    for finding in entry.places:
        yield line(f"    {visible(finding.place)}: {visible(finding.done)}")
    if more := entry.count - len(entry.places):
        yield line(f"    and {more} more")
    yield line(f"    Perfetto {rule.perfetto}")
    yield line(f"    mend: {rule.mend}")


def _mends(file: Checked) -> Iterator[Line]:
    if file.to_mend:
        yield line("")
    for path in file.to_mend[:_COMMANDS]:
        yield line(f"  to mend it: {visible(command_for(path, file.path))}")
    if more := len(file.to_mend[_COMMANDS:]):
        yield line(f"  and {more} more")
