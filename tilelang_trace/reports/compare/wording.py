"""What the outputs for people say about a comparison, whatever the layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tilelang_trace.analysis.columns import numbered
from tilelang_trace.analysis.compare.compared_pass import ComparedPass, Ns, exact
from tilelang_trace.analysis.compare.compared_passes import ComparedPasses
from tilelang_trace.analysis.compare.comparison import Side
from tilelang_trace.analysis.compare.spread import spread
from tilelang_trace.analysis.compare.texts import in_common
from tilelang_trace.reports.compare.adding_up import adding_up, size, whole
from tilelang_trace.reports.compare.report import CompareReport, Row, quotient, status
from tilelang_trace.reports.kernels.wording import Column
from tilelang_trace.reports.text import lines_of, plural, visible, without_middle
from tilelang_trace.reports.wording import ClosingRow, Show
from tilelang_trace.trace.arguments import ERROR_STATUSES, FAILED
from tilelang_trace.trace.model import Ints

CONTEXT_COLUMNS = ("what", "base", "new")
SELF_COLUMNS = ("self: base", "new", "delta")
INCLUSIVE_COLUMNS = ("inclusive: base", "new", "delta", "ratio")
NARROW_COLUMNS = ("incl. delta", "ratio")
"""The last ones of them, where there is little room."""
_HEADINGS = {
    "pass": "{} by name, ms",
    "phase": "Phases, ms in their {}",
    "kernel": "Kernels, ms (self: in their {})",
    "path": "{} one by one, ms",
}

DIFF_LINES = 60
"""Longer diffs of the IR lose their middle; JSON has all that was kept."""

_US = 1000
_NAMES_TOLD = 4
_TOLD = 3
_LEAST_SHARE = 0.05
"""What a row must be of the change of the total to be told in words, and how many are."""
_NOUNS = {"phase": "phase", "kernel": "kernel", "path": "run"}


def table_heading(report: CompareReport) -> str:
    """What stands above the table."""
    text = _HEADINGS[report.choice.by].format(report.comparison.nouns[1])
    return text[0].upper() + text[1:]


def _noun(report: CompareReport) -> str:
    """What a row is."""
    return _NOUNS.get(report.choice.by, report.comparison.nouns[0])


# ------------------------------------------------------------------------------------------ head


def failures(report: CompareReport, show: Show) -> Iterator[str]:
    """What failed on one side only; a kernel is told if no pass of its name is."""
    told_of = set()
    for entry in report.failed_on_one_side:
        in_new = status(entry.new) == FAILED
        here, there = ("new", "base") if in_new else ("base", "new")
        other = status(entry.base if in_new else entry.new)
        around = f", in {' > '.join(map(show, entry.path[:-1]))}" if entry.path[1:] else ""
        kernel = f", kernel {show(entry.kernel)}" if entry.kernel else ""
        told = f"{other} in {there}" if other else f"not run in {there}"
        broken = entry.new if in_new else entry.base
        error = f": {visible(broken.error)}" if broken and broken.error else ""
        told_of.add((here, entry.kernel))
        yield f"failed in {here} only: {show(entry.name)} ({told}){around}{kernel}{error}"
    for compiled in report.comparison.kernels:
        bad = [s in ERROR_STATUSES for s in (compiled.base_status, compiled.new_status)]
        here, there = ("new", "base") if bad[1] else ("base", "new")
        if bad[0] != bad[1] and (here, compiled.name) not in told_of:
            other = compiled.base_status if bad[1] else compiled.new_status
            told = f"{visible(other)} in {there}" if other else f"not compiled in {there}"
            yield f"kernel failed in {here} only: {show(compiled.name)} ({told})"


def title(report: CompareReport) -> str:
    """Which is compared with which."""
    return " -> ".join(
        visible(side.names[0]) if len(side.names) == 1 else f"{len(side.names)} runs"
        for side in (report.comparison.base, report.comparison.new)
    )


def facts(report: CompareReport, show: Show) -> Iterator[tuple[str, str]]:
    """The lines at the head: label and text."""
    comparison, total = report.comparison, report.comparison.total
    yield "base", _side(report, comparison.base, total.base_ns)
    yield "new", _side(report, comparison.new, total.new_ns)
    if total.delta_ns:
        factor = quotient(total.base_ns, total.new_ns)
        ratio = f" ({factor:.2f} x)" if factor is not None else ""
        verdict = "" if total.verdict == "unknown" else f": {total.verdict}"
        yield "difference", f"{signed(total.delta_ns)}{ratio}{verdict}"
        yield "where", _reasons(report, show)
    else:
        yield "difference", "none in the total"
    counts, verdicts = comparison.columns.counts()
    if counts["not_reached"]:
        deltas, parts = comparison.columns.deltas("own")
        lost = int(deltas[comparison.columns.is_change("not_reached")].sum())
        runs = plural(counts["not_reached"], "run")
        delta = signed(exact(Fraction(lost, parts)))
        yield "not reached", f"{runs} of passes behind the failure: {delta}"
    told = [
        f"{counts[change]} {_words(change)}"
        for change in ("added", "removed", "renamed", "moved")
        if counts[change]
    ]
    yield (
        comparison.nouns[1],
        f"{counts['matched']} on both sides{''.join(f', {text}' for text in told)}",
    )
    if any(count for verdict, count in verdicts.items() if verdict != "unknown"):
        judged = [f"{verdicts[v]} {v}" for v in ("slower", "faster", "same", "unknown")]
        yield "verdicts", ", ".join(text for text in judged if not text.startswith("0 "))


def _side(report: CompareReport, side: Side, total_ns: Ns) -> str:
    names = [visible(name) for name in side.names]
    if len(names) > _NAMES_TOLD + 1:
        names[_NAMES_TOLD:] = [f"{len(names) - _NAMES_TOLD} more"]
    mean = "" if len(side.names) == 1 else f"mean of {len(side.names)} runs, "
    runs = f"{plural(side.passes, 'run')} of passes"
    if report.comparison.of_all_categories:
        runs = plural(side.passes, "slice")
    return f"{time(total_ns)}, {mean}{runs} ({', '.join(names)})"


def _reasons(report: CompareReport, show: Show) -> str:
    """`of +2.310 s, LowerTileOp is +1.900 s, FuseOps +0.300 s`: what makes the total differ."""
    total = report.comparison.total
    parts = [
        (row.self_delta_ns, label(report, row, show))
        for row in report.rows
        if not row.passes.is_change("not_reached").all()
    ]
    kinds = {f"{kind} between passes": ns for kind, ns in total.between_by_kind.items()}
    kinds = kinds or {"the time between passes": total.between_delta_ns}
    parts += [(ns, name) for name, ns in kinds.items()]
    least = size(total.delta_ns) * _LEAST_SHARE
    up = total.delta_ns > 0
    large = [part for part in parts if size(part[0]) > least]
    large.sort(key=lambda part: ((part[0] > 0) is not up, -size(part[0])))
    if not large:
        return f"no {_noun(report)} makes more than {100 * _LEAST_SHARE:.0f} % of it"
    (first, name), *others = large[:_TOLD]
    more = "".join(f", {name} {signed(ns)}" for ns, name in others)
    return f"of {signed(total.delta_ns)}, {name} is {signed(first)}{more}"


# ------------------------------------------------------------------------------- first divergence


def divergence(report: CompareReport, show: Show) -> list[str]:
    """Where the compiles begin to differ, in lines; empty if nothing tells."""
    found = report.comparison.first_divergence
    if found is None:
        return []
    where = " > ".join(map(show, found.path))
    lines = [f"{where}: {visible(found.detail)}" if where else visible(found.detail)]
    if found.caution:
        lines.append(visible(found.caution))
    return lines


def notes(report: CompareReport) -> list[str]:
    """What the reader must know, a line each."""
    return [visible(note) for note in report.comparison.notes]


def diff(report: CompareReport) -> list[str]:
    """The lines of the IR diff, at most `DIFF_LINES`."""
    found = report.comparison.first_divergence
    return without_middle(lines_of(found.diff), DIFF_LINES) if found else []


# ----------------------------------------------------------------------------------------- table


@dataclass(frozen=True)
class Numbers:
    """The columns of numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    closing: tuple[ClosingRow, ...]
    """Below the rows: what makes the self times add up to the total."""


