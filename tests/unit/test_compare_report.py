"""What a comparison shows: rows, sums and words, in every format, of Comparisons made by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from fractions import Fraction
from typing import Any

import pytest

from tests.comparisons import MS, compared, comparison
from tests.traces import LONG_NAME
from tilelang_trace.analysis.compare.comparison import (
    ComparedKernel,
    Comparison,
    ContextChange,
    Divergence,
    Totals,
)
from tilelang_trace.reports.compare import as_csv, as_json, as_markdown, as_table
from tilelang_trace.reports.compare.adding_up import adding_up
from tilelang_trace.reports.compare.choice import By, Choice
from tilelang_trace.reports.compare.report import make_report


def table(of: Comparison, by: By = "pass", width: int | None = None, **choice: Any) -> str:
    return as_table.render(make_report(of, Choice(by, **choice)), width=width)


def markdown(of: Comparison, by: By = "pass", **choice: Any) -> str:
    return as_markdown.render(make_report(of, Choice(by, **choice)))


def as_data(of: Comparison, by: By = "path", **choice: Any) -> Any:
    return json.loads(as_json.render(make_report(of, Choice(by, **choice))))


def csv_rows(of: Comparison, by: By = "path", **choice: Any) -> list[dict[str, str]]:
    text = as_csv.render(make_report(of, Choice(by, **choice)))
    return list(csv.DictReader(io.StringIO(text)))


def rows(output: str) -> list[list[str]]:
    """Cells of the table of passes, by the right edges of the columns of numbers."""
    lines = output.splitlines()
    (rule,) = (n for n, line in enumerate(lines) if line.startswith("─") and "self" in lines[n - 1])
    edges = [
        match.end() for match in re.finditer("base(?! m)|new(?! m)|delta|ratio", lines[rule - 1])
    ]
    found = []
    for line in lines[rule + 1 :]:
        if line == "Notes":
            break
        cells = [line[a:b].strip() for a, b in zip([0, *edges], [*edges, None])]
        if line:
            found.append([*cells[:-1], *re.split(" {2,}", cells[-1])])
    return found


def markdown_rows(output: str) -> list[list[str]]:
    """Cells of the last table."""
    body = output.rpartition(":--- |\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]


def small_and_large() -> Comparison:
    """30 times as long is little where it is short; `lower` is around all others."""
    return comparison(
        compared("lower", base=900_000, new=1_000_000, inclusive=(1100 * MS, 4105 * MS)),
        compared("lower", "LayoutInference", base=100 * MS, new=3100 * MS),
        compared("lower", "Simplify", base=100_000, new=3 * MS),
        compared("lower", "LowerTileOp", base=999 * MS, new=1001 * MS),
    )


# ------------------------------------------------------------------------------------------ sums


def test_the_largest_change_stands_first_whatever_its_factor() -> None:
    found = rows(table(small_and_large()))
    numbers = ["100.000", "3100.000", "+3000.000"]
    assert found[0] == [*numbers, *numbers, "31.00", "LayoutInference"]
    assert found[1] == ["0.100", "3.000", "+2.900", "0.100", "3.000", "+2.900", "30.00", "Simplify"]
    assert found[2][2] == "+2.000" and found[2][-1] == "LowerTileOp"
    lower = ["0.900", "1.000", "+0.100", "1100.000", "4105.000", "+3005.000", "3.73", "lower"]
    assert found[3] == lower
    assert found[4] == ["0.000", "0.000", "0.000", "", "", "", "", "(between passes)"]
    assert found[5] == ["1100.000", "4105.000", "+3005.000", "", "", "", "", "(total)"]


def test_the_total_is_told_in_words() -> None:
    shown = table(small_and_large())
    assert "+3.005 s (3.73 x)" in shown
    assert "of +3.005 s, LayoutInference is +3.000 s\n" in shown


def test_several_reasons_are_told_and_the_time_between_passes_is_one() -> None:
    found = comparison(
        compared("A", base=10 * MS, new=60 * MS),
        compared("B", base=50 * MS, new=30 * MS),
        between=(0, 15 * MS),
    )
    words = "of +45.000 ms, A is +50.000 ms, context between passes +15.000 ms, B -20.000 ms"
    assert words in table(found)


def test_what_changes_the_total_in_many_small_parts_is_told_as_that() -> None:
    many = (compared(f"P{n}", base=MS, new=2 * MS) for n in range(40))
    assert "no pass makes more than 5 % of it" in table(comparison(*many))


@pytest.mark.parametrize("by", ["pass", "phase", "kernel", "path"])
@pytest.mark.parametrize("choice", [{}, {"top": 3}, {"top": 0}, {"min_ns": 2 * MS}])
def test_what_is_printed_adds_up_to_the_total(by: By, choice: dict[str, Any]) -> None:
    # Parts of a microsecond, which rounded one by one would be off by 20 µs.
    passes = [
        compared("P" if n % 2 else f"Q{n}", base=n * MS, new=n * MS + 499, phase=f"phase {n % 3}")
        for n in range(1, 42)
    ]
    passes.append(compared("Removed", base=3 * MS))
    found = comparison(*passes, between=(1_000, 2_501))
    for parts in rows(table(found, by, **choice)), markdown_rows(markdown(found, by, **choice)):
        *parts, total = parts
        for column in range(3):
            us = [round(1000 * float(row[column] or 0)) for row in (*parts, total)]
            assert sum(us[:-1]) == us[-1], column
    assert total[:3] == ["864.001", "861.023", "-2.978"]


def test_numbers_that_are_whole_units_stay_as_they_are() -> None:
    assert adding_up([3000, 0, -2000], 1000) == [3, 0, -2]
    assert adding_up([Fraction(1, 3)] * 3) == [0, 1, 0]
    assert adding_up([400, -400], 1000) == [0, 0]


def test_the_time_between_passes_is_told_by_kind() -> None:
    total = Totals(10 * MS, 15 * MS, 0, 5 * MS, {"compile": 7 * MS, "tool": -2 * MS})
    found = rows(table(comparison(compared("A", base=10 * MS, new=10 * MS), total=total)))
    assert found[1][:3] == ["0.000", "5.000", "+5.000"]
    assert [(row[2], row[-1]) for row in found[2:4]] == [
        ("+7.000", "(in compile)"),
        ("-2.000", "(in tool)"),
    ]


def test_means_of_several_runs_add_up_in_json() -> None:
    passes = [compared(f"P{n}", base=(n, n + 1, n + 1), new=(n, n, n + 2)) for n in range(7)]
    found = as_data(comparison(*passes, between=((1, 1, 2), (2, 1, 1))), top=4)
    total = found["total"]
    parts = [entry["self_delta_ns"] for entry in found["passes"]]
    assert all(type(ns) is int for ns in parts)
    # 7 times a mean of n + 2/3 on both sides, and 4/3 between passes.
    assert total["base_ns"] == total["new_ns"] == 27
    left_out = found["left_out"]["self_delta_ns"]
    assert sum(parts) + left_out + total["between_delta_ns"] == total["delta_ns"] == 0
    assert found["left_out"]["passes"] == 3
    assert found["passes"][0]["base_runs_ns"] == [0, 1, 1]


# ------------------------------------------------------------------------------------------ rows


def test_runs_of_one_name_are_added_up_and_one_inside_another_is_no_further_time() -> None:
    found = comparison(
        compared("S", base=2 * MS, new=3 * MS, inclusive=(5 * MS, 8 * MS)),
        compared("S", "S", base=3 * MS, new=5 * MS),
        compared("T", "S", new=7 * MS),
        compared("T", base=MS, new=MS, inclusive=(MS, 8 * MS)),
    )
    s = next(row for row in rows(table(found)) if row[7] == "S")
    assert s == ["5.000", "15.000", "+10.000", "5.000", "15.000", "+10.000", "3.00", "S", "1 added"]


def test_a_pass_in_one_of_its_name_counts_where_that_one_is_missing() -> None:
    found = comparison(
        compared("S", new=3 * MS, inclusive=(None, 8 * MS)),
        compared("S", "S", base=4 * MS, new=5 * MS),
    )
    assert rows(table(found))[0][3:6] == ["4.000", "8.000", "+4.000"]


def test_phases_and_kernels_are_sums_of_passes() -> None:
    found = comparison(
        compared("A", base=MS, new=2 * MS, phase="lower", kernel="gemm"),
        compared("B", base=MS, new=4 * MS, phase="lower"),
        compared("A", base=MS, phase="tune", kernel="gemm"),
        compared("C", base=MS, new=MS),
        kernels=(ComparedKernel("gemm", 0, 0, 9 * MS, 11 * MS, "ok", "ok"),),
    )
    phases = {row[3]: row[:3] for row in rows(table(found, "phase"))}
    assert phases["lower"] == ["2.000", "6.000", "+4.000"]
    assert phases["tune"] == ["1.000", "", "-1.000"]
    assert phases["(no phase)"] == ["1.000", "1.000", "0.000"]
    kernels = {row[7]: row[:7] for row in rows(table(found, "kernel"))}
    assert kernels["gemm"] == ["2.000", "2.000", "0.000", "9.000", "11.000", "+2.000", "1.22"]
    assert kernels["(no kernel)"] == ["2.000", "5.000", "+3.000"] * 2 + ["2.50"]


def test_one_by_one_passes_show_what_is_around_them_and_which_run_it_is() -> None:
    found = comparison(
        compared("lower", "S", base=MS, new=2 * MS, phase="a"),
        compared("lower", "S", base=MS, new=5 * MS, phase="a"),
        compared("S", base=MS, new=3 * MS, phase="b"),
    )
    assert [row[7:] for row in rows(table(found, "path"))[:3]] == [
        ["lower > S #2", "phase a"],
        ["S", "phase b"],
        ["lower > S #1", "phase a"],
    ]


def test_what_is_left_out_is_told_with_its_sum() -> None:
    found = comparison(
        compared("A", base=MS, new=9 * MS),
        compared("B", base=MS, new=2 * MS),
        compared("C", base=2 * MS, new=MS),
        compared("D", base=4 * MS, new=4 * MS),
    )
    shown = rows(table(found, top=1))
    left_out = ["7.000", "7.000", "0.000", *[""] * 4, "(3 more passes, not shown, 1 unchanged)"]
    assert [row[-1] for row in shown[:1]] == ["A"] and shown[1] == left_out
    assert [row[-1] for row in rows(table(found, min_ns=3 * MS))[:2]] == ["A", "D"]
    assert as_data(found, top=1)["left_out"] == {"passes": 3, "self_delta_ns": 0}


def test_what_became_of_a_pass_is_told() -> None:
    found = comparison(
        compared("Added", new=9 * MS),
        compared("Removed", base=8 * MS),
        compared("New", base=MS, new=7 * MS, base_name="Old"),
        compared("Moved", base=MS, new=6 * MS, change="moved"),
        compared("Lost", base=50 * MS, change="not_reached"),
    )
    assert [row[7:] for row in rows(table(found))[:5]] == [
        ["Added", "added"],
        ["Removed", "removed"],
        ["New", "renamed? from Old"],
        ["Moved", "moved"],
        ["Lost", "not reached"],  # last, whatever its time
    ]
    assert "1 run of passes behind the failure: -50.000 ms" in table(found)
    assert [entry["change"] for entry in as_data(found)["passes"]] == [
        "added",
        "removed",
        "renamed",
        "moved",
        "not_reached",
    ]


def test_verdicts_stand_beside_passes_and_are_counted_in_sums() -> None:
    found = comparison(
        compared("A", base=MS, new=9 * MS, verdict="slower"),
        compared("B", base=MS, new=3 * MS, verdict="slower"),
        compared("B", base=MS, new=2 * MS, verdict="same"),
        compared("C", base=2 * MS, new=MS, verdict="same"),
    )
    assert [row[7:] for row in rows(table(found))[:3]] == [
        ["A", "slower"],
        ["B", "1 slower"],
        ["C", "same"],
    ]
    assert "2 slower, 2 same" in table(found)
    assert "verdict" not in table(small_and_large())


def test_several_runs_show_their_median_and_range() -> None:
    found = comparison(compared("A", base=(MS, 2 * MS, 6 * MS), new=(MS, MS, MS)))
    cells = rows(table(found))[0]
    assert cells[:3] == ["3.000", "1.000", "-2.000"]
    assert "2.000 (1.000 to 6.000)" in table(found) and "1.000 (1.000 to 1.000)" in table(found)
    assert "mean of 3 runs" in table(found)


# ------------------------------------------------------------------------------------------ head


def failing() -> Comparison:
    return comparison(
        compared("lower", base=MS, new=MS, status=("ok", "incomplete")),
        compared("lower", "Verify", base=MS, new=2 * MS, status=("ok", "failed"), kernel="gemm"),
        compared("lower", "Both", base=MS, new=MS, status=("failed", "failed")),
        compared("Codegen", base=MS, change="not_reached"),
        compared("Check", base=MS, status=("failed", "")),
        context_changes=(ContextChange("opt_level", "1", "3"), ContextChange("target", "", "cuda")),
    )


@pytest.mark.parametrize("show", [table, markdown])
def test_failures_of_one_side_come_first_and_then_the_context(show: Any) -> None:
    shown = show(failing())
    first = shown.replace("*", "").replace("\\", "").splitlines()
    assert first[0] == "failed in new only: Verify (ok in base), in lower, kernel gemm"
    assert "failed in base only: Check (not run in new)" in first[:3]
    assert "Both" not in "".join(first[:4])
    context = shown.index("opt_level")
    assert context < shown.index("difference") < shown.index("Passes by name")


def test_a_kernel_that_failed_on_one_side_is_told() -> None:
    kernel = ComparedKernel("gemm", 0, 0, MS, MS, "ok", "failed")
    found = comparison(compared("A", base=MS, new=MS), kernels=(kernel,))
    assert table(found).startswith("kernel failed in new only: gemm (ok in base)\n")


@pytest.mark.parametrize("show", [table, markdown])
def test_the_first_divergence_has_its_diff_with_a_cap(show: Any) -> None:
    diff = "\n".join(["--- base", "+++ new", *(f"+line {n}" for n in range(100))])
    found = Divergence("ir", ("lower", "S"), "12 lines differ", diff, "may be TVM's own disorder")
    shown = show(comparison(compared("A", base=1, new=1), first_divergence=found))
    assert "S: 12 lines differ" in shown
    assert "may be TVM's own disorder" in shown
    assert "+line 0\n" in shown and "+line 99\n" in shown
    assert "42 lines left out" in shown
    data = as_data(comparison(compared("A", base=1, new=1), first_divergence=found))
    assert data["first_divergence"] == {
        "kind": "ir",
        "path": ["lower", "S"],
        "detail": "12 lines differ",
        "diff": diff,
        "caution": "may be TVM's own disorder",
    }


def test_a_comparison_with_itself_has_no_difference() -> None:
    same = comparison(
        compared("A", base=MS, new=MS), compared("B", base=MS, new=MS), between=(5, 5)
    )
    shown = table(same, unchanged=False)
    assert "difference    none in the total" in shown
    assert [row[-1] for row in rows(shown)] == [
        "(2 passes, not shown, 2 unchanged)",
        "(between passes)",
        "(total)",
    ]
    assert {entry["self_delta_ns"] for entry in as_data(same)["passes"]} == {0}


# --------------------------------------------------------------------------------- JSON and CSV


def test_json_has_the_documented_shape() -> None:
    found = as_data(failing())
    assert (
        found["total"].items()
        >= {
            "base_ns": 5 * MS,
            "new_ns": 4 * MS,
            "delta_ns": -MS,
            "between_delta_ns": 0,
        }.items()
    )
    entry = next(entry for entry in found["passes"] if entry["name"] == "Verify")
    assert (
        entry.items()
        >= {
            "name": "Verify",
            "path": ["lower", "Verify"],
            "phase": "",
            "change": "matched",
            "base_status": "ok",
            "new_status": "failed",
            "base_ns": MS,
            "new_ns": 2 * MS,
            "self_delta_ns": MS,
            "ratio": 2.0,
            "verdict": "unknown",
        }.items()
    )
    lost = next(entry for entry in found["passes"] if entry["name"] == "Codegen")
    assert (lost["new_ns"], lost["new_status"], lost["ratio"]) == (None, None, None)
    assert found["context_changes"][0] == {"what": "opt_level", "base": "1", "new": "3"}
    assert found["first_divergence"] is None
    assert as_data(failing(), "phase")["rows"][0]["name"] == ""


def test_csv_has_a_line_a_pass() -> None:
    found = csv_rows(failing())
    verify = next(row for row in found if row["name"] == "Verify")
    assert json.loads(verify["path"]) == ["lower", "Verify"]
    assert (verify["base_ns"], verify["new_ns"], verify["ratio"]) == (str(MS), str(2 * MS), "2.0")
    assert next(row for row in found if row["name"] == "Codegen")["new_ns"] == ""
    assert len(found) == 5
    by_name = csv_rows(small_and_large(), "pass")
    assert {row["name"]: row["self_delta_ns"] for row in by_name}["Simplify"] == "2900000"


# -------------------------------------------------------------------------------- texts of a trace

HOSTILE = [
    "a|b",
    "back\\|tick`s` ``",
    "@octocat",
    "\\|@octocat",
    "owner/repo#12",
    "<script>alert(1)</script>",
    "<!--",
    "line\nbreak\r\n| x |",
    "[link](https://example.org)",
    "\x1b[31mred",
    LONG_NAME,
    "",
]


def hostile() -> Comparison:
    return comparison(
        *(
            compared(text, f"{text}!", base=n, new=n + 1, phase=text, kernel=text)
            for n, text in enumerate(HOSTILE)
        ),
        compared("New", base=1, new=2, base_name="x|y"),
        *(compared(text, base=1, new=2, status=("ok", "failed")) for text in HOSTILE),
        context_changes=tuple(ContextChange(text, text, text) for text in HOSTILE),
        notes=tuple(HOSTILE),
        first_divergence=Divergence("ir", tuple(HOSTILE), HOSTILE[6], "\n".join(HOSTILE)),
    )


@pytest.mark.parametrize("by", ["pass", "phase", "kernel", "path"])
def test_no_text_breaks_out_of_markdown(by: By) -> None:
    shown = markdown(hostile(), by)
    assert "\x1b" not in shown and "\r" not in shown
    prose, _, rest = shown.partition("```diff\n")
    diff, _, table_ = rest.partition("\n```\n")
    assert "@octocat" in diff
    for line in (prose + table_).splitlines():
        # What stands in code acts as nothing. Elsewhere backslashes hold off Markdown and HTML, but
        # not GitHub, which looks for mentions and issues in the text that comes out.
        bare = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", re.sub("^#+ ", "", line))
        bare = re.sub("<code>[^<>]*</code>", "", bare)
        assert "@" not in bare and "#" not in bare, line
        assert not re.search("[<`]", re.sub(r"\\[!-/:-@\[-`{-~]", "", bare)), line
    for lines in prose, table_:
        of_table = [line for line in lines.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in of_table}) == 1


def test_no_text_acts_on_a_terminal_and_long_names_are_cut_there_only() -> None:
    shown = table(hostile(), "path")
    assert "\x1b" not in shown
    assert not any(LONG_NAME in cell for row in rows(shown) for cell in row)
    narrow = table(hostile(), width=80)
    assert not any(len(cell) > 40 for row in rows(narrow) for cell in row)
    assert LONG_NAME in markdown(hostile())
    assert LONG_NAME in {row["name"] for row in csv_rows(hostile())}
    assert LONG_NAME in {entry["name"] for entry in as_data(hostile())["passes"]}
