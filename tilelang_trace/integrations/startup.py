"""Starts recording in a Python process, when the interpreter starts and the environment asks for
it.

The file `tilelang_trace.pth`, installed beside the package, imports this module when
`TILELANG_TRACE_JOURNAL` is set: `tilelang-trace run` sets it for the script, and the processes that
this one starts inherit it. As little as possible happens here: until TVM is imported there is
nothing to record.
"""

from __future__ import annotations

import os
import sys


def start() -> None:
    """Watch for TVM's import, and record from then on into the folder of the environment."""
    from tilelang_trace.recording import import_watch

    if "tvm" in sys.modules:
        _record()
    else:
        import_watch.when_imported("tvm", _record)
        # TileLang imports TVM while it is itself imported: its end is awaited from its beginning.
        import_watch.when_imported("tilelang", lambda: None)


def _record() -> None:
    import atexit
    from pathlib import Path

    from tilelang_trace.recording import hooks
    from tilelang_trace.recording.recorder import Recording

    recording = Recording(Path(os.environ["TILELANG_TRACE_JOURNAL"]))
    hooks.start(recording)
    atexit.register(recording.close)


try:
    start()
except Exception as error:
    # Somebody's program is starting: whatever is wrong here must not keep it from running.
    print(f"tilelang-trace: nothing is recorded: {type(error).__name__}: {error}", file=sys.stderr)
