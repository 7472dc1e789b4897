"""Which `tvm` is used, and that nothing of it is needed before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilelang_trace.tvm_binding import loaded_tvm


@pytest.mark.parametrize("module", ["events", "pass_timing", "kernel_label", "pairing"])
def test_import_of_the_instrumentation_api_does_not_import_tvm(module: str) -> None:
    code = f"import sys, tilelang_trace.{module}; sys.exit('tvm' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_loaded_tvm_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    mine: Any = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "tvm", mine)
    monkeypatch.setitem(sys.modules, "tvm.ir.instrument", SimpleNamespace())

    assert loaded_tvm() is mine


def test_tilelang_brings_its_tvm_where_none_can_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tilelang.py").write_text(
        "import sys\n"
        "sys.modules['tvm'] = sys.modules['tvm.ir.instrument'] = 'the tvm of TileLang'\n"
    )
    monkeypatch.setitem(sys.modules, "tvm", None)
    monkeypatch.setitem(sys.modules, "tvm.ir.instrument", None)
    monkeypatch.setitem(sys.modules, "tilelang", None)  # so that what follows is undone
    monkeypatch.delitem(sys.modules, "tilelang")
    monkeypatch.syspath_prepend(tmp_path)

    tvm: Any = loaded_tvm()
    assert tvm == "the tvm of TileLang"


def test_missing_tvm_is_an_import_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("tvm", "tvm.ir.instrument", "tilelang"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ImportError, match=r"pip install 'tilelang-trace\[tvm\]'"):
        loaded_tvm()