def numbers(report: CompareReport, wide: bool = True) -> Numbers:
    """The numbers of all rows; fewer columns if they must not be wide. Each of the three columns of
    self times is rounded so that it adds up to its total.
    """
    inclusive: tuple[str, ...] = ()
    if report.choice.by != "phase":
        inclusive = INCLUSIVE_COLUMNS if wide else NARROW_COLUMNS
    own, closing = _self_cells(report)
    blank = ("",) * len(inclusive)
    rows = []
    for row, cells in zip(report.rows, own):
        more = _inclusive_cells(row)
        rows.append((*cells, *more[len(more) - len(inclusive) :]))
    return Numbers(
        columns=(*SELF_COLUMNS, *inclusive),
        rows=tuple(rows),
        closing=tuple(ClosingRow(label, (*cells, *blank)) for label, cells in closing),
    )


_Cells = tuple[str, str, str]


def _self_cells(report: CompareReport) -> tuple[list[_Cells], list[tuple[str, _Cells]]]:
    """Base, new and change of the self time of the rows, and of what stands below them."""
    total, left_out = report.comparison.total, report.left_out
    labels = []
    triples: list[tuple[Ns, Ns, Ns]] = []
    for row in report.rows:
        triples.append((row.base_self_ns, row.new_self_ns, row.self_delta_ns))
    if left_out.rows:
        labels.append(_left_out_label(report))
        triples.append((left_out.base_self_ns, left_out.new_self_ns, left_out.self_delta_ns))
    kinds = total.between_by_kind
    if not report.comparison.of_all_categories:
        labels.append("(between passes)")
        triples.append((total.base_between_ns, total.new_between_ns, total.between_delta_ns))
    base, new, delta = (adding_up(column, _US) for column in zip(*triples))
    cells = [(_ms(b), _ms(n), _signed_ms(d)) for b, n, d in zip(base, new, delta)]
    closing = [*zip(labels, cells[len(report.rows) :])]
    if len(kinds) == 1:
        closing[-1] = (f"(between passes, in {next(iter(kinds))})", closing[-1][1])
    elif kinds:
        for kind, us in zip(kinds, _parts_of(delta[-1], list(kinds.values()))):
            closing.append((f"  (in {kind})", ("", "", _signed_ms(us))))
    closing.append(("(total)", (_ms(sum(base)), _ms(sum(new)), _signed_ms(sum(delta)))))
    own = [
        ("" if row.base_ns is None else b, "" if row.new_ns is None else n, d)
        for row, (b, n, d) in zip(report.rows, cells)
    ]
    return own, closing


