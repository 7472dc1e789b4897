"""Files of traces: endings, gzip, sniffing, one line for every bad input, whole files or none."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.traces import TRACES, failed_compile, main_thread, nested_compile, one_lane, said
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.pftrace.wire import field_bytes, field_varint
from tilelang_trace.formats.whole_files import write_whole
from tilelang_trace.trace.assemble import Parts, assemble
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.model import Trace

ENDINGS = (".json", ".pftrace", ".events.jsonl")
ROOT = Path(__file__).parents[2]


def contents(trace: Trace, ending: str) -> bytes:
    return b"".join(files.format_for("x" + ending)[0].write(trace))


# ------------------------------------------------------------------------------------ endings


@pytest.mark.parametrize(
    ("name", "format_", "compressed"),
    [
        ("a.json", files.JSON, False),
        ("a.json.gz", files.JSON, True),
        ("a.pftrace", files.PFTRACE, False),
        ("a.b.pftrace.gz", files.PFTRACE, True),
        ("a.events.jsonl", files.LOG, False),
        ("a.events.jsonl.gz", files.LOG, True),
        ("A.JSON", files.JSON, False),
        ("folder.json/a.PFTrace.GZ", files.PFTRACE, True),
    ],
)
def test_the_format_is_taken_from_the_name(name: str, format_: Any, compressed: bool) -> None:
    assert files.format_for(name) == (format_, compressed)
    assert files.format_for(Path(name)) == (format_, compressed)


@pytest.mark.parametrize("name", ["a", "a.txt", "a.jsonl", "a.gz", "json", "a.json.zip"])
def test_an_ending_that_is_none_is_refused_with_those_that_are(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        files.write(one_lane((0, 1, "a")), tmp_path / name)
    assert not any(tmp_path.iterdir())
    for ending in (name, *ENDINGS):
        assert ending in str(refused.value)


# --------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("ending", [".json", ".json.gz", ".pftrace", ".pftrace.gz"])
def test_traces_come_back_from_files(ending: str, tmp_path: Path) -> None:
    for name in ("nested_compile", "failed_compile", "foreign", "with_start", "empty", "far"):
        trace = TRACES[name]()
        path = tmp_path / f"{name} größe{ending}"
        files.write(trace, path)
        back = files.read(path)
        assert said(back) == said(trace)
        assert back == trace


def test_a_compressed_file_is_the_plain_one_compressed(tmp_path: Path) -> None:
    for ending in ENDINGS:
        files.write(nested_compile(), tmp_path / f"a{ending}")
        files.write(nested_compile(), tmp_path / f"a{ending}.gz")
        data = (tmp_path / f"a{ending}.gz").read_bytes()
        assert gzip.decompress(data) == (tmp_path / f"a{ending}").read_bytes()
        assert data[3:8] == bytes(5)  # no name and no time
    large = one_lane(*((k, k + 1, f"s{k}") for k in range(20_000)))
    files.write(large, tmp_path / "large.json.gz")
    assert files.read(tmp_path / "large.json.gz") == large


@pytest.mark.parametrize("ending", ENDINGS)
def test_from_any_format_to_any_other(ending: str, tmp_path: Path) -> None:
    files.write(failed_compile(), tmp_path / f"a{ending}")
    first = files.read(tmp_path / f"a{ending}")
    for other in ENDINGS:
        files.write(first, tmp_path / f"b{other}")
        second = files.read(tmp_path / f"b{other}")
        names = [
            second.name(row) for row in range(len(second.slices)) if second.is_kind("pass")[row]
        ]
        assert names == ["Tune", "ApplySchedule", "LowerTIR", "FlattenBuffer", "InjectPipeline"]


# ------------------------------------------------------------------------------- determinism


@pytest.mark.parametrize("ending", [*ENDINGS, ".json.gz", ".pftrace.gz"])
def test_the_same_trace_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        files.write(failed_compile(), tmp_path / f"{name}{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def digest_of_everything() -> str:
    """One hash over all hand-made traces in all formats."""
    digest = hashlib.sha256()
    for make in TRACES.values():
        for ending in ENDINGS:
            digest.update(contents(make(), ending))
    return digest.hexdigest()


def test_bytes_don_t_depend_on_the_process() -> None:
    script = "from tests.unit.test_files import digest_of_everything as d; print(d())"
    found = {digest_of_everything()}
    for seed in ("0", "1", "77"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(ROOT),
            "TZ": "Asia/Tokyo",
        }
        command = [sys.executable, "-c", script]
        run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True)
        found.add(run.stdout.decode().strip())
    assert len(found) == 1


@pytest.mark.parametrize("ending", [".json", ".pftrace"])
def test_bytes_don_t_depend_on_the_order_in_which_things_were_added(ending: str) -> None:
    def build(order: int) -> Trace:
        builder = TraceBuilder()
        lane = main_thread(builder)
        for text in ("zeta", "alpha")[::order]:
            builder.strings.id(text)
        for begin in (10, 50, 90)[::order]:
            arguments = {"sequence": begin, "status": "ok", "zeta": "alpha", "a": 1.5}
            builder.slice(
                lane, begin, begin + 5, f"s{begin}", "", dict([*arguments.items()][::order])
            )
        return builder.build()

    assert build(1) == build(-1)
    assert contents(build(1), ending) == contents(build(-1), ending)


@pytest.mark.parametrize("ending", [".json", ".pftrace"])
@pytest.mark.parametrize("what", ["objects", "metadata", "flows"])
def test_equal_traces_give_equal_bytes(what: str, ending: str) -> None:
    def build(order: int) -> Trace:
        builder = TraceBuilder()
        lane = main_thread(builder)
        pairs = dict([("a", 1), ("b", 2)][:: order if what == "objects" else 1])
        rows = [builder.slice(lane, t, t + 5, "s", "", {"o": pairs}) for t in (0, 10, 20)]
        builder.flows = [(rows[0], rows[1]), (rows[0], rows[2])][:: order if what == "flows" else 1]
        builder.metadata = dict([("a", 1), ("b", 2)][:: order if what == "metadata" else 1])
        return builder.build()

    assert build(1) == build(-1)
    assert contents(build(1), ending) == contents(build(-1), ending)


def test_findings_don_t_go_into_the_file() -> None:
    trace = one_lane((0, 10_000, "a"), (5_000, 20_000, "b"))
    assert trace.findings
    silent = assemble(replace(Parts.of(trace), findings=Findings()))
    for ending in ENDINGS:
        assert contents(silent, ending) == contents(trace, ending)


# ------------------------------------------------------------------------------------ sniffing


@pytest.mark.parametrize(
    "name", ["a", "a.txt", "a.json", "a.pftrace", "a.events.jsonl", "a.json.gz"]
)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_content_decides_and_not_the_name(
    name: str, ending: str, compressed: bool, tmp_path: Path
) -> None:
    data = contents(failed_compile(), ending)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert "InjectPipeline" in files.read(path).strings


def test_all_members_of_a_gzip_file_are_read(tmp_path: Path) -> None:
    data = contents(failed_compile(), ".json")
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))
    assert said(files.read(path)) == said(failed_compile())


@pytest.mark.parametrize(
    "data",
    [
        b'{"traceEvents":[]}',
        b'\n \t\r\n{"traceEvents":[]}',
        b"[]",
        b'{"otherData":{"pass_events":1},"traceEvents":[]}',
        b'{\n"otherData":{"pass_events":1},"traceEvents":[]}',
    ],
)
def test_json_is_recognised(data: bytes) -> None:
    assert files.sniff(data) is files.JSON


@pytest.mark.parametrize("arguments", [b'{"pass_events":3}', b'{"name":"pass_events"}'])
def test_a_list_of_events_that_mentions_pass_events_is_no_log(arguments: bytes) -> None:
    data = b'[{"ph":"X","name":"a","ts":0,"dur":1,"pid":1,"tid":1,"args":' + arguments + b"}]"
    assert files.sniff(data) is files.JSON


def starts_with_a_packet_of(length: int) -> bytes:
    """A protobuf trace whose first packet has this many bytes."""
    body = field_bytes(12, b"x" * (length - 2))
    body = body if len(body) == length else field_bytes(12, b"x" * (length - 3))
    return field_bytes(1, body) + field_bytes(1, field_varint(8, 1))


def test_a_protobuf_trace_is_recognised_by_its_first_byte() -> None:
    for length in set(range(2, 400)) - {ord("["), ord("{")}:
        assert files.sniff(starts_with_a_packet_of(length)) is files.PFTRACE, length


@pytest.mark.parametrize("length", [ord("["), ord("{")])
def test_a_protobuf_trace_is_recognised_where_its_second_byte_looks_like_json(length: int) -> None:
    assert files.sniff(starts_with_a_packet_of(length)) is files.PFTRACE


# ---------------------------------------------------------------------------------- bad input


def refused(path: Path, content: bytes | None = None) -> str:
    """The one line that the file is refused with; it names the file."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        files.read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        (b"\x7fELF\x02\x01", "a program"),
        (b"PK\x03\x04", "damaged archive: cut off"),
        (b"Traceback (most recent call last):\n", "an exception"),
        (b"\xef\xbb\xbf{}", "no trace"),
        ("{}".encode("utf-16"), "no trace"),
        (b"\x00" * 50, "neither"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\n<HTML>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        (b'{"a": 1}', "no trace"),
        (b'[{"name":"X","ts":1,"pid":1,"tid":1}]', "event 1"),
        (b'{"pass_events": 1}\n{"name": "P"}\n', "line 2"),
        (b'{"pass_events": 9}\n', "version 9"),
        (b"\x0a\x05\xff\xff\xff\xff\xff", "byte 0"),
        (gzip.compress(b"", mtime=0), "empty"),
        (gzip.compress(b"text", mtime=0), "neither"),
        (gzip.compress(b'{"traceEvents":5}', mtime=0), "no trace"),
        (b"\x1f\x8b", "gzip"),
        (gzip.compress(b"{}", mtime=0) + b"garbage", "no trace"),
    ],
)
def test_bad_content_is_refused_with_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    assert message in refused(tmp_path / "a.pftrace", content)


