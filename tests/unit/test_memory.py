"""What is read of the memory of a process that was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_trace.recording.death import memory

V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"
V2 = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 5\noom_group_kill 0\n"


@pytest.mark.parametrize(
    ("membership", "files", "kills"),
    [
        ("0::/a.slice/b.scope\n", {"a.slice/b.scope/memory.events": V2}, 5),
        ("0::/\n", {"memory.events": V2}, 5),
        ("4:cpu,memory:/docker/12:3\n0::/\n", {"memory/docker/12:3/memory.oom_control": V1}, 3),
        ("4:memory:/docker/123\n", {"memory/memory.oom_control": V1}, 3),
        ("4:cpuset:/x\n0::/a\n", {"a/cpu.stat": "oom_kill 4\n"}, 0),
        ("0::/a\n", {"a/memory.events": "low 0\n"}, 0),
        (None, {}, 0),
    ],
)
def test_the_systems_counter_of_kills(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    membership: str | None,
    files: dict[str, str],
    kills: int,
) -> None:
    monkeypatch.setattr(memory, "_MOUNT", tmp_path)
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "membership")
    if membership is not None:
        (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory.kills() == kills


def test_the_peak_of_a_child_that_has_ended() -> None:
    subprocess.run([sys.executable, "-c", "b'x' * 200_000_000"], check=True)
    assert 200e6 < memory.peak_of_children() < 2e9


@pytest.mark.parametrize(
    ("count", "text"), [(999_400, "1 MB"), (512_000_000, "512 MB"), (23_140_000_000, "23.1 GB")]
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert memory.size(count) == text
