"""The real Perfetto UI with one trace in it, in a headless Chromium without any network.

    with PerfettoUI("run.pftrace") as ui:
        ui.expand_all()
        ui.select("FlattenBuffer")
        assert "debug.error.type" in ui.details()
        ui.screenshot("run.png")

Where the page alone does not tell what is on screen, `window.app` does: the object that Perfetto's
own UI tests use. Waiting means asking the page until it is at rest: the function that Perfetto has
for this may take minutes in a headless browser.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, final
from urllib.parse import quote, unquote, urlsplit

from tilelang_trace.engine.errors import EngineUnavailable, TimeLimitExceeded, TraceRefused
from tilelang_trace.engine.web_dist import find_bundle, find_web_dist

CHROMIUM_FLAGS = (
    "--no-sandbox",  # containers seldom allow it, and every page here is our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
)

ONLINE = "https://ui.perfetto.dev/"

DIALOG = ".pf-modal-dialog"
# Icons are words in a font of pictures, "arrow_drop_down" for one: no part of the text.
DETAILS = """() => {
    const panel = document.querySelector('.pf-details-shell, .pf-split-panel__drawer');
    const icons = [...panel?.querySelectorAll('i') ?? []];
    icons.forEach((icon) => { icon.style.display = 'none'; });
    const text = panel?.innerText ?? '';
    icons.forEach((icon) => { icon.style.display = ''; });
    return text;
}"""

# What keeps the page from being at rest, as a list of words; an empty list means that it is.
BUSY = """() => {
    const trace = window.app?.trace;
    if (!trace || window.app.isLoadingTrace) return ['loading'];
    const endless = (a) => a.effect.getComputedTiming().iterations === Infinity;
    const moving = (a) => a.playState === 'running' && !endless(a);
    return [
        trace.engine.numRequestsPending && 'engine',
        trace.search.searchInProgress && 'search',
        window.raf.hasPendingRedraws && 'drawing',
        document.getAnimations().some(moving) && 'animation',
    ].filter(Boolean);
}"""

QUERY = """async (sql) => {
    const result = await window.app.trace.engine.query(sql);
    const rows = [];
    for (const it = result.iter({}); it.valid(); it.next()) {
        const plain = (value) => typeof value === 'bigint' ? Number(value) : value;
        rows.push(Object.fromEntries(result.columns().map((c) => [c, plain(it.get(c))])));
    }
    return rows;
}"""

TRACKS = """() => {
    const names = [];
    const walk = (node, depth) => {
        for (const child of node.children) {
            if (!child.headless) names.push('  '.repeat(depth) + child.name);
            if (!child.collapsed) walk(child, child.headless ? depth : depth + 1);
        }
    };
    walk(window.app.trace.currentWorkspace ?? window.app.trace.workspace, 0);
    return names;
}"""

SELECT = """(id) => window.app.trace.selection.selectSqlEvent(
    'slice', id, {switchToCurrentSelectionTab: true, scrollToSelection: true})"""


@final
class PerfettoUI:
    """The UI with one trace in it; TraceRefused if the UI shows an error dialog instead.

    Instead of a trace it takes the address of a page of the UI that opens one: on this machine,
    where only that server is reached, or at https://ui.perfetto.dev, for which the UI's files on
    this machine stand in.
    """

    def __init__(
        self,
        trace: str | os.PathLike[str] | None = None,
        *,
        address: str = "",
        server: str = "",
        size: tuple[int, int] = (1600, 900),
        time_limit: float = 120.0,
    ) -> None:
        self.trace = Path(trace).resolve(strict=True) if trace is not None else None
        self.address = address
        self.server = server  # of the trace, if that is not at the address of the page
        self.size = size
        self.time_limit = time_limit  # seconds for opening the trace, and for each wait after it
        self.blocked: list[str] = []  # requests to anywhere else that were not let through
        self.page: Any = None
        self._resources = ExitStack()

    def __enter__(self) -> PerfettoUI:
        with ExitStack() as resources:
            self._open(resources)
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    # ------------------------------------------------------------------------------ to look at

    def tracks(self) -> list[str]:
        """The names in the track tree that are not folded away, indented by their depth."""
        return self.page.evaluate(TRACKS)

    def details(self) -> str:
        """The text of the panel under the tracks: all about the selected slice."""
        return self.page.evaluate(DETAILS)

    def import_errors(self) -> int:
        """How many errors the UI itself counts, and shows in red beside its search box."""
        return self.page.evaluate(
            "() => Number(window.app.trace.traceInfo.importErrors)"
            " + window.app.trace.loadingErrors.length"
        )

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Rows from the UI's own engine; integers beyond 2**53 are not exact."""
        return self.page.evaluate(QUERY, sql)

    def screenshot(self, png: str | os.PathLike[str]) -> Path:
        """Writes what is on screen to a PNG file."""
        self.wait()
        self.page.screenshot(path=png)
        return Path(png)

    # ---------------------------------------------------------------------------------- to do

    def expand_all(self) -> None:
        """Unfolds every group of tracks."""
        self.command("dev.perfetto.ExpandAllGroups")

    def command(self, name: str, *arguments: Any) -> None:
        """Runs one of the commands that the UI offers after a `>` in its search box."""
        self.page.evaluate(
            "([name, args]) => window.app.commands.runCommand(name, ...args)",
            [name, list(arguments)],
        )
        self.wait()

    def select(self, name: str, *, nth: int = 0) -> int:
        """Selects the nth slice of this name in time, zooms to it, and returns its SQL id."""
        quoted = name.replace("'", "''")
        rows = self.query(f"select id from slice where name = '{quoted}' order by ts, id")
        if nth >= len(rows):
            raise LookupError(f"{len(rows)} slices are named {name!r}: there is no number {nth}")
        self.page.evaluate(SELECT, rows[nth]["id"])
        self.page.wait_for_function(
            "() => window.app.trace.selection.selection.kind === 'track_event'"
        )
        self.command("dev.perfetto.FocusSelection")
        return rows[nth]["id"]

    def click(self, text: str) -> None:
        """Clicks on what shows exactly this text, for example the name of a track."""
        self.page.get_by_text(text, exact=True).first.click()
        self.wait()

    def search(self, text: str) -> int:
        """Types into the search box, presses Enter, and returns how many hits the UI counts."""
        box = self.page.locator(".pf-omnibox input")
        box.fill(text)
        self.wait()  # until it is drawn, Enter would search for the text before it
        box.press("Enter")
        self.wait()
        return self.page.evaluate("() => window.app.trace.search.searchResults?.totalResults ?? 0")

    def wait(self, rest: float = 0.3) -> None:
        """Waits until the page has been at rest for some time."""
        end = time.monotonic() + self.time_limit
        at_rest_since = None
        while True:
            busy = self.page.evaluate(BUSY)
            now = time.monotonic()
            if busy:
                at_rest_since = None
            elif at_rest_since is None:
                at_rest_since = now
            elif now - at_rest_since >= rest:
                return
            if now > end:
                raise TimeLimitExceeded(f"the UI is busy after {self.time_limit} s: {busy}")
            time.sleep(0.05)

    # -------------------------------------------------------------------------------- to open

    def _open(self, resources: ExitStack) -> None:
        named = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = shutil.which(named)
        if browser is None:
            raise EngineUnavailable(f"there is no browser {named}")
        try:
            from playwright.sync_api import sync_playwright
        except ImportError as error:
            raise EngineUnavailable(f"playwright cannot be imported: {error}") from None

        find_bundle()  # an empty folder would be served too, and the page never come
        served = self.address or self._serve(resources)
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(served))
        allowed = (f"{origin}/", "blob:", "data:", *([f"{self.server}/"] if self.server else []))
        launcher = resources.enter_context(sync_playwright()).chromium
        chromium = launcher.launch(executable_path=browser, args=list(CHROMIUM_FLAGS))
        resources.callback(chromium.close)
        width, height = self.size
        # A service worker would make requests of its own, past the gate below.
        context = chromium.new_context(
            viewport={"width": width, "height": height}, service_workers="block"
        )
        if self.server:  # what Chrome asks the person when a page fetches from their own machine
            context.grant_permissions(["local-network-access"], origin=ONLINE)

        # Among what the UI asks for is a native engine on port 9001, which a developer may have.
        def gate(route: Any) -> None:
            url = route.request.url
            if url.startswith(ONLINE):
                route.fulfill(path=find_web_dist() / (urlsplit(url).path[1:] or "index.html"))
            elif url.startswith(allowed):
                route.continue_()
            else:
                self.blocked.append(url)
                route.abort()

        context.route("**/*", gate)
        # Blocked, it gives nothing where the page expects something: so it never gets that far.
        context.add_init_script("navigator.serviceWorker.register = () => new Promise(() => {})")
        self.page = context.new_page()
        self.page.set_default_timeout(self.time_limit * 1000)
        self.page.goto(served)
        self._wait_for_trace()

    def _wait_for_trace(self) -> None:
        from playwright.sync_api import TimeoutError as Late

        try:
            self.page.wait_for_function(
                f"() => document.querySelector('{DIALOG}')"
                " || (window.app?.trace && !window.app.isLoadingTrace)"
            )
        except Late:
            raise TimeLimitExceeded(f"the UI loads no trace in {self.time_limit} s") from None
        if not self.page.evaluate("() => Boolean(window.app.trace)"):
            raise TraceRefused(self.page.locator(DIALOG).inner_text())
        self.wait()

    def _serve(self, resources: ExitStack) -> str:
        """Serves the UI and the trace on loopback, and returns the address of the page with it."""
        assert self.trace is not None
        handler = functools.partial(_Handler, self.trace, directory=str(find_web_dist()))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        resources.callback(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        resources.callback(server.shutdown)
        origin = f"http://127.0.0.1:{server.server_port}"
        trace_url = f"{origin}/trace/{quote(self.trace.name)}"
        return f"{origin}/#!/?url={quote(trace_url, safe='')}&hideSidebar=true"


class _Handler(http.server.SimpleHTTPRequestHandler):
    """The files of one folder, and one trace under /trace/."""

    def __init__(self, trace: Path, *args: Any, directory: str) -> None:
        self.trace = trace
        super().__init__(*args, directory=directory)

    def translate_path(self, path: str) -> str:
        if unquote(urlsplit(path).path) == f"/trace/{self.trace.name}":
            return str(self.trace)
        return super().translate_path(path)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the tests' output clean."""
