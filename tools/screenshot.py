"""The picture of a page that the README shows: `python tools/screenshot.py [page [selector]]`, after `make book`.

Opens the built page in Chromium at 1280 x 1160 pixels, waits until formulas and widgets stand, scrolls to the element
that the CSS selector names, and writes `_assets/screenshot.png`.
"""

import sys

from local_site import HTML, ROOT, find_browser, launch, serve
from PIL import Image

PICTURE = ROOT / "_assets" / "screenshot.png"


def main(page="book/token_selection.html", selector="#drag-a-token"):
    executable = find_browser()
    if executable is None or not (HTML / page).is_file():
        sys.exit(f"screenshot needs {HTML / page} (make book) and an installed Chromium")
    with serve() as base, launch(executable) as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 1160}, color_scheme="light")
        tab.goto(base + page, wait_until="networkidle")
        tab.wait_for_function("() => !window.MathJax || window.MathJax.startup.promise.then(() => true)")
        tab.wait_for_function("() => !document.querySelector('.ex-root[data-ready=false]')")
        tab.locator(selector).first.evaluate("e => e.scrollIntoView({behavior: 'instant'})")
        tab.screenshot(path=PICTURE)
    Image.open(PICTURE).convert("RGB").quantize(128).save(PICTURE, optimize=True)  # a third of the bytes
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:3])
