"""`tilelang-trace open TRACE...`: show traces in the Perfetto UI, at the place that matters."""

from __future__ import annotations

import argparse
import sys

from tilelang_trace.commands import progress
from tilelang_trace.commands.arguments import port_number
from tilelang_trace.commands.mends import tell_of_mends
from tilelang_trace.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.epilog = (
        "Exit codes: 0 the page has the trace, or Ctrl-C; 1 nobody fetched it in time; 2 bad input."
    )
    parser.add_argument(
        "traces",
        metavar="TRACE",
        nargs="+",
        help="a trace in any format, an archive of traces, or the journals of a recording; several "
        "open together, and start together",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the link (on stdout), open no browser"
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        help="show it in a Perfetto UI on this machine, without any network, until Ctrl-C: "
        "pip install 'tilelang-trace[offline]'",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        metavar="N",
        help="with --offline: the port to serve at (9001; ui.perfetto.dev takes nothing else)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve the traces until the page has them. Raises UserError."""
    if options.port is not None and not options.offline:
        raise UserError("open: --port is for --offline: ui.perfetto.dev fetches from 9001 only")
    from tilelang_trace.opening import open_originals
    from tilelang_trace.sharing.viewing import browser, visit

    with progress.shown():
        originals = {path: open_originals(path) for path in options.traces}
        visit_ = visit.begin(originals, offline=options.offline, port=options.port)
    for each in (original for several in originals.values() for original in several):
        tell_of_mends(each.path, each.trace.findings, "not as Perfetto wants them")
    del originals, each  # the page may be served for an hour
    try:
        for line in visit_.told():
            print(f"tilelang-trace: {line}", file=sys.stderr)
        if options.no_browser or not browser.has_browser():
            print(visit_.address, flush=True)
        else:
            browser.open_browser(visit_.address)
        fetched = visit_.serve()
    except KeyboardInterrupt:
        return 0
    if fetched:
        print("tilelang-trace: the page has it", file=sys.stderr)
        return 0
    print(f"tilelang-trace: {visit_.why_ended}", file=sys.stderr)
    return 1
