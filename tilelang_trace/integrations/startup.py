"""Starts recording in a Python process, when the interpreter starts and the environment asks for
it.

The file `tilelang_trace.pth`, installed beside the package, imports this module when one of the
variables of `recording.environment` is set. As little as possible happens here: until TVM is
imported there is nothing to record, and no folder is made.
"""

from __future__ import annotations

import atexit
import os
import sys

from tilelang_trace.recording import environment
from tilelang_trace.recording.tree import folder_of, runs

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all of this
if TYPE_CHECKING:
    from tilelang_trace.recording.folder import JournalFolder
    from tilelang_trace.recording.recorder import Recording
    from tilelang_trace.recording.tree import Tree

_recordings: list[Recording] = []


def start() -> None:
    """Watch for TVM's import, and record from then on into the folders of the environment."""
    from tilelang_trace.recording.hooks import import_watch

    environment.tree()
    # Registered before anybody else's, so called after them: what they compile is still recorded.
    atexit.register(_finish)
    if "tvm" in sys.modules:
        _record()
    else:
        import_watch.when_imported("tvm", _record)
        # TileLang imports TVM while it is itself imported: its end is awaited from its beginning.
        import_watch.when_imported("tilelang", lambda: None)


def _record() -> None:
    try:
        _record_from_now_on()
    except Exception as error:
        _say(error)


def _record_from_now_on() -> None:
    from pathlib import Path

    from tilelang_trace.recording.hooks import tvm as hooks
    from tilelang_trace.recording.ir_facts import mode_of_environment
    from tilelang_trace.recording.recorder import Recording

    _join_tree()
    for path in map(Path, environment.journals()):
        if path.is_dir():  # else the recording has ended before this process came so far
            recording = Recording(path, mode_of_environment())
            _recordings.append(recording)
            hooks.start(recording)


def _join_tree() -> None:
    """Announce the folder that the processes of our tree share; make it if nobody has."""
    tree = environment.tree()
    if tree is None:
        return
    if not runs(tree.first):
        # Nobody is left to write the output: this process does, for those that it starts.
        tree = environment.begin_tree(tree.output)
    from pathlib import Path

    from tilelang_trace.errors import UserError
    from tilelang_trace.formats import files
    from tilelang_trace.recording.folder import JournalFolder
    from tilelang_trace.recording.say import say

    try:
        files.check_keeps_data(tree.output)
        folder = JournalFolder(Path(tree.output), tree)
    except UserError as error:
        say(f"nothing is recorded: {environment.OUTPUT}: {error}")
        environment.give_up()
    except OSError as error:
        say(f"nothing is recorded: {tree.output}.journal can't be made: {error.strerror}")
        environment.give_up()
    else:
        _folders.append(folder)
        if str(folder.path) not in environment.journals():
            environment.announce(str(folder.path))


_folders: list[JournalFolder] = []
"""Kept, because the folder is locked as long as this process has it."""


def _finish() -> None:
    """The process ends. The first of a tree writes the output; another only if the first is gone
    and nobody is left.
    """
    try:
        for recording in _recordings:
            recording.close()
        tree = environment.tree()
        if tree is not None and folder_of(tree):
            is_first = tree.first == os.getpid()
            if is_first or not runs(tree.first):
                _write(tree, is_first)
    except Exception as error:
        _say(error)


def _write(tree: Tree, is_first: bool) -> None:
    from pathlib import Path

    from tilelang_trace.recording.finish import write_or_say
    from tilelang_trace.recording.folder import JournalFolder
    from tilelang_trace.recording.say import say
    from tilelang_trace.trace.arguments import OPEN

    journals = JournalFolder(Path(tree.output), tree)
    others_run = journals.is_written()
    if others_run and not is_first:
        return
    journals.told_of_trouble = any(recording.is_troubled for recording in _recordings)
    done = write_or_say(journals, keep_journals=True)
    if done is None:
        return
    # Nobody is waited for: the last of those that still compile writes the output once more.
    if not others_run or OPEN not in done.trace.arguments.values("status").values():
        journals.remove()
    if str(journals.output) != tree.output:
        say(f"{tree.output} was in use: wrote {journals.output}")


def _say(error: Exception) -> None:
    # This is somebody's program: whatever is wrong here must not keep it from running.
    from tilelang_trace.recording.say import say

    say(f"nothing is recorded: {type(error).__name__}: {error}")


try:
    start()
except Exception as error:
    _say(error)
