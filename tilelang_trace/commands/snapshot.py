"""`tilelang-trace snapshot OUT|PID`: what a compile that still runs has done so far."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "target",
        metavar="OUT|PID",
        help="the output of the recording, or its folder OUT.journal; on Linux also the process "
        "that records, or one that has started it",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, in the format of its name (beside mlp.pftrace, "
        "mlp.snapshot.pftrace if not given)",
    )


def run(options: argparse.Namespace) -> int:
    """Write the snapshot and print where each thread is."""
    from tilelang_trace.recording.live import snapshot

    taken = snapshot.take(options.target, options.output)
    for line in taken.where or ("no pass is running now",):
        print(f"tilelang-trace: {line}", file=sys.stderr)
    print(f"tilelang-trace: wrote {taken.path}", file=sys.stderr)
    return 0
