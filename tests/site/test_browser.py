"""The built pages in a real browser: no error, no other host, nothing too wide, typeset formulas."""

from urllib.parse import urlsplit

import pytest

WIDTHS = (1280, 360)
SCHEMES = ("light", "dark")
LOCAL_SCHEMES = {"data", "blob", "file", "about"}
MATHJAX_DONE = """() => window.MathJax?.startup?.promise
  ? window.MathJax.startup.promise.then(() => true) : !window.MathJax"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDE_ELEMENTS = """() => [...document.querySelectorAll('body *')].filter(e => {
  if (e.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return false;
  for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
    if (getComputedStyle(p).overflowX !== 'visible') return false;
  return true;
}).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""


class Visit:
    """One page opened in a fresh browser context; keeps what went wrong and what was asked for."""

    def __init__(self, browser, url, *, width=1280, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.tab = self.context.new_page()
        self.problems, self.requests = [], []
        self.tab.on("console", lambda m: m.type == "error" and self.problems.append(f"console: {m.text}"))
        self.tab.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.tab.on("requestfailed", lambda r: self.problems.append(f"failed: {r.url} {r.failure}"))
        self.tab.on("response", lambda r: r.status >= 400 and self.problems.append(f"{r.status}: {r.url}"))
        self.tab.on("request", lambda r: self.requests.append(r.url))
        self.tab.goto(url, wait_until="networkidle")
        self.tab.wait_for_function(MATHJAX_DONE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def foreign_requests(self):
        """Requests that left this machine."""
        parts = map(urlsplit, self.requests)
        return [p.geturl() for p in parts if p.scheme not in LOCAL_SCHEMES and p.hostname != "127.0.0.1"]

    def untypeset(self):
        """Formulas still shown as source, and formulas MathJax could not read."""
        return self.tab.evaluate(
            """() => [...document.querySelectorAll('article .math')]
              .filter(e => !e.querySelector('mjx-container'))
              .concat([...document.querySelectorAll('mjx-merror')]).map(e => e.textContent)"""
        )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_works_from_a_server(chromium, site_url, any_page, width, scheme):
    with Visit(chromium, site_url + any_page, width=width, scheme=scheme) as visit:
        assert not visit.problems
        assert not visit.foreign_requests()
        assert not visit.untypeset()
        assert visit.tab.evaluate("document.documentElement.dataset.theme") == scheme
        assert visit.tab.evaluate(OVERFLOW) <= 0, visit.tab.evaluate(WIDE_ELEMENTS)


def test_a_page_works_as_a_file(chromium, html, any_page):
    with Visit(chromium, (html / any_page).as_uri()) as visit:
        assert not visit.problems
        assert not visit.foreign_requests()
        assert not visit.untypeset()


def test_formulas_are_no_tab_stops(chromium, site_url, page):
    with Visit(chromium, site_url + page) as visit:
        assert visit.tab.locator("mjx-container[tabindex]:not([tabindex='-1'])").count() == 0


@pytest.mark.parametrize(("width", "view"), [(1280, "lab"), (360, "notebooks")])
def test_a_narrow_screen_opens_the_notebook_alone(chromium, html, site_url, page, width, view):
    if not (html / "lite").is_dir():
        pytest.skip("Jupyter in the browser is not built: run `make lite`, then `make book`")
    with Visit(chromium, site_url + page, width=width) as visit:
        for link in visit.tab.locator(".dropdown-launch-buttons a[href*='lite/']").all():
            address = link.evaluate("e => (e.addEventListener('click', (c) => c.preventDefault()), e.click(), e.href)")
            assert f"/lite/{view}/index.html?path=book/" in address
    assert (html / "lite" / view / "index.html").is_file()


CUT_OFF = """() => [...document.querySelectorAll('.cell_output pre')]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80))"""


@pytest.mark.parametrize("width", WIDTHS)
def test_no_printed_line_runs_out_of_its_box(chromium, site_url, page, width):
    with Visit(chromium, site_url + page, width=width) as visit:
        assert visit.tab.evaluate(CUT_OFF) == []


def test_icons_are_drawn(chromium, site_url):
    """The theme's icon script is replaced by its web font: the font arrives and an icon has a width."""
    with Visit(chromium, site_url + "book/notation.html", width=360) as visit:
        assert visit.tab.evaluate("document.fonts.check('900 16px \"Font Awesome 6 Free\"', '\\uf002')")
        box = visit.tab.locator(".fa-magnifying-glass:visible").first.bounding_box()
        assert box["width"] > 8


def test_search_finds_a_word_of_the_book(chromium, site_url):
    with Visit(chromium, site_url + "search.html?q=attention") as visit:
        visit.tab.wait_for_selector("#search-results li a")
        assert not visit.problems
