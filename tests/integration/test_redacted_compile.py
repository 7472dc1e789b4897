"""A real compile without what is private: the compile in it is the same, and its IR still loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tilelang_trace
from fixtures.record import ROOT
from tilelang_trace.formats import files
from tilelang_trace.sharing.redaction.choice import Redaction
from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.redact import redact
from tilelang_trace.trace.model import Trace


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    output = tmp_path_factory.mktemp("redacted") / "mlp.pftrace"
    script = ROOT / "fixtures/compiles/relax_mlp.py"
    command = [sys.executable, "-m", "tilelang_trace", "run", "--ir", "text", "-o", output, script]
    subprocess.run(
        [*map(str, command), "--token", "abc"], check=True, capture_output=True, timeout=120
    )
    return tilelang_trace.read(output)


def test_nothing_but_private_texts_change(compiled: Trace) -> None:
    trace = redact(compiled).trace
    assert compiled.metadata["command"][-2:] == ["--token", "***"]
    assert str(Path.home()) not in repr(trace.metadata)
    for column in ("begin", "end", "lane", "parent"):
        assert (getattr(trace.slices, column) == getattr(compiled.slices, column)).all()
    for column in ("name", "category"):
        old, new = getattr(compiled.slices, column), getattr(trace.slices, column)
        assert [compiled.strings[i] for i in old] == [trace.strings[i] for i in new]
    assert trace.arguments.content() == compiled.arguments.content()
    for key in ("versions", "start", "host", "recording", "process_name"):
        assert trace.metadata[key] == compiled.metadata[key]


@pytest.mark.usefixtures("tvm")
def test_with_pseudonyms_programs_load_and_hold_no_name(compiled: Trace) -> None:
    from tvm.script import from_source

    done = redact(compiled, Redaction(names=True))
    programs = {
        ir["before"] for ir in done.trace.arguments.values("ir").values() if ir.get("before")
    }
    # Relax as it was before it was lowered: what TVM prints after that does not all load again.
    loadable = [p for p in programs if "R.matmul" in p and "left out" not in p]
    assert loadable
    for program in loadable:
        from_source(program)
    data = b"".join(files.PFTRACE.write(done.trace))
    assert leaks([("trace.pftrace", data)], done.secrets) == []
    assert redact(done.trace, Redaction(names=True)).trace == done.trace
