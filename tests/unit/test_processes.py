"""What a process has started, and which recording it has open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilelang_trace.recording import processes
from tilelang_trace.recording.journal import Journal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@pytest.fixture
def tree() -> Iterator[tuple[int, int]]:
    """A process and its child."""
    program = (
        "import subprocess; child = subprocess.Popen(['sleep', '60']); "
        "print(child.pid, flush=True); child.wait()"
    )
    parent = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    yield parent.pid, child
    for pid in (child, parent.pid):
        os.kill(pid, signal.SIGKILL)
    parent.communicate()


def test_what_a_process_has_started_is_found_down_to_the_last(tree: tuple[int, int]) -> None:
    parent, child = tree
    # This process may have started others before, and pids begin anew once they are used up.
    found = [pid for pid, _ in processes.descendants(os.getpid()) if pid in tree]
    assert found == [parent, child]
    assert [pid for pid, _ in processes.descendants(parent)] == [child]
    assert processes.descendants(child) == []


def test_a_process_runs_until_it_ends_and_pids_come_again(tree: tuple[int, int]) -> None:
    child = processes.identified(tree[1])
    assert child is not None
    assert processes.runs(child)
    assert not processes.runs((child[0], child[1] - 1)), "another process had this pid before"
    processes.send([(child[0], child[1] - 1)], signal.SIGKILL)
    time.sleep(0.05)
    assert processes.runs(child)


def test_one_that_ended_and_was_not_waited_for_does_not_run() -> None:
    child = subprocess.Popen(["true"])
    process = processes.identified(child.pid)
    assert process is not None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not processes.runs(process)
    child.wait()
    assert processes.identified(child.pid) is None


def test_the_folder_of_a_recording_is_found_by_who_has_it_open(
    tmp_path: Path, tree: tuple[int, int]
) -> None:
    folder = tmp_path / "mlp.pftrace.journal"
    folder.mkdir()
    assert folder not in processes.journal_folders(os.getpid())
    journal = Journal(folder)
    assert folder in processes.journal_folders(os.getpid())
    assert processes.journal_folders(tree[0]) == []
    journal.close()
