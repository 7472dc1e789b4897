"""What Perfetto's own engine makes of the traces in bundles."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.perfetto.engine import Engine
from tests.traces import failed_compile, with_start
from tilelang_trace.commands import main
from tilelang_trace.formats import files


def test_the_trace_in_a_bundle_loads_and_shows_the_failure(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    files.write(failed_compile(), tmp_path / "x.pftrace")
    assert main(["bundle", str(tmp_path / "x.pftrace"), "-o", str(tmp_path / "r.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        archive.extract("trace.pftrace", tmp_path)
    perfetto_engine.load(tmp_path / "trace.pftrace")
    assert not perfetto_engine.problems()
    (failed,) = perfetto_engine.query(
        "select name from slice where extract_arg(arg_set_id, 'debug.status') = 'failed' "
        "and name = 'InjectPipeline'"
    )
    assert failed == {"name": "InjectPipeline"}


def test_traces_alone_open_in_old_engines_as_one_archive(
    perfetto_engine: Engine, tmp_path: Path
) -> None:
    """An engine that does not pass by what is hidden refuses a bundle; without it, it loads."""
    for name in ("a", "b"):
        files.write(with_start(), tmp_path / f"{name}.pftrace")
    paths = [str(tmp_path / f"{name}.pftrace") for name in ("a", "b")]
    assert main(["bundle", *paths, "-o", str(tmp_path / "r.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        for name in ("base.pftrace", "new.pftrace"):
            archive.extract(name, tmp_path)
            perfetto_engine.load(tmp_path / name)
            assert not perfetto_engine.problems()
