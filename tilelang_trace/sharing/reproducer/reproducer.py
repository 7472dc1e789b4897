"""What a Reproducer is, and how it is made from a Trace. Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilelang_trace.sharing.reproducer import script
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.error_argument import first_line
from tilelang_trace.trace.failed_passes import kept_of
from tilelang_trace.trace.failures import failures
from tilelang_trace.trace.json_values import Json
from tilelang_trace.trace.model import Trace

SCRIPT = "reproducer.py"
MODULE_TEXT = "ir/before.py"
MODULE_JSON = "ir/before.json"


@dataclass(frozen=True)
class Expected:
    """How the failed pass ended."""

    type: str
    """Type of the exception, or the name of a signal such as `SIGSEGV`; empty if not known."""
    line: str = ""
    """First line of the exception's text."""


@dataclass(frozen=True)
class Reproducer:
    """A failed pass as files, or why there is no script for it.

    The files may be there without a script: the module of a pass that can't be made elsewhere is
    still worth reading.
    """

    name: str
    """The pass; what failed, if that is no pass; empty if nothing failed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts by their relative names with slashes: `reproducer.py`, `ir/before.py`,
    `ir/before.json`.
    """
    why_not: str = ""
    """In plain words why there is no script; empty if there is one."""
    notes: tuple[str, ...] = ()
    """What the script takes that is not known from the trace, in plain words."""
    expected: Expected = Expected("")
    """How it has to end."""
    settings: tuple[str, ...] = ()
    """How the pass is run, in words, a line each: its arguments, the PassContext, the Target."""


def failed_pass_of(trace: Trace) -> int | None:
    """Row of the slice that a Reproducer is made for: the last failed pass of which the module was
    kept, else the last that failed; None if nothing failed.
    """
    rows = [failure.row for failure in failures(trace)]
    kept = [row for row in rows if kept_of(trace, row) is not None]
    return next(reversed(kept or rows), None)


def make_reproducer(trace: Trace, row: int | None = None) -> Reproducer:
    """The Reproducer of one failed slice, by default that of `failed_pass_of`.

    The trace may come from a stranger: its texts stand in the script as string literals only.
    """
    if row is None:
        row = failed_pass_of(trace)
    if row is None:
        return Reproducer("", why_not="nothing failed in this trace")
    made = Reproducer(trace.name(row), expected=_expected(trace, row))
    entry = kept_of(trace, row)
    if entry is None:
        return replace(made, why_not=_why_nothing(trace, row))
    left_out = entry.get("left_out")
    left_out = left_out if isinstance(left_out, dict) else {}
    files = {
        name: entry[key]
        for name, key in ((MODULE_TEXT, "text"), (MODULE_JSON, "json"))
        if isinstance(entry.get(key), str)
    }
    made = replace(made, files=files)
    module = next((n for n in (MODULE_JSON, MODULE_TEXT) if n in files), None)
    if module is None or (module == MODULE_TEXT and "text" in left_out):
        return replace(made, why_not=f"the module before it was not kept whole: {_told(left_out)}")
    if module == MODULE_TEXT and "metadata[" in files[module]:
        return replace(
            made, why_not=f"constants of the module are not in its text: {_told(left_out)}"
        )
    try:
        written = script.script(
            entry, module, _versions(trace), [made.expected.type, made.expected.line]
        )
    except script.CannotBeMade as error:
        return replace(made, why_not=str(error))
    return replace(
        made,
        files={SCRIPT: written.text, **files},
        notes=tuple(written.notes),
        settings=tuple(written.settings),
    )


def _expected(trace: Trace, row: int) -> Expected:
    error = trace.arguments.of(row).get("error")
    if not isinstance(error, dict):
        return Expected("")
    if error.get("cause") not in ("exception", "signal"):
        return Expected("")
    text = str(error.get("detail") or error.get("message") or "")
    type_ = str(error.get("type") or "")
    return Expected(type_, "" if type_.startswith("SIG") else first_line(text))


def _why_nothing(trace: Trace, row: int) -> str:
    name = trace.name(row)
    error = trace.arguments.of(row).get("error")
    cause = error.get("cause") if isinstance(error, dict) else None
    if not trace.is_kind(PASS)[row]:
        return f"what failed, {name}, is no pass: no module was kept"
    if cause in ("signal", "timeout") or (cause == "unknown" and _has_died(trace)):
        return (
            "the module before the pass died with the process: record it again with `--ir disk`, "
            "which writes it before each pass"
        )
    if cause == "interrupt":
        return "the pass was interrupted, it did not fail"
    return "the module before the pass was not kept: it was recorded with `--ir off`, or elsewhere"


def _has_died(trace: Trace) -> bool:
    recording = trace.metadata.get("recording")
    return isinstance(recording, dict) and recording.get("complete") is False


def _told(left_out: Json) -> str:
    return "; ".join(str(why) for why in left_out.values()) or "no reason is known"


def _versions(trace: Trace) -> dict[str, str]:
    versions = trace.metadata.get("versions")
    if not isinstance(versions, dict):
        return {}
    return {str(name): str(version) for name, version in versions.items()}
