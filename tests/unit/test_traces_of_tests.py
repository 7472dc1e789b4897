"""Names of the files of single tests. No TVM."""

from __future__ import annotations

import pytest

from tilelang_trace.integrations.traces_of_tests import file_name


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("test_gemm.py::test_small", "test_gemm.test_small"),
        ("tests/unit/test_gemm.py::TestBig::test_it", "tests.unit.test_gemm.TestBig.test_it"),
        ("test_gemm.py::test_it[64-float16]", "test_gemm.test_it[64-float16]"),
    ],
)
def test_a_plain_test_has_a_plain_name(test: str, name: str) -> None:
    assert file_name(test) == name


def test_names_are_safe_short_and_each_tests_own() -> None:
    tests = [
        "test_gemm.py::test_it[a/b]",
        "test_gemm.py::test_it[a.b]",
        "test_gemm.py::test_it[a-b]",
        "test_gemm.py::test_it[a b]",
        "test_gemm.py::test_it[../../etc/passwd]",
        "test_gemm.py::test_it[größe]",
        "test_gemm.py::test_it[grüße]",
        "test_gemm.py::test_it[\udcff]",
        "test_gemm.py::test_it[a::b]",
        "../elsewhere/test_gemm.py::test_it",
        "a/b.py::test_it",
        "a.b.py::test_it",
        "a/b/test_it",
        *(f"test_gemm.py::test_it[{'x' * 400}{number}]" for number in range(3)),
    ]
    names = [file_name(test) for test in tests]
    assert len(set(names)) == len(tests)
    for name in names:
        assert len(name) <= 130
        assert not set(name) & set('/\\:*?"<>| ')
        assert name.isascii()
        assert not name.startswith(".")
