"""What is told of files that were checked, chosen once for all outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tilelang_trace.trace.findings import Finding, Findings
from tilelang_trace.trace.rules import ENGINE, RULES, Rule

PLACES = 5
"""Places that are shown of a rule when nobody says how many."""


@dataclass(frozen=True)
class Checked:
    """What was found out about a file."""

    path: str
    findings: Findings
    notes: tuple[str, ...] = ()
    """What is no fault of the file."""
    engine: str = ""
    """The Perfetto that was asked too."""
    to_mend: tuple[str, ...] = ()
    """Of an archive the paths of the traces in which something was found; else that of the file."""
    error: str = ""
    """Why it is no trace; nothing was found then."""


@dataclass(frozen=True)
class Broken:
    """A rule that a file breaks."""

    rule: Rule
    count: int
    places: tuple[Finding, ...]
    """The first of them."""


@dataclass(frozen=True)
class Report:
    """What is told."""

    files: tuple[Checked, ...]
    top: int | None
    """At most so many places of each rule are shown."""


def broken(findings: Findings, top: int | None) -> list[Broken]:
    """The rules that are broken: first those by which something is lost, then by how often."""
    places: dict[str, list[Finding]] = {name: [] for name in findings.counts}
    for finding in findings:
        places[finding.rule].append(finding)
    found = [
        Broken(RULES[name], count, tuple(places[name][:top]))
        for name, count in findings.counts.items()
    ]
    return sorted(found, key=_importance)


def _importance(entry: Broken) -> tuple[bool, bool, int, str]:
    # What the engine says is mostly of the same places: behind what tells where they are.
    rule = entry.rule
    return rule is ENGINE, not rule.is_loss, -entry.count, rule.name


def command_for(path: str, archive: str) -> str:
    """What a person can type to mend a trace, which may lie in an archive."""
    stem = Path(path).name.partition(".")[0] or "trace"
    output = Path(archive).parent / f"{stem}.mended.pftrace"
    return f"tilelang-trace convert {quote(path)} -o {quote(str(output))}"
