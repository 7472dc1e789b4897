"""Names of output files: fields, and kernels with any name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tilelang_trace.errors import UserError
from tilelang_trace.formats import naming


def test_fields_are_filled_in_when_they_are_known() -> None:
    started = naming.at_start("out/{script}-{pid}-{kernel}-{time}.json.gz", "train 2")
    assert re.fullmatch(r"train 2-{pid}-{kernel}-\d{8}-\d{6}\.json\.gz", started.name)
    assert started.parent == Path("out")
    assert naming.filled("a-{pid}.json", {"pid": "12"}) == Path("a-12.json")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{user}.json", "unknown field {user}; there is {script}, {pid}, {kernel}, {time}"),
        ("{}.json", "unknown field {}"),
        ("{pid}/x.json", "not in its folder"),
        ("{pid}.txt", "no format has this ending"),
    ],
)
def test_bad_patterns_are_the_users_mistake(pattern: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        naming.at_start(pattern, "x")


def test_a_kernel_stands_in_its_field_or_before_the_ending() -> None:
    kernels = ["gemm", "main +9 more"]
    assert naming.for_kernels(Path("d/{kernel}.json"), kernels) == [
        Path("d/gemm.json"),
        Path("d/main_+9_more.json"),
    ]
    assert naming.for_kernels(Path("d/out.pftrace.gz"), kernels) == [
        Path("d/out.gemm.pftrace.gz"),
        Path("d/out.main_+9_more.pftrace.gz"),
    ]


def test_what_is_of_no_kernel_keeps_the_name() -> None:
    assert naming.for_kernels(Path("out.json"), [None]) == [Path("out.json")]
    assert naming.for_kernels(Path("{kernel}.json"), [None]) == [Path("no-kernel.json")]


def test_any_kernel_gets_a_file_of_its_own_that_the_system_takes(tmp_path: Path) -> None:
    long = "gemm_" + "x" * 300
    kernels = [
        "a/b",
        "a:b",
        "A:B",
        "../../etc",
        "",
        "..",
        "größe",
        "a\0b",
        "a\nb",
        "kernel 漢" * 40,
    ]
    kernels += [long + "1", long + "2", "\ud800", "{pid}", "-"]
    paths = naming.for_kernels(tmp_path / "out.json", kernels)

    assert len({str(path).lower() for path in paths}) == len(kernels)
    for path in paths:
        assert path.parent == tmp_path
        assert len(os.fsencode(path.name)) < 120
        path.write_text("")
    assert len(list(tmp_path.iterdir())) == len(kernels)
    assert naming.part_of_name("größe") == "größe"
    assert naming.part_of_name(long + "1") != naming.part_of_name(long + "2")
    assert naming.for_kernels(Path("o.json"), kernels) == naming.for_kernels(
        Path("o.json"), kernels
    )