def _parts_of(total: int, parts: Sequence[Ns]) -> list[int]:
    """The parts in whole microseconds, so that they make this total, which is theirs but for its
    rounding.
    """
    numbers = adding_up(parts, _US)
    numbers[-1] += total - sum(numbers)
    return numbers


def label(report: CompareReport, row: Row, show: Show) -> str:
    """What a row is about."""
    if report.choice.by == "path":
        number = f" #{row.number}" if row.number else ""
        return f"{' > '.join(map(show, row.path))}{number}"
    return show(row.name) if row.name else f"(no {report.choice.by})"


def text_columns(report: CompareReport, show: Show) -> list[Column]:
    """The texts of the rows; but for the first, a column that tells nothing is left out."""
    rows = report.rows
    first = Column(_noun(report), tuple(label(report, row, show) for row in rows))
    more = (
        Column("base median (range)", tuple(_spread(row.base_self_runs) for row in rows)),
        Column("new median (range)", tuple(_spread(row.new_self_runs) for row in rows)),
        Column("change", tuple(_change(row, show) for row in rows)),
        Column("verdict", tuple(map(_verdict, rows))),
        Column("where", tuple(_places(report, show))),
    )
    return [first, *(column for column in more if any(column.cells))]


def _spread(runs: tuple[int, ...]) -> str:
    """Of the self times of several runs."""
    if len(runs) < 2:
        return ""
    found = spread(runs)
    least, middle, most = (
        _ms(whole(ns, _US)) for ns in (found.least_ns, found.median_ns, found.most_ns)
    )
    return f"{middle} ({least} to {most})"


