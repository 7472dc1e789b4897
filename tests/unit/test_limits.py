"""Limits for input from strangers: their names, how they are set, and what is said beyond them."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from threading import Thread

import pytest

from tests.traces import nested_compile, one_lane
from tilelang_trace import limits
from tilelang_trace.commands import main
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.limits import Limits
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.json_values import levels
from tilelang_trace.trace.model import CounterTrack, Lane

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.VARIABLE, raising=False)


# ----------------------------------------------------------------------------------------- setting


def test_the_usual_limits_hold_where_none_are_set() -> None:
    assert limits.current() == Limits()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Limits()),
        ("nesting=7", Limits(nesting=7)),
        ("unpacked_bytes=8GiB, members = 20K ,", Limits(unpacked_bytes=2**33, members=20_000)),
        ("file_bytes=512", Limits(file_bytes=512)),
        ("text=3MiB,events=5M,tracks=1G", Limits(text=3 << 20, events=5 * 10**6, tracks=10**9)),
        ("text=1KiB,text=2KiB", Limits(text=2048)),
    ],
)
def test_the_variable_sets_some(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: Limits
) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    assert limits.current() == expected


@pytest.mark.parametrize(
    "text",
    ["depth=5", "nesting", "nesting=", "nesting=many", "text=1.5M", "text=-1", "text=5 MiB",
     "text=5MB", "text=٣", "=5", "text=" + "9" * 5000],
)  # fmt: skip
def test_what_sets_no_limit_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    with pytest.raises(
        UserError, match=r"^TILELANG_TRACE_LIMITS: .* sets no limit: there is file_"
    ):
        limits.current()


@pytest.mark.parametrize("text", ["nesting=0", "nesting=91", "tracks=3G", "text=8000000000GiB"])
def test_what_a_limit_can_not_be_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    with pytest.raises(UserError, match=r"^limit .*: a whole number from 1 to "):
        limits.current()


def test_python_sets_them_for_a_block_and_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "nesting=5")
    seen = []
    with limits.using(Limits(nesting=7)):
        assert limits.current().nesting == 7
        thread = Thread(target=lambda: seen.append(limits.current().nesting))
        thread.start()
        thread.join()
        with pytest.raises(KeyError), limits.using(Limits(nesting=8)):
            raise KeyError
        assert limits.current().nesting == 7
    assert (limits.current().nesting, seen) == (5, [5])


def test_the_documented_table_is_what_is_in_force() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("### Limits\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)
    usual = Limits()
    assert documented == [
        (field.name, limits.shown(field.name, getattr(usual, field.name)))
        for field in fields(Limits)
    ]


# ---------------------------------------------------------------------------------------- exceeding


@pytest.mark.parametrize(
    ("name", "most", "more"),
    [
        ("members", "10,000", "; to allow more: TILELANG_TRACE_LIMITS=members=20000"),
        ("file_bytes", "4 GiB", "; to allow more: TILELANG_TRACE_LIMITS=file_bytes=8GiB"),
        ("nesting", "90", ""),  # can't be more
    ],
)
def test_the_line_says_which_limit_and_how_to_raise_it(name: str, most: str, more: str) -> None:
    assert str(limits.exceeded("x", name)) == f"refused: x, the most is {most}{more}"
    if more:
        limits.read(more.partition("TILELANG_TRACE_LIMITS=")[2])


def refusal(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


def test_the_command_line_sets_them_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "x.json")
    files.write(nested_compile(), path)
    monkeypatch.setenv(limits.VARIABLE, "file_bytes=100")
    said = refusal(["report", path], capsys)
    assert "x.json: refused: a file of " in said and "the most is 100 bytes; " in said
    assert main(["report", path, "--limits", "file_bytes=1MiB"]) == 0
    capsys.readouterr()
    assert "sets no limit" in refusal(["report", path, "--limits", "x=1"], capsys)
    assert limits.current().file_bytes == 100, "they are set for one command"


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    with open(path, "wb") as stream:
        stream.truncate(50 << 30)  # it takes no room on the disk
    with pytest.raises(UserError) as error:
        files.read(path)
    assert str(error.value) == (
        f"{path}: refused: a file of 53,687,091,200 bytes, the most is 4 GiB; to allow more: "
        "TILELANG_TRACE_LIMITS=file_bytes=8GiB"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such devices")
def test_a_device_without_an_end() -> None:
    with limits.using(Limits(file_bytes=5 << 20)), pytest.raises(UserError, match="is larger"):
        files.read("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
def test_a_pipe_is_read(tmp_path: Path) -> None:
    data = b"".join(files.JSON.write(nested_compile()))
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    try:
        assert files.read(tmp_path / "pipe") == nested_compile()
    finally:
        writer.join()


def test_what_is_unpacked_is_not_counted_by_what_it_says_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20))[:-4] + b"\x01\0\0\0")
    with limits.using(Limits(unpacked_bytes=2 << 20)), pytest.raises(UserError) as error:
        files.read(path)
    assert "refused: it unpacks to more than it may, the most is 2 MiB; " in str(error.value)


def _slices(builder: TraceBuilder) -> None:
    lane = builder.lane(Lane())
    for number in range(3):
        builder.slice(lane, 0, 9 - number, "a", "")


def _many_slices(builder: TraceBuilder) -> None:
    builder.slices([builder.lane(Lane())] * 3, [0, 0, 0], [9, 8, 7], [0, 0, 0], [0, 0, 0])


def _instants(builder: TraceBuilder) -> None:
    for number in range(3):
        builder.instant(0, number, "a", "")


def _many_instants(builder: TraceBuilder) -> None:
    builder.instants([0, 0, 0], [0, 1, 2], [0, 0, 0], [0, 0, 0])


def _values(builder: TraceBuilder) -> None:
    for number in range(3):
        builder.counter(0, number, 1.0)


def _many_values(builder: TraceBuilder) -> None:
    builder.counters(0, [0, 1, 2], [1.0, 1.0, 1.0])


def _flows(builder: TraceBuilder) -> None:
    builder.slice(builder.lane(Lane()), 0, 9, "a", "")
    builder.flows.extend([(0, 0)] * 3)
    builder.build()


@pytest.mark.parametrize(
    "add", [_slices, _many_slices, _instants, _many_instants, _values, _many_values, _flows]
)
def test_too_many_events(add: object) -> None:
    assert callable(add)
    with limits.using(Limits(events=3)):
        builder = TraceBuilder()
    add(builder)
    with limits.using(Limits(events=2)):
        builder = TraceBuilder()
        with pytest.raises(UserError, match="too many events, the most is 2; "):
            add(builder)


def test_too_many_tracks() -> None:
    with limits.using(Limits(tracks=2)):
        builder = TraceBuilder()
        for add in (
            lambda: builder.process("a"),
            lambda: builder.thread(0, "a"),
            lambda: builder.lane(Lane()),
        ):
            add()
            add()
            with pytest.raises(UserError, match="too many tracks, the most is 2; "):
                add()
        builder = TraceBuilder()
        builder.counter_tracks = [CounterTrack("a")] * 3
        with pytest.raises(UserError, match="too many tracks"):
            builder.build()


def test_too_many_and_too_long_texts() -> None:
    with limits.using(Limits(strings=2, text=5)):
        strings = TraceBuilder().strings
        assert [strings.id(text) for text in ("a", "abcde", "a")] == [0, 1, 0]
        with pytest.raises(UserError, match="too many different texts, the most is 2; "):
            strings.id("c")
        with pytest.raises(UserError, match="a text of 6 characters, the most is 5; "):
            strings.id("abcdef")


@pytest.mark.parametrize(
    ("value", "expected"), [(1, 0), ([], 1), ({"a": [1, {}]}, 3), ([[], [[[]]]], 4)]
)
def test_levels(value: object, expected: int) -> None:
    assert levels(value) == expected


def test_a_log_with_a_line_that_is_nested_too_deep(tmp_path: Path) -> None:
    path = tmp_path / "x.events.jsonl"
    line = '{"name":"a","sequence":0,"depth":0,"start_ns":0,"end_ns":9,"args":{"a":%s}}\n'
    path.write_text('{"pass_events":1}\n' + line % "[[[]]]", encoding="utf-8")
    with limits.using(Limits(nesting=3)):
        assert files.read(path).arguments.of(0)["a"] == [[[]]]
    with limits.using(Limits(nesting=2)), pytest.raises(UserError) as error:
        files.read(path)
    assert "refused: an argument of 3 levels in line 2, the most is 2; " in str(error.value)
    path.write_text('{"pass_events":1}\n' + line % ("[" * 1000 + "]" * 1000), encoding="utf-8")
    with pytest.raises(UserError, match=r"an argument of 1000 levels in line 2, the most is 90$"):
        files.read(path)


# ------------------------------------------------------------------------- where they don't matter


@pytest.mark.parametrize("ending", [known.ending for known in files.FORMATS])
def test_a_value_of_as_many_levels_as_there_may_be_is_written_in_each_format(
    tmp_path: Path, ending: str
) -> None:
    value: object = 1
    for _ in range(limits.DEEPEST):
        value = [value]
    trace = one_lane((0, 9, "P", "pass", {"status": "ok", "sequence": 0, "depth": 0, "a": value}))
    files.write(trace, tmp_path / f"x{ending}")
    assert files.read(tmp_path / f"x{ending}").arguments.of(0)["a"] == value


def test_a_variable_that_can_not_be_read_does_not_hurt_who_only_imports() -> None:
    environ = {**os.environ, limits.VARIABLE: "x"}
    code = "import tilelang_trace, tilelang_trace.events; from tilelang_trace import limits"
    subprocess.run([sys.executable, "-c", code], env=environ, check=True)
