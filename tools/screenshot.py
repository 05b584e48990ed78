"""The picture of a page that the README shows: `python tools/screenshot.py [page]`, after `make book`.

Opens the built page in Chromium at 1280 x 900 pixels, waits until formulas and widgets stand, and writes
`_assets/screenshot.png`. A second argument names an element to scroll to (a CSS selector).
"""

import sys

from local_site import HTML, ROOT, find_browser, launch, serve

PICTURE = ROOT / "_assets" / "screenshot.png"


def main(page="book/intro.html", selector=None):
    executable = find_browser()
    if executable is None or not (HTML / page).is_file():
        sys.exit(f"screenshot needs {HTML / page} (make book) and an installed Chromium")
    with serve() as base, launch(executable) as browser:
        tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        tab.goto(base + page, wait_until="networkidle")
        tab.wait_for_function("() => !window.MathJax || window.MathJax.startup.promise.then(() => true)")
        if selector:
            tab.locator(selector).first.scroll_into_view_if_needed()
        tab.screenshot(path=PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:3])