def _places(report: CompareReport, show: Show) -> list[str]:
    """For passes one by one their phase and kernel, where that tells them apart."""
    if report.choice.by != "path":
        return []
    passes = [row.passes[0] for row in report.rows]
    phases = len({entry.phase for entry in passes}) > 1
    kernels = len({entry.kernel for entry in passes}) > 1
    found = []
    for entry in passes:
        parts = [
            f"phase {show(entry.phase)}" if entry.phase and phases else "",
            f"kernel {show(entry.kernel)}" if entry.kernel and kernels else "",
        ]
        found.append(", ".join(part for part in parts if part))
    return found


def _inclusive_cells(row: Row) -> tuple[str, ...]:
    return (
        "" if row.base_ns is None else _ms(whole(row.base_ns, _US)),
        "" if row.new_ns is None else _ms(whole(row.new_ns, _US)),
        signed_ms(row.delta_ns),
        "" if row.ratio is None else f"{row.ratio:.2f}",
    )


def _change(row: Row, show: Show) -> str:
    counts: Counter[str] = Counter()
    for places in _alike(row.passes):
        counts[_what_changed(row.passes[int(places[0])], show)] += len(places)
    counts.pop("", None)
    if len(row.passes) == 1:
        return next(iter(counts), "")
    return ", ".join(f"{count} {text}" for text, count in counts.items())


def _alike(passes: ComparedPasses) -> list[Ints]:
    """The places of passes of which one says what changed in all of them, by the first ones."""
    (old, young), statuses = in_common(passes.base.status, passes.new.status)
    (names,), texts = in_common(passes.base.names)
    names = np.where(passes.is_change("renamed"), names, len(texts))
    keys = passes.change.astype(np.int64)
    for column, count in ((names, len(texts) + 1), (old, len(statuses)), (young, len(statuses))):
        keys = keys * count + column
    _, keys = numbered(keys)
    order = np.argsort(keys, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return sorted((group for group in groups if len(group)), key=lambda group: int(group[0]))


def _what_changed(entry: ComparedPass, show: Show) -> str:
    words = _words(entry.change) if entry.change != "matched" else ""
    if entry.change == "renamed" and entry.base:
        words += f" from {show(entry.base.name)}"
    ends = status(entry.base), status(entry.new)
    if ends[0] == ends[1] or not set(ends) & {*ERROR_STATUSES, "open"}:
        return words
    told = " -> ".join(visible(end) for end in ends if end)
    return f"{words}, {told}" if words else told


def _words(change: str) -> str:
    return {"renamed": "renamed?", "not_reached": "not reached"}.get(change, change)


def _verdict(row: Row) -> str:
    _, counts = row.passes.counts()
    if len(row.passes) == 1:
        return "" if counts["unknown"] else row.passes[0].verdict
    told = [f"{counts[v]} {v}" for v in ("slower", "faster") if counts[v]]
    return ", ".join(told) or ("same" if counts["same"] else "")


def _left_out_label(report: CompareReport) -> str:
    left_out = report.left_out
    unchanged = f", {left_out.unchanged} unchanged" if left_out.unchanged else ""
    rows = plural(left_out.rows, _noun(report))
    if report.rows:
        rows = rows.replace(" ", " more ", 1)
    return f"({rows}, not shown{unchanged})"


# --------------------------------------------------------------------------------------- numbers


def time(ns: Ns) -> str:
    """A time with its unit, for running text: seconds from 1 s on, else milliseconds."""
    us = whole(size(ns), _US)
    sign = "-" if ns < 0 else ""
    return f"{sign}{_ms(whole(us, _US))} s" if us >= 1_000_000 else f"{sign}{_ms(us)} ms"


def signed(ns: Ns) -> str:
    """A change of time with its unit."""
    return f"+{time(ns)}" if ns > 0 else time(ns)


def signed_ms(ns: Ns) -> str:
    """A change of time in ms."""
    return _signed_ms(whole(size(ns), _US) * (1 if ns > 0 else -1))


def _ms(thousandths: int) -> str:
    return f"{thousandths // 1000}.{thousandths % 1000:03d}"


def _signed_ms(us: int) -> str:
    return f"{'+' if us > 0 else '-' if us < 0 else ''}{_ms(abs(us))}"
