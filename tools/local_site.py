"""The built book on localhost and a browser to look at it, for the tests and for `tools/page_weight.py`."""

import contextlib
import functools
import http.server
import shutil
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    """Path of an installed Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, BROWSER_NAMES)), None)


@contextlib.contextmanager
def launch(executable: str):
    """A running headless browser (Playwright `Browser`), closed on leaving."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    prefix = "/"

    def translate_path(self, path):
        if not path.startswith(self.prefix):
            return str(Path(self.directory) / "no such path")
        return super().translate_path("/" + path.removeprefix(self.prefix))

    def log_message(self, format, *args):
        pass


@contextlib.contextmanager
def serve(folder: Path = HTML, prefix: str = "/"):
    """Serves `folder` on a free port of 127.0.0.1 below the path `prefix` ("/.../"); yields the base URL."""
    handler = functools.partial(type("Handler", (_QuietHandler,), {"prefix": prefix}), directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
