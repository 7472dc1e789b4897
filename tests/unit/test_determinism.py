"""`launcher.run(deterministic=True)`: what the script gets, and what is said where it can't be."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.launch import determinism, launcher

SCRIPT = """
import os, subprocess, sys
ask = "print(hash('text'), id(object()))"
print(hash("text"), open("/proc/self/maps").read().split("-")[0], file=open("seen", "a"))
child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
print(child.stdout, file=open("seen", "a"))
"""


def seen(folder: Path, *, deterministic: bool) -> list[str]:
    """What two runs of a script, and the processes that they start, see of hashes and addresses."""
    (folder / "script.py").write_text(SCRIPT)
    found = []
    for number in range(2):
        journals = JournalFolder(folder / f"{number}.pftrace")
        _, code = launcher.run(["script.py"], "x", journals, deterministic=deterministic)
        assert code == 0
        found.append((folder / "seen").read_text())
        (folder / "seen").unlink()
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="addresses can be fixed on Linux only")
def test_hashes_and_addresses_are_the_same_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    with determinism.fixed_addresses() as possible:
        if not possible:
            pytest.skip("this system forbids it")
    one, other = seen(tmp_path, deterministic=True)
    assert one == other
    one, other = seen(tmp_path, deterministic=False)
    assert one != other


@pytest.mark.skipif(sys.platform != "linux", reason="addresses can be fixed on Linux only")
def test_the_process_that_asks_stays_as_it_is() -> None:
    own = Path("/proc/self/personality")
    before = own.read_text()
    with determinism.fixed_addresses() as possible:
        if not possible:
            pytest.skip("this system forbids it")
        assert int(own.read_text(), 16) == int(before, 16) | 0x0040000
    assert own.read_text() == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
def test_where_it_is_forbidden_one_line_says_so_and_the_script_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    number: int,
) -> None:
    def forbidden(value: int) -> int:
        raise OSError(number, "not here")

    monkeypatch.setattr(determinism, "_personality", forbidden)
    (tmp_path / "script.py").write_text("import sys; sys.exit(hash('text') % 100)")
    codes = []
    for name in ("a", "b"):
        journals = JournalFolder(tmp_path / f"{name}.pftrace")
        command = [str(tmp_path / "script.py")]
        codes.append(launcher.run(command, "x", journals, deterministic=True)[1])
    assert codes[0] == codes[1]  # the hash seed needs nobody's permission
    said = "tilelang-trace: addresses are not fixed, the IR may differ from run to run: not here\n"
    assert capfd.readouterr().err == said * 2
