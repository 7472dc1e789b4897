"""What stands in the archive: the material -> files by name.

    trace.pftrace              what Perfetto opens; of two traces base, new and a manifest
    .report/README.md          the issue's text
    .report/summary.txt        `report`, or `compare`, as a table
    .report/environment.json   the metadata: versions, host, command, options
    .report/timeline.svg, .png the picture
    .report/reproducer.py      reruns the failed pass, with ir/before.py and the like beside it
    .report/ir/...             the IR after each pass that changed it, if it was recorded

Perfetto refuses an archive with a visible file that is no trace, and passes by what is in a folder
whose name begins with a dot (`members.is_hidden`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from shlex import quote

import orjson

from tilelang_trace.formats import files
from tilelang_trace.formats.archives import together
from tilelang_trace.formats.naming import part_of_name
from tilelang_trace.reports import as_table, choice, report
from tilelang_trace.reports.compare import as_table as compare_as_table
from tilelang_trace.reports.compare import choice as compare_choice
from tilelang_trace.reports.compare import report as compare_report
from tilelang_trace.reports.issue.issue_text import comparison_text, issue_text
from tilelang_trace.sharing.bundle.material import TRACE, Material
from tilelang_trace.trace.arguments import PASS
from tilelang_trace.trace.failed_passes import FAILED_PASSES
from tilelang_trace.trace.model import Trace

FOLDER = ".report/"
README = "README.md"
ENVIRONMENT = "environment.json"
SVG, PNG = "timeline.svg", "timeline.png"

_TOP = 25
"""Rows of a comparison."""


def members(material: Material, archive: str) -> dict[str, bytes]:
    """All files of the archive, by name, the traces first; `archive` is its own name."""
    return {**trace_members(material), **report_members(material, archive)}


def unpacks_into_a_folder(names: Iterable[str]) -> bool:
    """Whether these are the visible files of a bundle as .tgz, which is no archive for Perfetto:
    the files for people stand beside the traces, in one ordinary folder.
    """
    places = {name.partition("/")[::2] for name in names}
    folders = {folder for folder, _ in places}
    return len(folders) == 1 and {README, ENVIRONMENT} <= {name for _, name in places}


def trace_members(material: Material) -> dict[str, bytes]:
    """The files that Perfetto opens."""
    if TRACE in material.traces:
        pieces = files.PFTRACE.write(material.traces[TRACE])
        return {TRACE + files.PFTRACE.ending: b"".join(pieces)}
    return together.members_of(
        {name: together.Original("", t) for name, t in material.traces.items()}
    )


def report_members(material: Material, archive: str) -> dict[str, bytes]:
    """The files for people."""
    found: dict[str, bytes] = {}
    readme = issue(material, archive, picture=SVG)
    texts = {README: readme, "summary.txt": _summary(material)}
    for name, text in texts.items():
        found[FOLDER + name] = _bytes(text)
    found[FOLDER + ENVIRONMENT] = _environment(material)
    for name in (SVG, PNG):
        found[FOLDER + name] = picture(material, name)
    for side, reproducer in material.reproducers.items():
        for name, text in reproducer.files.items():
            found[FOLDER + _of_side(side) + name] = _bytes(text)
    if material.ir_files:
        for side, trace in material.traces.items():
            for name, text in _ir_files(trace):
                found[f"{FOLDER}{_of_side(side)}ir/{name}"] = _bytes(text)
    return found


def issue(material: Material, archive: str, *, picture: str | None = None) -> str:
    """The issue's text; `picture` is the address of the picture, if the reader has it."""
    if material.comparison is not None:
        return comparison_text(material.comparison, attachment=archive)
    reproducer = material.reproducers.get(TRACE)
    why_not = "" if reproducer is None else reproducer.why_not
    can_run = reproducer is not None and not why_not
    return issue_text(
        material.traces[TRACE],
        attachment=archive,
        picture=picture,
        reproducer=_commands(archive, material.verdicts.get(TRACE, "")) if can_run else "",
        why_no_reproducer=why_not,
        left_out=material.left_out,
    )


def _commands(archive: str, verdict: str) -> str:
    """How to run the reproducer."""
    told = f"  # {verdict}" if verdict else ""
    return f"tilelang-trace reproduce {quote(archive)}{told}"


def picture(material: Material, name: str) -> bytes:
    """The timeline as a picture, in the format of the name."""
    return b"".join(files.format_for(name)[0].write(material.timeline))


def _of_side(side: str) -> str:
    """The folder for what is of one side."""
    return "" if side == TRACE else f"{side}/"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _summary(material: Material) -> str:
    if material.comparison is not None:
        chosen = compare_choice.Choice(top=_TOP)
        return compare_as_table.render(compare_report.make_report(material.comparison, chosen))
    made = report.make_report(material.traces[TRACE], TRACE, choice.Choice(None, None, None))
    return as_table.render(made)


def _environment(material: Material) -> bytes:
    metadata = {
        name: {key: value for key, value in trace.metadata.items() if key != FAILED_PASSES}
        for name, trace in material.traces.items()
    }
    shown = metadata.get(TRACE, metadata)
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def _ir_files(trace: Trace) -> Iterator[tuple[str, str]]:
    """The IR before the first pass of which it is known, and after each that changed it, as files
    in the order of the passes.
    """
    facts = trace.arguments.values("ir")
    known = {row: ir for row, ir in facts.items() if isinstance(ir, Mapping)}
    is_pass = trace.is_kind(PASS)
    is_first = True
    for row in sorted(known, key=lambda row: (int(trace.slices.end[row]), -row)):
        if not is_pass[row]:
            continue
        for when in ("before", "after"):
            text = known[row].get(when)
            if isinstance(text, str) and (is_first or when == "after"):
                yield f"{row:05d}-{part_of_name(trace.name(row))}.{when}.py", text
                is_first = False
