"""Which file the page is handed, and the link to it: the values are typed out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.traces import START, empty, failed_compile, nested_compile, one_lane, with_start
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.archives import members
from tilelang_trace.formats.archives.writing import tar_gzipped, zipped
from tilelang_trace.opening import open_originals
from tilelang_trace.sharing.viewing.exhibit import Exhibit, exhibit
from tilelang_trace.sharing.viewing.link import link
from tilelang_trace.trace.model import Trace


def shown(*paths: Path, offline: bool = False) -> Exhibit:
    return exhibit({str(path): open_originals(str(path)) for path in paths}, offline=offline)


def parameters(exhibited: Exhibit) -> dict[str, Any]:
    page, _, query = link("https://page", "http://file/x", exhibited.view).partition("/#!/?")
    assert page == "https://page"
    return {name: value for name, [value] in parse_qs(query, strict_parsing=True).items()}


def written(folder: Path, name: str, trace: Trace) -> Path:
    files.write(trace, folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.pftrace.gz", "x.json.gz"])
def test_the_failed_pass_is_selected_and_in_view(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, failed_compile())
    exhibited = shown(path)
    assert exhibited.data == path.read_bytes()
    assert exhibited.name == name
    found = parameters(exhibited)
    commands = json.loads(found.pop("startupCommands"))
    assert found == {
        "url": "http://file/x",
        "ts": "30001",
        "dur": "19999",
        "visStart": "0",  # 30001 - 2 * 19999 is before the first event
        "visEnd": "50000",
    }
    assert [command["id"] for command in commands] == [
        "dev.perfetto.PinTracksByRegex",
        "dev.perfetto.RunQueryAndShowTab",
    ]
    assert commands[0]["args"] == [r"^Failures( \d+)?$"]
    assert exhibited.about.startswith("InjectPipeline failed: ")


def test_without_a_failure_it_is_the_slowest_pass_by_self_time(tmp_path: Path) -> None:
    trace = one_lane(
        (0, 100_000, "Outer", "pass"), (10_000, 12_000, "A", "pass"), (20_000, 95_000, "B", "pass")
    )
    found = parameters(shown(written(tmp_path, "x.json", trace)))
    assert (found["ts"], found["dur"]) == ("20000", "75000")
    assert "startupCommands" not in found


def test_a_short_pass_has_some_room_around_it(tmp_path: Path) -> None:
    failed = {"status": "failed", "error": {"type": "E", "message": "m"}}
    trace = one_lane((0, 10**9, "Outer", "pass"), (500_000, 500_007, "A", "pass", failed))
    found = parameters(shown(written(tmp_path, "x.json", trace)))
    assert (found["visStart"], found["visEnd"]) == ("499000", "501007")


def test_a_pass_that_fills_its_phase_is_told_from_it(tmp_path: Path) -> None:
    """In `nested_compile`, the phase `build` has only the pass VMCodeGen."""
    found = parameters(shown(written(tmp_path, "x.pftrace", nested_compile())))
    assert (found["ts"], found["dur"]) == ("40000", "39000 order by depth desc")


@pytest.mark.parametrize(
    ("name", "ts"),
    [("x.pftrace", START["boottime_ns"] + 1_001), ("x.json", 1_001), ("x.events.jsonl", None)],
)
def test_times_are_on_the_clock_that_perfetto_shows(
    tmp_path: Path, name: str, ts: int | None
) -> None:
    exhibited = shown(written(tmp_path, name, with_start()))
    expected = START["boottime_ns"] + 1_001 if ts is None else ts  # a log becomes a .pftrace
    assert parameters(exhibited)["ts"] == str(expected)
    assert exhibited.name == ("x.pftrace" if ts is None else name)


def test_json_of_another_tool_is_shown_by_its_own_times(tmp_path: Path) -> None:
    """Epoch times: a file of ours would count them from the start, this one does not."""
    event = {"ph": "X", "ts": 1_760_000_000_000_000, "dur": 4, "pid": 1, "tid": 1, "name": "a"}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([event]))
    found = parameters(shown(path))
    assert (found["ts"], found["dur"]) == ("1760000000000000000", "4000")


def test_an_empty_trace_is_shown_all_the_same(tmp_path: Path) -> None:
    exhibited = shown(written(tmp_path, "x.pftrace", empty()))
    assert parameters(exhibited) == {"url": "http://file/x"}


def test_several_go_into_one_zip_that_shows_the_one_that_failed(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "good.json", one_lane((10, 400_000, "P", "pass"))),
        written(tmp_path, "bad.json", failed_compile()),
    ]
    exhibited = shown(*paths)
    assert exhibited.name == "good-and-1-more.zip"
    (tmp_path / "all.zip").write_bytes(exhibited.data)
    assert list(files.contents_in(tmp_path / "all.zip")) == ["good.json", "bad.json"]
    # good.json begins at 10 ns and is the later one: bad.json is moved by so much.
    assert parameters(exhibited)["ts"] == "30011"
    # And so it is when the archive itself is opened, which goes out as it is.
    again = shown(tmp_path / "all.zip")
    assert again.data == exhibited.data
    assert again.view == exhibited.view


def test_several_pftraces_are_moved_by_the_boot_clock(tmp_path: Path) -> None:
    first = written(tmp_path, "x.pftrace", with_start())
    (tmp_path / "a").mkdir()
    second = written(tmp_path / "a", "x.pftrace", with_start())
    exhibited = shown(first, second)
    (tmp_path / "all.zip").write_bytes(exhibited.data)
    assert list(files.contents_in(tmp_path / "all.zip")) == ["x.pftrace", "x-2.pftrace"]
    assert parameters(exhibited)["ts"] == str(START["boottime_ns"] + 1_001)


def test_offline_several_become_one_trace(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "good.json", one_lane((10, 400_000, "P", "pass"))),
        written(tmp_path, "bad.json", failed_compile()),
    ]
    (tmp_path / "all.zip").write_bytes(shown(*paths).data)
    exhibited = shown(tmp_path / "all.zip", offline=True)
    assert exhibited.name == "good-and-1-more.pftrace"
    (tmp_path / exhibited.name).write_bytes(exhibited.data)
    joint = files.read(tmp_path / exhibited.name)
    assert [thread.name for thread in joint.threads] == ["good: MainThread", "bad: MainThread"]
    assert parameters(exhibited)["ts"] == "30001"


@pytest.mark.parametrize("offline", [True, False])
def test_an_archive_is_not_unpacked_again_for_each_trace_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    path = tmp_path / "x.zip"
    unpacked: list[int] = []
    files_in = members._files

    def counting(data: bytes) -> Any:
        unpacked.append(len(data))
        return files_in(data)

    monkeypatch.setattr(members, "_files", counting)
    trace = written(tmp_path, "x.json", failed_compile()).read_bytes()
    times = []
    for number in (2, 9):
        unpacked.clear()
        path.write_bytes(zipped({f"{n}.json": trace for n in range(number)}))
        shown(path, offline=offline)
        times.append(len(unpacked))
    assert times[0] == times[1] <= 2


def test_traces_of_one_name_are_numbered(tmp_path: Path) -> None:
    trace = written(tmp_path, "x.json", failed_compile()).read_bytes()
    names = ("a/x.json", "b/x.json", "x-2.json", "c/x.json")
    (tmp_path / "x.tar").write_bytes(tar_gzipped(dict.fromkeys(names, trace)))
    (tmp_path / "all.zip").write_bytes(shown(tmp_path / "x.tar").data)
    labels = [name.partition(".")[0] for name in files.contents_in(tmp_path / "all.zip")]
    assert labels == ["x", "x-2", "x-2-2", "x-3"]


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("extra", ["README.md", "folder/"])
def test_an_archive_that_perfetto_refuses_is_not_handed_to_it(
    tmp_path: Path, extra: str, offline: bool
) -> None:
    trace = written(tmp_path, "x.json", failed_compile()).read_bytes()
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({extra: b"", "x.json": trace}))
    exhibited = shown(path, offline=offline)
    assert (exhibited.name, exhibited.data) == ("x.json", trace)


def test_a_bundle_goes_out_as_it_is_but_offline_only_its_trace(tmp_path: Path) -> None:
    trace = written(tmp_path, "x.json", failed_compile()).read_bytes()
    path = tmp_path / "report 1.zip"
    path.write_bytes(zipped({".report/README.md": b"# It fails", "x.json": trace}))
    exhibited = shown(path)
    assert (exhibited.name, exhibited.data) == ("report_1.zip", path.read_bytes())
    assert shown(path, offline=True).data == trace
    assert shown(path, offline=True).view == exhibited.view


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("no trace")
    with pytest.raises(UserError, match="neither a Perfetto trace"):
        shown(tmp_path / "x.txt")