def test_what_can_t_be_read_is_refused(tmp_path: Path) -> None:
    assert "directory" in refused(tmp_path)
    assert "No such file" in refused(tmp_path / "missing.json")
    assert refused(tmp_path / "missing" / "a.json")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that always fails")
def test_a_file_whose_disk_fails_is_refused() -> None:
    assert "output error" in refused(Path("/proc/self/mem"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"{}")
    path.chmod(0)
    assert "Permission denied" in refused(path)


# ----------------------------------------------------------------------- whole files or none


def fails_midway(error: Exception) -> Iterator[bytes]:
    yield b"half of a file" * 100_000
    raise error


@pytest.mark.parametrize("error", [ValueError("a mistake"), KeyboardInterrupt(), MemoryError()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    error: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(type(error)):
        write_whole(path, fails_midway(error))
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UserError, match=r"a\.json.*No space left on device"):
        write_whole(path, fails_midway(full))
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_limit_of_the_system_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(UserError, match=r"a\.pftrace"):
            files.write(nested_compile(), tmp_path / "a.pftrace")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not any(tmp_path.iterdir())


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old " * 10_000)
    files.write(failed_compile(), path)
    assert said(files.read(path)) == said(failed_compile())
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_the_old_file_itself_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"old")
    os.link(tmp_path / "a.json", tmp_path / "kept.json")
    files.write(failed_compile(), tmp_path / "a.json")
    assert (tmp_path / "kept.json").read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write(failed_compile(), tmp_path / "a.json")
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_takes_no_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for folder in ("missing", "file"):
        with pytest.raises(UserError, match=r"a\.json.*can't be written"):
            files.write(failed_compile(), tmp_path / folder / "a.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere"
)
def test_a_folder_without_permission_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="Permission denied"):
        files.write(failed_compile(), tmp_path / "a.json")


