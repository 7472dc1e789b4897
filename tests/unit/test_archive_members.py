"""Archives from strangers: what is read of them, and what is refused with one line."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.traces import failed_compile, nested_compile
from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files
from tilelang_trace.formats.archives import members
from tilelang_trace.formats.archives.writing import tar_gzipped, zipped
from tilelang_trace.trace.model import Trace

TRACE = b"".join(files.PFTRACE.write(nested_compile()))
JSON = b"".join(files.JSON.write(failed_compile()))


def read(folder: Path, archive: bytes, inside: str = "") -> Trace:
    path = folder / "report.zip"
    path.write_bytes(archive)
    return files.read(path / inside if inside else path)


def refusal(folder: Path, archive: bytes, inside: str = "") -> str:
    with pytest.raises(UserError) as error:
        read(folder, archive, inside)
    message = str(error.value)
    assert message.startswith(str(folder / "report.zip")) and "\n" not in message
    assert sorted(os.listdir(folder)) == ["report.zip"], "nothing is unpacked onto the disk"
    return message


# ---------------------------------------------------------------------------------------- reading

HIDDEN = {".report/README.md": b"# What happened", ".report/environment.json": b"{}"}


@pytest.mark.parametrize("pack", [zipped, tar_gzipped])
def test_the_trace_in_a_bundle_is_read(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    archive = pack({"trace.pftrace": TRACE, **HIDDEN})
    assert read(tmp_path, archive) == nested_compile()
    assert pack({"trace.pftrace": TRACE, **HIDDEN}) == archive


def test_what_is_no_trace_is_passed_by(tmp_path: Path) -> None:
    others = {
        "report/README.md": b"# What happened",
        "report/environment.json": b'{"versions": {"tvm": "0.27"}}',
        "report/reproducer.py": b"import tvm\n",
        "report/picture.png": b"\x89PNG\r\n",
        "perfetto_manifest.json": b'{"perfetto_manifest": {"version": 1}}',
    }
    assert read(tmp_path, tar_gzipped({**others, "report/t.json": JSON})) == failed_compile()


def test_a_member_may_be_compressed_and_the_archive_made_by_others(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as archive:
        archive.mkdir("traces") if hasattr(archive, "mkdir") else None
        archive.writestr("traces/größe.pftrace.gz", gzip.compress(TRACE))
        archive.writestr("__MACOSX/._größe.pftrace.gz", b"\0\5\x16\7")
    assert read(tmp_path, content.getvalue()) == nested_compile()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        entry = tarfile.TarInfo("./run/trace.pftrace")
        entry.size = len(TRACE)
        tar.addfile(entry, io.BytesIO(TRACE))
    assert read(tmp_path, content.getvalue()) == nested_compile()


def test_one_of_several_traces_is_named(tmp_path: Path) -> None:
    archive = zipped({"base.pftrace": TRACE, "sub/new.json": JSON})
    assert read(tmp_path, archive, "base.pftrace") == nested_compile()
    assert read(tmp_path, archive, "sub/new.json") == failed_compile()
    message = refusal(tmp_path, archive)
    assert "2 traces in this archive: name one, as " in message
    assert f"{tmp_path}/report.zip/base.pftrace or {tmp_path}/report.zip/sub/new.json" in message
    message = refusal(tmp_path, archive, "old.pftrace")
    assert message.endswith("no such trace in this archive; there is base.pftrace, sub/new.json")


def test_a_plain_trace_is_no_folder(tmp_path: Path) -> None:
    assert "is no archive and no folder" in refusal(tmp_path, TRACE, "base.pftrace")


def test_an_archive_without_a_trace(tmp_path: Path) -> None:
    for content in ({}, HIDDEN, {"a.txt": b"text"}, {".hidden/t.pftrace": TRACE}):
        assert refusal(tmp_path, zipped(content)).endswith("no trace in this archive")


# --------------------------------------------------------------------------------------- refusing


@pytest.mark.parametrize(
    "name",
    [
        "../../.bashrc",
        "/etc/passwd",
        "a/../../b.pftrace",
        "..",
        "C:/Windows/x.pftrace",
        "c:x.pftrace",
        "a\\..\\b.pftrace",
        "a//b.pftrace",
        "line\nbreak.pftrace",
        "\u202egnp.pftrace",
        ".hidden/../../x",
    ],
)
@pytest.mark.parametrize("pack", [zipped, tar_gzipped])
def test_names_that_lead_elsewhere(tmp_path: Path, name: str, pack: Callable[..., bytes]) -> None:
    message = refusal(tmp_path, pack({"trace.pftrace": TRACE, name: b"x"}))
    assert f"refused: {name!a} in it is no name inside a folder" in message


def test_a_name_with_nul_in_a_zip(tmp_path: Path) -> None:
    # `zipfile` cuts such a name at the NUL when it writes and when it reads.
    archive = zipped({"trace.pftraceX.exe": TRACE})
    assert "no name inside" in refusal(tmp_path, archive.replace(b"pftraceX", b"pftrace\0"))


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip(tmp_path: Path, mode: int) -> None:
    content = io.BytesIO(zipped({"trace.pftrace": TRACE}))
    with zipfile.ZipFile(content, "a") as archive:
        entry = zipfile.ZipInfo("link.pftrace")
        entry.create_system, entry.external_attr = 3, (mode | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    assert "'link.pftrace' in it is a link or a device" in refusal(tmp_path, content.getvalue())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar(tmp_path: Path, kind: bytes) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("trace.pftrace")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    assert "is a link or a device" in refusal(tmp_path, content.getvalue())


def test_an_archive_in_an_archive(tmp_path: Path) -> None:
    inner = zipped({"trace.pftrace": TRACE})
    for inside in (inner, gzip.compress(inner), tar_gzipped({"trace.pftrace": TRACE})):
        assert "'in.zip' in it is an archive too" in refusal(tmp_path, zipped({"in.zip": inside}))


def test_two_members_of_one_name(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("trace.pftrace", TRACE)
        archive.writestr("trace.pftrace", JSON)
    assert "'trace.pftrace' is in it twice" in refusal(tmp_path, content.getvalue())


def test_an_encrypted_member(tmp_path: Path) -> None:
    archive = bytearray(zipped({"trace.pftrace": TRACE}))
    central = archive.rindex(b"PK\x01\x02")
    archive[central + 8] |= 1
    archive[6] |= 1
    assert "'trace.pftrace' in it is encrypted" in refusal(tmp_path, bytes(archive))


@pytest.mark.parametrize("pack", [zipped, tar_gzipped])
def test_too_many_members(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    many = {f"{number}.txt": b"" for number in range(21)}
    with limits.using(limits.Limits(members=20)):
        assert "more files than it may, the most is 20; " in refusal(tmp_path, pack(many))
    assert "no trace in this archive" in refusal(tmp_path, pack(many))


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_PLAIN_BYTES", 1 << 20)
    zeros = b"\x0a\x04abcd" + bytes(3 << 20)
    half = zeros[: 3 << 19]
    assert members.Budget(len(zipped({"a": zeros}))).left < len(zeros), "it is a bomb"
    for bomb in (
        zipped({"trace.pftrace": zeros}),
        zipped({"a.pftrace": half, "b.pftrace": half}),
        zipped({"a.pftrace.gz": gzip.compress(zeros)}),
        tar_gzipped({"trace.pftrace": zeros}),
        gzip.compress(zeros),
    ):
        assert refusal(tmp_path, bomb).endswith(
            "refused: it unpacks to over 1 MiB, and to too many times its size, the most is 250; "
            "to allow more: TILELANG_TRACE_LIMITS=unpacked_times=500"
        )
    # A hidden one is not unpacked.
    archive = zipped({"trace.pftrace": TRACE, ".report/zeros": zeros})
    assert read(tmp_path, archive) == nested_compile()


def test_a_size_that_lies(tmp_path: Path) -> None:
    archive = bytearray(zipped({"trace.pftrace": bytes(10_000)}))
    central = archive.rindex(b"PK\x01\x02")
    for place in (22, central + 24):
        archive[place : place + 4] = (100).to_bytes(4, "little")
    assert "damaged archive" in refusal(tmp_path, bytes(archive))


@pytest.mark.parametrize("pack", [zipped, tar_gzipped])
def test_damage_at_any_byte_ends_in_one_line(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    archive = pack({"trace.json": JSON, ".report/README.md": b"# x"})
    path = tmp_path / "report.zip"
    for place in range(0, len(archive), 3):
        for damaged in (
            archive[:place],
            archive[:place] + bytes([archive[place] ^ 0xFF]) + archive[place + 1 :],
        ):
            path.write_bytes(damaged)
            try:
                files.read(path)
            except UserError as error:
                assert "\n" not in str(error)
