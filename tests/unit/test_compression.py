"""Compressed files under any name: what comes out of them, what is told, what is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import time
import zlib
from pathlib import Path

import pytest

from tests.traces import nested_compile, said
from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.compression import uncompressed
from tilelang_trace.trace.findings import Findings
from tilelang_trace.trace.model import Trace

DATA = b"".join(files.JSON.write(nested_compile()))


def read(folder: Path, content: bytes) -> Trace:
    path = folder / "profile"
    path.write_bytes(content)
    return files.read(path)


def rules(trace: Trace) -> list[tuple[str, str]]:
    return [(finding.rule, finding.place) for finding in trace.findings]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (DATA, []),
        (gzip.compress(DATA), []),
        (b"".join(gzip.compress(DATA[k : k + 50]) for k in range(0, len(DATA), 50)), []),
        (gzip.compress(gzip.compress(DATA)), []),
        (zlib.compress(DATA), [("compression", "byte 0")]),
        (zlib.compress(DATA, 1), [("compression", "byte 0")]),
        (bz2.compress(DATA), [("compression", "byte 0")]),
        (bz2.compress(DATA[:99]) + bz2.compress(DATA[99:]), [("compression", "byte 0")]),
        (lzma.compress(DATA), [("compression", "byte 0")]),
        (b"\xef\xbb\xbf" + DATA, [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-16"), [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-16-be"), [("file-start", "byte 0")]),
        (b"\xfe\xff" + DATA.decode().encode("utf-16-be"), [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-16-le"), [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-32"), [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-32-le"), [("file-start", "byte 0")]),
        (DATA.decode().encode("utf-32-be"), [("file-start", "byte 0")]),
        (b"\0\0\xfe\xff" + DATA.decode().encode("utf-32-be"), [("file-start", "byte 0")]),
        (gzip.compress(b"\xef\xbb\xbf" + DATA), [("file-start", "byte 0")]),
    ],
)
def test_any_form_says_the_same(content: bytes, told: object, tmp_path: Path) -> None:
    trace = read(tmp_path, content)
    assert said(trace) == said(nested_compile())
    assert rules(trace) == told


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("before", ["\n", "\n\n", "\r\n \t"])
def test_white_space_does_not_hide_an_encoding(before: str, encoding: str, tmp_path: Path) -> None:
    trace = read(tmp_path, (before + DATA.decode()).encode(encoding))
    assert said(trace) == said(nested_compile())
    assert rules(trace)[0] == ("file-start", "byte 0")


@pytest.mark.parametrize("behind", [b"garbage", bytes(500), b"\x1f"])
def test_what_is_behind_gzip_is_told(behind: bytes, tmp_path: Path) -> None:
    data = gzip.compress(DATA)
    trace = read(tmp_path, data + behind)
    assert said(trace) == said(nested_compile())
    assert rules(trace) == [("behind-gzip", f"byte {len(data)}")]


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bz2.compress, lzma.compress])
def test_of_cut_data_all_is_kept_that_comes_out(pack: object) -> None:
    events = b'[{"ph":"X"}\n' + b"".join(b"%d " % (k * k) for k in range(20_000))
    data = pack(events)  # type: ignore[operator]
    got = []
    for end in range(4, len(data), len(data) // 30):
        told = Findings()
        try:
            got.append(uncompressed(data[:end], None, told))
        except UserError as error:
            assert "cut off" in str(error)
            continue
        if got[-1] != data[:end]:  # so little that it is not known as compressed
            assert events.startswith(got[-1])
            assert told.counts["cut-off"] == 1
    if pack is not bz2.compress:  # which has all of it in one block
        assert len(got[-1]) > 0.8 * len(events)


def test_damaged_data_are_told(tmp_path: Path) -> None:
    lines = DATA + b" " * 10_000
    data = bytearray(gzip.compress(lines))
    data[-6] ^= 0x55  # the checksum
    trace = read(tmp_path, bytes(data))
    assert [finding.rule for finding in trace.findings] == ["damaged"]
    assert said(trace) == said(nested_compile())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b", "damaged gzip data"),
        (b"\x1f\x8b" + b"x" * 50, "damaged gzip data"),
        (b"\x28\xb5\x2f\xfdxx", "zstd -d"),
        (b"\x04\x22\x4d\x18xx", "lz4 -d"),
        (gzip.compress(gzip.compress(gzip.compress(DATA))), "more than 2 times over"),
        (zlib.compress(b"text"), "neither"),
    ],
)
def test_what_can_t_be_unpacked_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, content)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bz2.compress, lzma.compress])
def test_bombs_are_refused(pack: object) -> None:
    bomb = pack(bytes(5 << 20))  # type: ignore[operator]
    small = limits.Limits(unpacked_bytes=1 << 20)
    with limits.using(small), pytest.raises(UserError, match="unpacked_bytes"):
        uncompressed(bomb)


def test_a_hundred_thousand_members_take_no_longer_for_each() -> None:
    member = gzip.compress(b"x")
    begin = time.process_time()
    assert uncompressed(member * 100_000) == b"x" * 100_000
    assert time.process_time() - begin < 5
