"""How processes find the recording that they belong to. No TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_trace.recording import environment, facts
from tilelang_trace.recording.folder import JournalFolder
from tilelang_trace.recording.journal import Journal
from tilelang_trace.recording.tree import Tree, folder_of, new_tree, runs


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours is set, and none stays."""
    for name in (environment.OUTPUT, environment.FIRST, environment.JOURNALS):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_the_first_process_that_sees_the_output_begins_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.tree() is None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(environment.OUTPUT, "sub:folder/out.json")
    first = environment.tree()
    assert first is not None
    assert (first.first, first.output) == (os.getpid(), str(tmp_path / "sub:folder" / "out.json"))
    monkeypatch.chdir("/")
    later = environment.tree()  # as a child finds it
    assert later is not None
    assert (later.identity, later.output) == (first.identity, first.output)


def test_under_a_launcher_the_output_is_the_launchers_to_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(environment.OUTPUT, "out.json")
    monkeypatch.setenv(environment.JOURNALS, "/x/out.json.journal")
    assert environment.tree() is None
    assert environment.journals() == ["/x/out.json.journal"]


def test_an_output_that_is_given_up_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.OUTPUT, "out.txt")
    assert environment.tree() is not None
    environment.give_up()
    assert environment.tree() is None


def test_recordings_that_overlap_are_announced_together() -> None:
    environment.announce("/a b/x:1.journal")
    environment.announce("/second")
    assert environment.journals() == ["/a b/x:1.journal", "/second"]
    environment.withdraw("/a b/x:1.journal")
    assert environment.journals() == ["/second"]
    environment.withdraw("/second")
    assert environment.JOURNALS not in os.environ
    environment.withdraw("/never")


def test_a_tree_shares_one_folder_and_another_tree_has_its_own(tmp_path: Path) -> None:
    ours = new_tree(str(tmp_path / "out.json.gz"))
    theirs = new_tree(str(tmp_path / "out.json.gz"))
    assert ours.identity != theirs.identity
    assert folder_of(ours) == ""
    made = JournalFolder(Path(ours.output), ours)
    other = JournalFolder(Path(theirs.output), theirs)
    assert made.output == tmp_path / "out.json.gz"
    assert other.output == tmp_path / "out.1.json.gz"
    found = JournalFolder(Path(theirs.output), theirs)
    assert (found.output, found.path) == (other.output, other.path)
    assert folder_of(ours) == str(made.path)


def test_the_folder_of_a_tree_whose_first_process_lives_is_in_use(tmp_path: Path) -> None:
    tree = new_tree(str(tmp_path / "out.json"))
    JournalFolder(Path(tree.output), tree).release()  # a child made it, and has ended
    assert JournalFolder(tmp_path / "out.json").output == tmp_path / "out.1.json"


def test_what_a_tree_that_is_gone_left_is_put_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=-1)
    tree = Tree(f"{int(gone.stdout)}.5", str(tmp_path / "out.json"))
    assert not runs(tree.first)
    JournalFolder(Path(tree.output), tree).release()
    assert JournalFolder(tmp_path / "out.json").output == tmp_path / "out.json"
    assert (tmp_path / "out.json.journal.1").is_dir()
    assert "was left by a recording that did not end" in capsys.readouterr().err


def test_journals_sort_by_the_start_of_their_process(tmp_path: Path) -> None:
    later = Journal(tmp_path, started=10**12)
    earlier = Journal(tmp_path, started=5)
    replaced = Journal(tmp_path, started=5)
    paths = sorted(path.name for path in tmp_path.iterdir())
    assert paths == [earlier.path.name, replaced.path.name, later.path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is when recording starts")
def test_a_process_started_when_the_system_says() -> None:
    code = "from tilelang_trace.recording.facts import process_start; print(process_start())"
    first, second = (
        int(subprocess.run([sys.executable, "-c", code], stdout=-1, check=True).stdout)
        for _ in range(2)
    )
    assert facts.process_start() == facts.process_start() < first < second
