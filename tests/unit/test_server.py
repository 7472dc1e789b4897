"""The server of `open`, asked by its page, and attacked by everybody else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tilelang_trace.sharing.viewing import server as module
from tilelang_trace.sharing.viewing.server import Content, Server, Site

PAGE = "https://ui.perfetto.dev"
TRACE = bytes(range(256)) * 20_000  # 5 MB: more than a socket holds


@contextmanager
def serving(
    *, origin: str | None = PAGE, ends: bool = False, idle_s: float = 60.0
) -> Iterator[Server]:
    files = {
        "x.pftrace": Content("application/octet-stream", TRACE, is_trace=True),
        "": Content("text/html", b"<p>page"),
        "ui/code.js": Content("text/javascript", Path(__file__)),
    }
    with Server(Site(files, origin, ends=ends, idle_s=idle_s), port=0) as server:
        server.timeout = 0.01
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.asked = lambda: None  # type: ignore[method-assign]
            server._ends_at = 0.0
            thread.join(5)
            assert not thread.is_alive()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def raw(server: Server, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        client.sendall(request)
        answer = b""
        try:
            while piece := client.recv(1 << 16):
                answer += piece
        except ConnectionResetError:
            pass  # it has not read all that it was sent
        return answer


def ask(
    server: Server,
    method: str = "GET",
    path: str = "",
    *,
    host: str | None = None,
    origin: str | None = PAGE,
    more: str = "",
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    path = path or f"{server.folder}/x.pftrace"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{server.server_port}'}"]
    lines += [f"Origin: {origin}"] if origin else []
    answer = raw(server, ("\r\n".join(lines) + f"\r\n{more}\r\n").encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *headers = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in headers), body


def test_the_page_gets_the_trace(server: Server) -> None:
    status, headers, body = ask(server)
    assert (status, body) == (200, TRACE)
    assert headers["Access-Control-Allow-Origin"] == PAGE
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Length"] == str(len(TRACE))


def test_localhost_is_this_server_too(server: Server) -> None:
    assert ask(server, host=f"localhost:{server.server_port}")[0] == 200


def test_head_has_no_body_and_ends_nothing(server: Server) -> None:
    status, headers, body = ask(server, "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(TRACE)))
    assert not server.is_fetched


def test_a_part_is_not_to_be_had(server: Server) -> None:
    assert ask(server, more="Range: bytes=0-9\r\n")[::2] == (200, TRACE)


def test_a_browser_may_ask_first(server: Server) -> None:
    asked = "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n"
    status, headers, _ = ask(server, "OPTIONS", more=asked)
    assert status == 204
    assert headers["Access-Control-Allow-Origin"] == PAGE
    assert headers["Access-Control-Allow-Methods"] == "GET, HEAD"
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert ask(server, "OPTIONS", origin="https://evil.example", more=asked)[0] == 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://ui.perfetto.dev",
        "https://ui.perfetto.dev.evil.example",
        "https://ui.perfetto.dev:8443",
        "HTTPS://UI.PERFETTO.DEV",
        "null",
        f"{PAGE}\r\nOrigin: https://evil.example",
        None,
    ],
)
def test_another_origin_is_refused(server: Server, origin: str | None) -> None:
    status, _, body = ask(server, origin=origin)
    assert status == 403
    assert TRACE[:100] not in body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "127.0.0.1:{port}\r\nHost: evil.example",
        " ",
    ],
)
def test_another_name_for_this_machine_is_refused(server: Server, host: str) -> None:
    assert ask(server, host=host.format(port=server.server_port))[0] == 403


def test_a_request_without_a_host_is_refused(server: Server) -> None:
    path = f"{server.folder}/x.pftrace"
    assert b" 403 " in raw(server, f"GET {path} HTTP/1.0\r\nOrigin: {PAGE}\r\n\r\n".encode())
    assert TRACE[:100] not in raw(server, f"GET {path}\r\n\r\n".encode())


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/x.pftrace",
        "/status",
        "{folder}",
        "{folder}/",
        "{folder}/y",
        "{folder}/x.pftrace/",
        "{folder}/x.pftrace?a=b",
        "{folder}/./x.pftrace",
        "{folder}/../../../../etc/passwd",
        "{folder}/ui/../x.pftrace",
        "{folder}/%2e%2e/%2e%2e/etc/passwd",
        "{folder}/x.pftrace%00",
        "//etc/passwd",
        "http://127.0.0.1{folder}/x.pftrace",
        "*",
    ],
)
def test_there_is_no_other_path(path: str) -> None:
    with serving() as server:
        server.files.pop(f"{server.folder}/")
        assert ask(server, path=path.format(folder=server.folder))[0] == 404


def test_the_folder_is_random() -> None:
    with serving() as one, serving() as other:
        assert one.folder != other.folder
        assert len(one.folder) > 20


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE", "get"])
def test_there_is_no_other_method(server: Server, method: str) -> None:
    status, _, body = ask(server, method, more="Content-Length: 5\r\n")
    assert status == 501
    assert TRACE[:100] not in body


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"",
    ],
)
def test_what_is_no_request_or_too_large_does_no_harm(server: Server, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        try:
            client.sendall(request_)
            client.shutdown(socket.SHUT_WR)
            assert TRACE[:100] not in client.recv(1 << 16)
        except OSError:
            pass  # it has closed the connection already
    assert ask(server)[0] == 200


def test_many_headers_are_refused(server: Server) -> None:
    assert ask(server, more="X: y\r\n" * 200)[0] == 431


def test_a_slow_client_is_dropped_and_holds_up_nobody(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as slow:
        slow.sendall(b"GET / HT")
        assert ask(server)[0] == 200
        assert slow.recv(10) == b""


def test_a_client_that_takes_nothing_is_dropped(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STALL_S", 0.2)
    request = f"GET {server.folder}/x.pftrace HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(f"{request}Origin: {PAGE}\r\n\r\n".encode())
        assert lazy.recv(1) == b"H"
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join(5)
                assert not thread.is_alive()
    assert not server.is_fetched


def test_a_connection_is_good_for_one_request(server: Server) -> None:
    request = f"HEAD {server.folder}/x.pftrace HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    twice = f"{request}Origin: {PAGE}\r\nConnection: keep-alive\r\n\r\n".encode() * 2
    assert raw(server, twice).count(b"200 OK") == 1


def test_two_at_once(server: Server) -> None:
    bodies: list[bytes] = []
    threads = [threading.Thread(target=lambda: bodies.append(ask(server)[2])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert bodies == [TRACE] * 8


def test_more_connections_than_it_takes_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CONNECTIONS", 2)
    with serving() as server:
        address = ("127.0.0.1", server.server_port)
        idle = [socket.create_connection(address, timeout=5) for _ in range(2)]
        with socket.create_connection(address, timeout=5) as third:
            assert third.recv(1) == b""
        for client in idle:
            client.close()
        while not server._free.acquire(timeout=5):
            pass
        server._free.release()
        assert ask(server)[0] == 200


def test_it_ends_when_the_page_has_the_trace() -> None:
    with Server(
        Site({"x": Content("a/b", TRACE, is_trace=True)}, PAGE, ends=True, idle_s=60.0), port=0
    ) as server:
        asking = threading.Thread(target=lambda: ask(server, path=f"{server.folder}/x"))
        asking.start()
        assert server.serve() is True
        asking.join(5)


def test_it_ends_when_nobody_asks() -> None:
    with Server(Site({}, PAGE, ends=True, idle_s=0.0), port=0) as server:
        assert server.serve() is False


def test_it_listens_on_the_loopback_only(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


class TestWithThePageToo:
    """As for `--offline`: the page is served here, and its requests have no Origin."""

    @pytest.fixture
    def server(self) -> Iterator[Server]:
        with serving(origin=None) as running:
            yield running

    def test_the_page_and_its_parts(self, server: Server) -> None:
        status, headers, body = ask(server, path=f"{server.folder}/", origin=None)
        assert (status, headers["Content-Type"], body) == (200, "text/html", b"<p>page")
        assert "Access-Control-Allow-Origin" not in headers
        body = ask(server, path=f"{server.folder}/ui/code.js", origin=None)[2]
        assert body == Path(__file__).read_bytes()
        assert ask(server, origin=f"http://127.0.0.1:{server.server_port}")[::2] == (200, TRACE)

    @pytest.mark.parametrize("origin", [PAGE, "https://evil.example", "http://127.0.0.1", "null"])
    def test_other_origins_are_refused(self, server: Server, origin: str) -> None:
        assert ask(server, origin=origin)[0] == 403
        assert ask(server, "OPTIONS", origin=origin)[0] == 403

    def test_other_names_are_refused(self, server: Server) -> None:
        assert ask(server, host="evil.example", origin=None)[0] == 403
