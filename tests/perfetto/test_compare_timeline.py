"""Both sides of a comparison and their differences in Perfetto: the engine, and the page."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.comparisons import MS, comparison
from tests.perfetto.engine import Engine
from tests.perfetto.ui import PerfettoUI
from tests.traces import overlapping, rows_of_their_own, same_pid
from tests.two_sides import base, compared_sides, new
from tilelang_trace.analysis.compare.timeline import Align, side_by_side
from tilelang_trace.formats import files
from tilelang_trace.formats.archives import together

ENDINGS = pytest.mark.parametrize("ending", [".pftrace", ".json"])
ALIGNS = pytest.mark.parametrize("align", ["start", "passes"])
FLOWS = """
with rows as (
    select slice.id, slice.name,
           str_split(replace(replace(thread.name, ':', ' '), ',', ' '), ' ', 0) as side from slice
    join thread_track on thread_track.id = track_id join thread using (utid)
)
select source.name as source, target.name as target,
       source.side as 'from', target.side as 'to'
from flow join rows source on source.id = slice_out join rows target on target.id = slice_in
"""


def written(folder: Path, ending: str, align: Align = "start") -> Path:
    path = folder / f"both{ending}"
    files.write(side_by_side(compared_sides(), base(), new(), align=align), path)
    return path


@ENDINGS
@ALIGNS
def test_all_slices_lie_in_three_groups_in_order(
    perfetto_engine: Engine, tmp_path: Path, ending: str, align: Align
) -> None:
    perfetto_engine.load(written(tmp_path, ending, align))
    assert perfetto_engine.problems() == []
    assert perfetto_engine.misplaced() == []
    # The order of the page, in v52 and later ones: the main thread, then by tid.
    rows = perfetto_engine.query(
        "select thread.name, count(*) as slices, max(is_main_thread) as main from slice "
        "join thread_track on thread_track.id = track_id join thread using (utid) "
        "group by utid order by is_main_thread desc, tid"
    )
    assert [(row["name"], row["slices"], row["main"]) for row in rows] == [
        ("base: MainThread", 6, 1),
        ("new: MainThread", 6, 0),
        ("difference ≥ 0.119 ms", 4, 0),
        ("difference, only in base", 1, 0),
    ]
    assert perfetto_engine.scalar("select count(*) from process where pid > 0") == 1


@ENDINGS
@ALIGNS
def test_arrows_join_matched_passes_and_their_differences(
    perfetto_engine: Engine, tmp_path: Path, ending: str, align: Align
) -> None:
    perfetto_engine.load(written(tmp_path, ending, align))
    found = {
        (row["source"].split()[0], row["target"].split()[0], row["from"], row["to"])
        for row in perfetto_engine.query(FLOWS)
    }
    # Lower begins earlier in new if only the start is aligned: arrows lead forward in time.
    lower = ("base", "new") if align == "passes" else ("new", "base")
    assert found == {
        ("Lower", "Lower", *lower),
        *((name, name, "base", "new") for name in ("Simplify", "VMCodeGen")),
        *((name, name, "new", "difference") for name in ("Lower", "Simplify", "Inline")),
        ("FuseOps", "FuseOps", "base", "difference"),
    }
    assert perfetto_engine.scalar("select count(*) from flow") == 4 + 4 + 1


@ENDINGS
def test_the_numbers_are_read_by_their_names(
    perfetto_engine: Engine, tmp_path: Path, ending: str
) -> None:
    perfetto_engine.load(written(tmp_path, ending, "passes"))
    prefix = "args" if ending == ".json" else "debug"
    rows = perfetto_engine.query(
        f"select name, category, extract_arg(arg_set_id, '{prefix}.compare.base_ns') as base, "
        f"extract_arg(arg_set_id, '{prefix}.compare.new_ns') as new, "
        f"extract_arg(arg_set_id, '{prefix}.compare.delta_ns') as delta, "
        f"extract_arg(arg_set_id, '{prefix}.compare.change') as change, "
        f"extract_arg(arg_set_id, '{prefix}.recorded.ns') as recorded "
        "from slice where name like 'Lower%' order by track_id, ts"
    )
    numbers = {"base": 40 * MS, "new": 60 * MS, "delta": 20 * MS, "change": "matched"}
    name = "Lower +20.0 ms (+50 %)"
    expected = [
        {"name": "Lower", "category": "pass", **numbers, "recorded": 40 * MS},
        {"name": "Lower", "category": "pass", **numbers, "recorded": 60 * MS},
        {"name": name, "category": "difference,slower", **numbers, "recorded": None},
    ]
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_slower_faster_and_added_have_colours_of_their_own(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    perfetto_engine.load(written(tmp_path, ".pftrace"))
    rows = perfetto_engine.query(
        "select category, extract_arg(arg_set_id, 'correlation_id') as colour from slice "
        "where category like 'difference,%' group by category"
    )
    found = {row["category"].partition(",")[2]: row["colour"] for row in rows}
    assert set(found) == {"slower", "faster", "added", "removed"}
    assert None not in found.values()
    assert found["added"] == found["removed"]
    assert len(set(found.values())) == 3


@ENDINGS
def test_sides_of_several_processes_and_rows_keep_their_order(
    perfetto_engine: Engine, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"both{ending}"
    files.write(side_by_side(comparison(), rows_of_their_own(), same_pid()), path)
    perfetto_engine.load(path)
    assert perfetto_engine.problems() == []
    rows = perfetto_engine.query(
        "select distinct thread.name from slice join thread_track on thread_track.id = track_id "
        "join thread using (utid) where thread.name not like 'difference%' "
        "order by is_main_thread desc, tid"
    )
    assert [row["name"] for row in rows] == [
        "base: MainThread",
        "base: downloads",
        "base: the whole machine",
        "new: baseline 71 / MainThread",
        "new: candidate 71 / MainThread",
    ]


@pytest.mark.parametrize(
    "endings", [(".pftrace", ".pftrace"), (".json", ".json"), (".json", ".pftrace")]
)
def test_an_archive_opens_in_an_engine_that_knows_no_manifest(
    perfetto_engine: Engine, tmp_path: Path, endings: tuple[str, str]
) -> None:
    sides = []
    for number, (trace, ending) in enumerate(zip((base(), overlapping()), endings)):
        path = tmp_path / f"{number}{ending}"
        files.write(trace, path)
        sides.append(together.Original(str(path), trace))
    together.write_both(sides[0], sides[1], tmp_path / "both.zip")
    perfetto_engine.load(tmp_path / "both.zip")
    assert perfetto_engine.scalar("select count(*) from slice") == 6 + 6
    with zipfile.ZipFile(tmp_path / "both.zip") as archive:
        for name, slices in zip(archive.namelist()[1:], (6, 6)):
            perfetto_engine.load(archive.read(name))
            assert perfetto_engine.problems() == []
            assert perfetto_engine.scalar("select count(*) from slice") == slices


@pytest.mark.browser
@ENDINGS
def test_the_page_shows_base_above_new_above_the_difference(
    perfetto_ui: Callable[..., PerfettoUI], tmp_path: Path, ending: str
) -> None:
    ui = perfetto_ui(written(tmp_path, ending))
    assert ui.import_errors() == 0
    ui.expand_all()
    rows = [name.strip() for name in ui.tracks()]
    assert rows[0].startswith("base: base.pftrace, new: new.pftrace, difference")
    starts = ("base: MainThread", "new: MainThread", "difference ≥ 0.119 ms", "difference, only in")
    assert len(rows) == 5
    assert all(row.startswith(start) for row, start in zip(rows[1:], starts))

    # A click on a pass of one side leads to the other, and to the difference.
    ui.select("VMCodeGen")
    assert "VMCodeGen" in ui.details().partition("Following Flows")[2]
    ui.select("Lower")
    details = ui.details()
    assert {"Lower +20.0 ms (+50 %)", "delta_ns", "20000000"} <= set(details.splitlines())
