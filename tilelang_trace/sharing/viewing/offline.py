"""The Perfetto UI without any network: the one that `engine.web_dist` finds."""

from __future__ import annotations

from mimetypes import MimeTypes
from pathlib import Path

from tilelang_trace.engine.errors import EngineUnavailable
from tilelang_trace.engine.web_dist import find_web_dist
from tilelang_trace.errors import UserError
from tilelang_trace.sharing.viewing.server import Content

HEADERS = {
    # The page would ask Google for a script and send it statistics: here it reaches nothing else.
    "Content-Security-Policy": "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_LEFT_OUT = ("LICENSE", "trace_processor", "service_worker.js")
"""Not parts of the page; and a service worker would outlive this server in the person's browser."""


def ui_files() -> dict[str, Content]:
    """The files of the page, by their paths below it; the page itself is "". Raises UserError."""
    folder = _folder()
    types = MimeTypes()  # by its own table: what Windows says of .js may be wrong
    found = {
        path.relative_to(folder).as_posix(): Content(
            types.guess_type(path.name)[0] or "application/octet-stream", path
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).as_posix() not in _LEFT_OUT
    }
    found[""] = found["index.html"]
    return found


def _folder() -> Path:
    try:
        index = find_web_dist() / "index.html"
    except EngineUnavailable:
        index = None
    if index is None or not index.is_file():
        raise UserError(
            "--offline: there is no Perfetto UI here; to install one: "
            "pip install 'tilelang-trace[offline]'"
        )
    return index.parent