def test_a_folder_in_the_place_of_the_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(UserError, match=r"a\.json"):
        files.write(failed_compile(), tmp_path / "a.json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_device_that_is_full_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("/dev/full")
    with pytest.raises(UserError, match="No space left on device"):
        files.write(failed_compile(), tmp_path / "a.json")


def test_a_name_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    files.write(failed_compile(), path)
    assert path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_gets_the_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    read = [sys.executable, "-c", f"print(len(open({str(tmp_path / 'a.json')!r}, 'rb').read()))"]
    with subprocess.Popen(read, stdout=subprocess.PIPE, text=True) as reader:
        files.write(failed_compile(), tmp_path / "a.json")
        assert reader.stdout is not None
        assert int(reader.stdout.read()) == len(contents(failed_compile(), ".json"))


def test_reading_imports_neither_protobuf_nor_tvm_for_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(failed_compile(), path)
    script = (
        "import sys; from tilelang_trace.formats import files; files.read(sys.argv[1]);"
        "print([n for n in ('google.protobuf', 'tvm', 'perfetto') if n in sys.modules])"
    )
    command = [sys.executable, "-c", script, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_trace_can_be_written_in_every_format(
    make: Callable[[], Trace], ending: str, tmp_path: Path
) -> None:
    files.write(make(), tmp_path / f"a{ending}")
    assert (tmp_path / f"a{ending}").stat().st_size > 0


def test_a_log_may_say_anything_in_its_metadata() -> None:
    assert files.sniff(b'{"pass_events": 1, "metadata": {"traceEvents": []}}\n') is files.LOG
    assert files.sniff(b'{"traceEvents": [], "otherData": {"pass_events": 1}}') is files.JSON
    assert files.sniff(b'{"pass_events": 1, "metadata": {"cut') is files.LOG
