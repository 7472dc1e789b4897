"""The table of arguments says what the documentation, SQL and other tools rely on."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.traces import failed_compile, nested_compile, one_lane
from tilelang_trace.trace.arguments import (
    CAUSES,
    CONTRACT,
    DETAIL_LIMIT,
    ERROR_STATUSES,
    FORMAT_VERSION,
    KINDS,
    MESSAGE_LIMIT,
    RANK,
    STATUSES,
    kind_of,
)
from tilelang_trace.trace.failures import failures, first_line, read_category, written_category
from tilelang_trace.trace.model import Trace

ALL_KINDS = ("compile", "context", "phase", "pass", "codegen", "step", "tool")

# What version 1 promised. Rows may be added to the contract; none of these may ever change.
VERSION_1 = {
    "sequence": ("int", ("pass",)),
    "depth": ("int", ("pass",)),
    "parent_sequence": ("int", ("pass",)),
    "phase": ("string", ("pass",)),
    "status": ("string", ALL_KINDS),
    "context": ("int", ("context",)),
    "kernel": ("string", ("compile", "context")),
    "error": ("object", ALL_KINDS),
    "ir": ("object", ("pass",)),
    "hidden": ("object", ALL_KINDS),
}


def test_version_1_is_kept() -> None:
    rows = {a.name: (a.type, a.kinds) for a in CONTRACT if a.since == 1}
    assert VERSION_1.items() <= rows.items()


def test_the_words_are_those_of_the_design() -> None:
    assert KINDS == ALL_KINDS
    assert set(STATUSES) == {"ok", "failed", "incomplete", "open"}
    assert set(ERROR_STATUSES) == {"failed", "incomplete"}
    assert set(CAUSES) == {
        "exception",
        "signal",
        "timeout",
        "interrupt",
        "instrument",
        "mismatch",
        "detached",
        "unknown",
    }
    assert (MESSAGE_LIMIT, DETAIL_LIMIT) == (500, 32_768)


def test_every_row_is_complete() -> None:
    assert len({a.name for a in CONTRACT}) == len(CONTRACT)
    for argument in CONTRACT:
        assert argument.name.isidentifier()
        assert argument.meaning
        assert argument.kinds
        assert set(argument.kinds) <= set(KINDS)
        assert 1 <= argument.since <= FORMAT_VERSION
    assert [a.name for a in CONTRACT] == sorted(RANK, key=RANK.__getitem__)


def test_arguments_come_in_the_order_of_the_contract_then_by_name() -> None:
    names = [a.name for a in CONTRACT] + ["alpha", "beta", "zeta"]
    for seed in range(10):
        shuffled = names.copy()
        random.Random(seed).shuffle(shuffled)
        trace = one_lane((0, 1, "x", "pass", dict.fromkeys(shuffled, "value")))
        assert list(trace.arguments.of(0)) == names


@pytest.mark.parametrize("make", [nested_compile, failed_compile])
def test_hand_made_compiles_keep_the_contract(make: Callable[[], Trace]) -> None:
    types = {"int": int, "string": str, "array": list, "object": dict}
    rows = {a.name: a for a in CONTRACT}
    trace = make()
    for row in range(len(trace.slices)):
        kind = kind_of(trace.category(row))
        arguments = trace.arguments.of(row)
        assert arguments["status"] in STATUSES
        assert ("error" in arguments) == (arguments["status"] in ERROR_STATUSES)
        for name, value in arguments.items():
            assert kind in rows[name].kinds
            assert type(value) is types[rows[name].type]


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("pass", "pass"),
        ("pass,error", "pass"),
        ("compile,cuda", "compile"),
        ("passes", None),
        ("error,pass", None),
        ("", None),
        ("PASS", None),
    ],
)
def test_the_kind_is_the_first_category(category: str, kind: str | None) -> None:
    assert kind_of(category) == kind


@pytest.mark.parametrize("category", ["pass", "pass,mine", "context", "tool", "pass,error"])
@pytest.mark.parametrize("status", ["ok", "failed", "incomplete", "open", None, 7])
def test_the_category_error_is_derived_and_taken_away_again(category: str, status: object) -> None:
    written = written_category(category, status)
    assert written == (f"{category},error" if status in ("failed", "incomplete") else category)
    assert read_category(written, status) == category


@pytest.mark.parametrize("category", ["mine", "a,error", "error", ""])
def test_what_the_status_of_another_tool_means_is_not_ours_to_say(category: str) -> None:
    assert written_category(category, "failed") == category
    assert read_category(category, "failed") == category
    assert failures(one_lane((0, 5, "a", category, {"status": "failed"}))) == []


def test_failures_are_the_failed_slices_by_the_time_they_failed() -> None:
    found = failures(failed_compile())
    assert [(f.time, f.name) for f in found] == [
        (9_000, "ApplySchedule failed: no schedule"),
        (50_000, 'InjectPipeline failed: tile "24" is not a multiple of 16'),
    ]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ({"type": "ValueError", "message": "bad tile"}, "bad tile"),
        ({"type": "SIGSEGV", "message": ""}, "SIGSEGV"),
        ({"type": "SIGKILL"}, "SIGKILL"),
        ({}, ""),
        (None, ""),
        ("text", ""),
    ],
)
def test_the_first_line_of_an_error(error: object, line: str) -> None:
    assert first_line(error) == line


def test_a_failure_without_an_error_text_has_a_plain_name() -> None:
    (failure,) = failures(one_lane((0, 5, "Tune", "pass", {"status": "failed"})))
    assert failure.name == "Tune failed"
