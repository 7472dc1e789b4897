"""One visit of the Perfetto UI: the file is served, the page is opened and gets it."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilelang_trace.errors import UserError
from tilelang_trace.formats.archives.together import Original
from tilelang_trace.sharing.viewing import browser
from tilelang_trace.sharing.viewing.exhibit import Exhibit, exhibit
from tilelang_trace.sharing.viewing.link import ONLINE, link
from tilelang_trace.sharing.viewing.port import holder
from tilelang_trace.sharing.viewing.server import PORT, Content, Server, Site

_WAIT_S, _OFFLINE_WAIT_S = 600.0, 3600.0
"""It ends when nobody has asked for a file for so long: the page that is never opened, and the page
of `--offline`, which may be reloaded, that was left.
"""
_BINARY = "application/octet-stream"


def begin(
    named: Mapping[str, Sequence[Original]], *, offline: bool = False, port: int | None = None
) -> Visit:
    """Get ready to show the paths that a person named, with the traces in them. Raises UserError,
    also if the port is taken.
    """
    if offline:
        from tilelang_trace.sharing.viewing.offline import HEADERS, ui_files

        files = ui_files()
        shown = exhibit(named, offline=True)
        files[f"trace/{shown.name}"] = Content(_BINARY, shown.data, is_trace=True)
        site = Site(files, None, ends=False, idle_s=_OFFLINE_WAIT_S, headers=HEADERS)
    else:
        shown = exhibit(named, offline=False)
        files = {shown.name: Content(_BINARY, shown.data, is_trace=True)}
        site = Site(files, ONLINE, ends=True, idle_s=_WAIT_S)
    return Visit(_server(site, PORT if port is None else port), shown)


def _server(site: Site, port: int) -> Server:
    try:
        return Server(site, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise UserError(f"port {port} can't be opened: {error.strerror}") from None
        needed = "which ui.perfetto.dev fetches from, " if site.origin else ""
        other = "--port N" if site.origin is None else "--offline --port N"
        who = holder(port)
        by = f" by {who}" if who else ""
        raise UserError(f"port {port}, {needed}is taken{by}: end that, or use {other}") from None


@dataclass(frozen=True)
class Visit:
    """What is served now."""

    server: Server
    shown: Exhibit

    @property
    def is_offline(self) -> bool:
        """Whether the page is served here too."""
        return self.server.site.origin is None

    @property
    def address(self) -> str:
        """The page that opens the file."""
        folder = self.server.address
        if self.is_offline:
            return link(folder, f"{folder}/trace/{self.shown.name}", self.shown.view)
        return link(ONLINE, f"{folder}/{self.shown.name}", self.shown.view)

    def told(self) -> Iterator[str]:
        """What the person should know before the page opens."""
        port = self.server.server_port
        yield f"{self.shown.name}: shows {self.shown.about}"
        if browser.is_remote():
            yield f"on your own machine, first: {browser.forwarding(port)}"
        if self.is_offline:
            yield "the Perfetto UI is served from this machine until Ctrl-C, or an hour of no use"
        else:
            yield (
                "Chrome may ask whether the page may reach your local network: allow it; Safari "
                f"refuses; dragging the file into {ONLINE} always works"
            )

    @property
    def why_ended(self) -> str:
        """What to say if no page has the trace."""
        return f"nobody has asked for it for {self.server.site.idle_s / 60:.0f} minutes"

    def serve(self) -> bool:
        """Serve until the page has the trace, or nobody asks for it any more. Returns whether a
        page has got it.
        """
        with self.server:
            return self.server.serve()
