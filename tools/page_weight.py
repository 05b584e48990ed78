"""What a first visit to each page downloads, compressed: `python tools/page_weight.py`, after `make book`.

Every file the page requests counts once, at its gzip size (level 6, what web servers use) or its plain size
where gzip does not help (fonts, pictures). Needs Chromium. Writes `_build/page_weight.json`:
{page: {"total_kB": ..., "files": {path: kB}}}, with 1 kB = 1000 bytes.
"""

import gzip
import json
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from local_site import HTML, find_browser, launch, serve

REPORT = HTML.parent / "page_weight.json"
TOP = 6


def compressed_bytes(path):
    """Bytes a gzip-compressing server sends for a file."""
    raw = path.read_bytes()
    return min(len(raw), len(gzip.compress(raw, compresslevel=6)))


def requested_files(browser, base, page):
    """Files of the book that a browser with an empty cache requests for `page`, until the network is idle."""
    context = browser.new_context()
    try:
        tab = context.new_page()
        urls = []
        tab.on("request", lambda request: urls.append(request.url))
        tab.goto(base + page, wait_until="networkidle")
        tab.wait_for_timeout(300)
    finally:
        context.close()
    prefix = urlsplit(base).path
    paths = {unquote(urlsplit(url).path).removeprefix(prefix) for url in urls if url.startswith(base)}
    return sorted(path for path in paths if (HTML / path).is_file())


def measure(browser, base, pages):
    """Page weights as `REPORT` holds them."""
    weights = {}
    for page in pages:
        sizes = {path: compressed_bytes(HTML / path) / 1000 for path in requested_files(browser, base, page)}
        files = dict(sorted(sizes.items(), key=lambda item: -item[1]))
        weights[page] = {
            "total_kB": round(sum(files.values()), 1),
            "files": {path: round(kB, 1) for path, kB in files.items()},
        }
    return weights


def site_sizes():
    """MB of the built book as it lies on a server: without Jupyter in the browser, and of that Jupyter alone."""
    sizes = {path: path.stat().st_size / 1e6 for path in HTML.rglob("*") if path.is_file()}
    lite = sum(size for path, size in sizes.items() if HTML / "lite" in path.parents)
    return sum(sizes.values()) - lite, lite


def site_summary():
    """One line with both sizes."""
    return "whole site: {:.1f} MB, and {:.1f} MB for Jupyter in the browser".format(*site_sizes())


def write_report(weights):
    REPORT.write_text(json.dumps(weights, indent=1) + "\n")


def summary(weights):
    """One line a page: the total, then what takes most of it."""
    lines = []
    for page, weight in weights.items():
        heaviest = [f"{Path(path).name} {kB:.0f}" for path, kB in list(weight["files"].items())[:TOP]]
        lines.append(f"{page}: {weight['total_kB']:.0f} kB ({', '.join(heaviest)})")
    return "\n".join(lines)


def main():
    executable = find_browser()
    if executable is None or not HTML.is_dir():
        sys.exit("page_weight needs the built book (make book) and an installed Chromium")
    pages = [path.relative_to(HTML).as_posix() for path in sorted((HTML / "book").glob("*.html"))]
    with serve() as base, launch(executable) as browser:
        weights = measure(browser, base, pages)
    write_report(weights)
    print(summary(weights))
    print(site_summary())


if __name__ == "__main__":
    main()
