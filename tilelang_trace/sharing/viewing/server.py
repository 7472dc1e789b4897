"""Gives files to one page in a browser on this machine, and to nobody else.

Whatever runs on this machine can connect to 127.0.0.1, and any page that a browser shows can try
to, so a request is answered only if all of this is so:

- it names this server as its host, so it did not come by a name that somebody pointed here (DNS
  rebinding);
- its path is exactly that of a file which is served: a random one, which only the page is told;
- it comes from the page's origin, and the answer is for that origin only (CORS).

There are only these files, found by name in a table, never on the disk by a path. A request has to
come within some seconds and be small, a connection is good for one request, and there are only so
many at once: whoever connects, this process neither hangs nor grows.
"""

from __future__ import annotations

import os
import secrets
import socketserver
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

LOOPBACK = "127.0.0.1"
PORT = 9001
"""The only port from which ui.perfetto.dev may fetch, by its Content-Security-Policy."""

_REQUEST_S = 10.0
_STALL_S = 30.0
"""How long a request may take to come, and a client to take the next piece of an answer."""
_MOST_HEAD = 64 << 10
"""Bytes of a request: cookies of other servers on this machine come along."""
_MOST_CONNECTIONS = 64
_PIECE = 1 << 20


@dataclass(frozen=True)
class Content:
    """A file that is served."""

    type: str
    data: bytes | Path
    is_trace: bool = False

    def read(self) -> bytes:
        """Its bytes."""
        return self.data.read_bytes() if isinstance(self.data, Path) else self.data


@dataclass(frozen=True)
class Site:
    """What is served, and to whom."""

    files: Mapping[str, Content]
    """By path, below a folder of a random name (`Server.folder`)."""
    origin: str | None
    """The origin of the page; None if the page itself is served here."""
    ends: bool
    """Whether all is done when the page has the trace."""
    idle_s: float
    """It ends when nobody has asked for a file for so long."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """For all answers."""


class Server(ThreadingHTTPServer):
    """Serves a site on 127.0.0.1. Raises OSError if the port is taken (0: any port)."""

    daemon_threads = True
    timeout = 0.5
    allow_reuse_address = os.name == "posix"  # elsewhere, two servers could share a port

    def __init__(self, site: Site, port: int = PORT) -> None:
        self.site = site
        self.folder = f"/{secrets.token_urlsafe(16)}"
        self.files = {f"{self.folder}/{name}": content for name, content in site.files.items()}
        self.is_fetched = False
        """Whether a page has got the whole trace."""
        self._free = BoundedSemaphore(_MOST_CONNECTIONS)
        self._ends_at = time.monotonic() + site.idle_s
        super().__init__((LOOPBACK, port), _Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """The address of the folder with the files."""
        return f"http://{LOOPBACK}:{self.server_port}{self.folder}"

    def serve(self) -> bool:
        """Serve until it ends (see `Site`), in this thread. Returns whether a page has the trace;
        Ctrl-C is a KeyboardInterrupt.
        """
        while not (self.is_fetched and self.site.ends) and time.monotonic() < self._ends_at:
            self.handle_request()  # or none within `timeout`
        return self.is_fetched

    def server_bind(self) -> None:
        """Bind, without asking the network for this machine's name as the base class does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def asked(self) -> None:
        """Somebody who may has asked for a file."""
        self._ends_at = time.monotonic() + self.site.idle_s

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The work of such a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no error of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request. (HTTP/1.0, which is the base class's default: a connection ends with it.)"""

    server: Server
    server_version, sys_version = "tilelang-trace", ""

    def setup(self) -> None:
        """Take the whole head of the request; what is too slow or too large gets no answer."""
        super().setup()
        self.rfile = BytesIO(self._head())

    def _head(self) -> bytes:
        head = b""
        end = time.monotonic() + _REQUEST_S
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            left = end - time.monotonic()
            if left <= 0 or len(head) >= _MOST_HEAD:
                return b""
            self.connection.settimeout(left)
            try:
                piece = self.connection.recv(_MOST_HEAD - len(head))
            except OSError:
                return b""
            if not piece:
                return b""
            head += piece
        return head

    def do_GET(self) -> None:
        """A file."""
        content = self._asked_for()
        if content is None:
            return
        data = memoryview(content.read())
        self._begin(HTTPStatus.OK, content.type, len(data))
        for start in range(0, len(data), _PIECE):
            self.connection.settimeout(_STALL_S)
            self.connection.sendall(data[start : start + _PIECE])
        if content.is_trace:
            self.server.is_fetched = True

    def do_HEAD(self) -> None:
        """Only what stands before a file."""
        content = self._asked_for()
        if content is not None:
            self._begin(HTTPStatus.OK, content.type, len(content.read()))

    def do_OPTIONS(self) -> None:
        """A browser asks before the page's request whether that may be sent. (Chrome's older rules
        for local servers, Private Network Access; the newer ones ask the person instead.)
        """
        if self._asked_for() is None:
            return
        self.send_response(HTTPStatus.NO_CONTENT)
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD")
        if self.headers.get("Access-Control-Request-Private-Network") == "true":
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    def _asked_for(self) -> Content | None:
        """The file that is asked for; None if the request was refused."""
        site = self.server.site
        host = self.headers.get_all("Host", [])
        if len(host) != 1 or host[0].lower() not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN, "Not by this name")
            return None
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        origin = self.headers.get_all("Origin", [])
        if origin not in ([[site.origin]] if site.origin else [[], [f"http://{host[0]}"]]):
            self.send_error(HTTPStatus.FORBIDDEN, "Not from there")
            return None
        self.server.asked()
        return content

    def _begin(self, status: HTTPStatus, kind: str, size: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def end_headers(self) -> None:
        """Add what all answers say."""
        site = self.server.site
        if site.origin:
            # Also on what is refused: whoever else sent that can't read it, by this very header.
            self.send_header("Access-Control-Allow-Origin", site.origin)
        self.send_header("Vary", "Origin")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        for name, value in site.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: it would stand in the person's terminal."""
