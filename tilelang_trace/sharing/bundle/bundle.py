"""Traces -> one archive for a bug report: redacted, small enough, and searched before it is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilelang_trace import long_work
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.archives.writing import everything_in, tar_gzipped, zipped
from tilelang_trace.formats.naming import part_of_name
from tilelang_trace.reports.text import plural
from tilelang_trace.sharing.bundle.fitting import fitted
from tilelang_trace.sharing.bundle.material import Material
from tilelang_trace.sharing.bundle.members import FOLDER, PNG, issue, members, picture
from tilelang_trace.sharing.redaction.changes import Change
from tilelang_trace.sharing.redaction.choice import Redaction
from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.redact import Redacted, redact_all
from tilelang_trace.sharing.reproducer import Verdict, make_reproducer, verify
from tilelang_trace.trace.model import Trace

MOST_BYTES = 25_000_000
"""What GitHub takes in an issue: 25 MB (docs.github.com, "Attaching files")."""

ENDING = ".zip"
_TAR_ENDINGS = (".tgz", ".tar.gz")
_TRACE_ENDINGS = (".pftrace.gz", ".json.gz")
_PLAIN_NAME = "report"
"""What the archive is called inside, if its own name is private."""


@dataclass(frozen=True)
class Choice:
    """How an archive is made."""

    redaction: Redaction | None = field(default_factory=Redaction)
    """What to hide; None hides nothing."""
    verify: bool = False
    """Run the reproducers, each in a new process, and tell what came of it. That executes the
    module of the trace: only for traces that one made oneself.
    """
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True)
class Bundle:
    """A finished archive, not written yet."""

    archive: bytes
    name: str
    """What the archive is called inside."""
    material: Material
    """What is in it."""
    changes: tuple[Change, ...]
    """What was hidden."""
    verdicts: Mapping[str, Verdict]
    """What came of running the reproducers, by the name of the trace."""

    @property
    def issue(self) -> str:
        """The issue's text, in Markdown."""
        return issue(self.material, self.name)

    @property
    def picture(self) -> bytes:
        """The timeline as PNG."""
        return picture(self.material, PNG)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What did not fit, in words."""
        return self.material.left_out


def check_output(output: str) -> None:
    """Raises UserError if no bundle can be written to a file of this name."""
    if not output.lower().endswith((ENDING, *_TAR_ENDINGS, *_TRACE_ENDINGS)):
        endings = ", ".join((ENDING, *_TAR_ENDINGS[:1], *_TRACE_ENDINGS))
        raise UserError(f"{output}: GitHub takes no such file in an issue; use one of {endings}")


def hidden(traces: Mapping[str, Trace], redaction: Redaction) -> tuple[Change, ...]:
    """What a bundle of these traces would hide."""
    return _changes(_redacted(traces, redaction, ""))


def make_bundle(traces: Mapping[str, Trace], output: str, choice: Choice) -> Bundle:
    """The archive of one Trace named `trace`, or of two named `base` and `new`, in the format of
    the output's name.

    Raises UserError if it can't be made small enough, or if something that was to be hidden is
    found in it.
    """
    check_output(output)
    name = Path(output).name
    long_work.stage("hiding what is private")
    redacted = _redacted(traces, choice.redaction, name) if choice.redaction else {}
    shared = {name: redacted[name].trace if redacted else traces[name] for name in traces}
    material = _with_reproducers(Material(shared))
    verdicts = _verified(material, redacted) if choice.verify else {}
    words = {side: verdict.words for side, verdict in verdicts.items()}
    material = replace(material, verdicts=words)
    if any(one.text(name) != name for one in redacted.values()):
        name = _PLAIN_NAME + _ending(name)
    pack = _packer(output, name)
    long_work.stage(f"packing {name}")
    material, archive = fitted(material, pack, choice.most_bytes)
    long_work.stage("searching the archive for secrets")
    _prove(output, archive, redacted)
    return Bundle(
        archive=archive,
        name=name,
        material=material,
        changes=_changes(redacted),
        verdicts=verdicts,
    )


def _redacted(
    traces: Mapping[str, Trace], redaction: Redaction, archive: str
) -> dict[str, Redacted]:
    done = redact_all(list(traces.values()), redaction, with_texts=[archive])
    return dict(zip(traces, done))


def _changes(redacted: Mapping[str, Redacted]) -> tuple[Change, ...]:
    """What was replaced in all of them."""
    return tuple(change for one in redacted.values() for change in one.changes)


def _with_reproducers(material: Material) -> Material:
    """The material with what reruns its failures."""
    made = {name: make_reproducer(trace) for name, trace in material.traces.items()}
    return replace(material, reproducers={name: r for name, r in made.items() if r.name})


def _verified(material: Material, redacted: Mapping[str, Redacted]) -> dict[str, Verdict]:
    """What came of running the reproducers."""
    return {
        name: verify(reproducer, shown=redacted[name].text if redacted else str)
        for name, reproducer in material.reproducers.items()
        if not reproducer.why_not
    }


def _packer(output: str, name: str) -> Callable[[Material], bytes]:
    """What makes the bytes of a file of this name."""
    lower = output.lower()
    if lower.endswith(_TRACE_ENDINGS):
        return lambda material: b"".join(files.pieces(material.timeline, output))
    if lower.endswith(_TAR_ENDINGS):
        folder = part_of_name(name[: -len(_ending(name))])
        return lambda material: tar_gzipped(
            {
                f"{folder}/{path.removeprefix(FOLDER)}": data
                for path, data in members(material, name).items()
            }
        )
    return lambda material: zipped(members(material, name))


def _ending(name: str) -> str:
    return next(e for e in (ENDING, *_TAR_ENDINGS, *_TRACE_ENDINGS) if name.lower().endswith(e))


def _prove(output: str, archive: bytes, redacted: Mapping[str, Redacted]) -> None:
    """Raises UserError if the archive, read back, holds anything that was to be hidden."""
    secrets = frozenset(secret for one in redacted.values() for secret in one.secrets)
    found = leaks(everything_in(archive), secrets)
    if found:
        first = found[0]
        raise UserError(
            f"{output}: not written: {plural(len(found), 'secret')} would still be in it, the "
            f"first: a {first.secret.kind} in {first.member} ({first.place}); please report this"
        )
