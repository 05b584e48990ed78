"""Python in the page: the library itself answers there, and what goes wrong is said, while stored values go on working.

The public host's answers come from local files (`make pyodide`); nothing else leaves this machine.
"""

import io
import os
import zipfile

import page_python
import pyodide_files
import pytest
from driving import READY
from python_in_pages import answer, answer_from_files, check, choose, off_grid
from site_pages import PAGES

from attsvm_lib import scenes

CDN = page_python.PYODIDE + "**"
START = 180_000  # ms; about 7 s on an idle machine
BUTTON = ".ex-python"


@pytest.fixture(scope="module", autouse=True)
def pyodide():
    if not pyodide_files.complete():
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail("Pyodide's files are missing: run `make pyodide`")
        pytest.skip("Pyodide's files are missing: run `make pyodide` for the tests of Python in the page")


class Page:
    """A page of the book whose requests to Pyodide's host are answered from local files, or as a test says."""

    def __init__(self, browser, url, faults=None):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        self.asked, self.faults = [], faults or {}
        self.context.route(CDN, self._answer)
        self.tab = self.context.new_page()
        self.tab.on("request", lambda r: self.asked.append(r.url))
        self.tab.goto(url)
        self.tab.wait_for_function(READY.format(1))
        self.roots = self.tab.locator(".ex-root")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def _answer(self, route):
        fault = next((self.faults[part] for part in self.faults if part in route.request.url), None)
        return answer_from_files(route, fault)

    def foreign(self):
        return [url for url in self.asked if not url.startswith(("http://127.0.0.1", "data:", "blob:"))]

    def start(self, k=0, state="on"):
        self.roots.nth(k).locator(BUTTON).click()
        self.wait(state, k)

    def wait(self, state, k=0):
        root = self.roots.nth(k).element_handle()
        self.tab.wait_for_function("([r, s]) => r.dataset.python === s", arg=[root, state], timeout=START)

    def message(self, k=0):
        return self.roots.nth(k).locator(".ex-message").text_content()

    def ask(self, values, k=0):
        """Set parameters to values off the grid and wait for Python's answer; the state then."""
        choose(self.roots.nth(k), values)
        return answer(self.roots.nth(k), START)

    def started(self):
        """Starts Python; the first explorable's root and its scene."""
        self.start()
        root = self.roots.nth(0)
        return root, scenes.get(root.get_attribute("data-scene"))


def test_every_explorable_answers_in_the_page_as_the_library_does(chromium, html, site_url, page):
    if "widget-view+json" not in (html / page).read_text(encoding="utf-8"):
        pytest.skip("no explorables on this page")
    with Page(chromium, site_url + page) as opened:
        assert not opened.foreign()
        opened.start()
        for k in range(opened.roots.count()):
            opened.wait("on", k)
            scene = scenes.get(opened.roots.nth(k).get_attribute("data-scene"))
            values = off_grid(scene)
            if values:
                check(opened.ask(values, k), scene)
        assert all(url.startswith(page_python.PYODIDE) for url in opened.foreign())


FIRST = next((page for page in PAGES if "token_selection" in page), PAGES[0])
FAULTS = [
    ({"pyodide.mjs": "down"}, "Failed to fetch dynamically imported module"),
    ({"numpy-": "missing"}, "numpy"),
    ({"numpy-": "corrupt"}, "numpy"),
]


@pytest.mark.parametrize(("faults", "reason"), FAULTS, ids=["host down", "NumPy missing", "NumPy corrupt"])
def test_a_failed_start_says_why_and_the_stored_values_go_on_working(chromium, site_url, faults, reason):
    with Page(chromium, site_url + FIRST, faults) as opened:
        opened.start(state="off")
        assert opened.message().startswith("Python does not run: ")
        assert reason in opened.message()
        assert opened.message().endswith("The stored values go on working.")
        assert opened.roots.nth(0).locator(BUTTON).is_visible()
        assert opened.roots.nth(0).evaluate("root => root.exState().source") == "grid"


def test_a_missing_wheel_is_named(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        opened.context.route("**/*.whl?v=*", lambda route: route.fulfill(status=404))
        opened.start(state="off")
        assert "attsvm_lib-" in opened.message() and "HTTP 404" in opened.message()


def test_a_page_opened_as_a_file_says_that_it_must_be_served(chromium, html):
    with Page(chromium, (html / FIRST).as_uri()) as opened:
        opened.start(state="off")
        assert "opened as a file" in opened.message()
        assert not [url for url in opened.foreign() if not url.startswith("file:")]


def test_a_worker_that_dies_is_noticed_and_can_be_started_again(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root, scene = opened.started()
        root.evaluate("root => { root.exPython.silent = 500; root.exPython.worker.terminate(); }")
        choose(root, off_grid(scene))
        opened.wait("off")
        assert "no answer" in opened.message()
        root.evaluate("root => { root.exPython.silent = 60000; }")
        opened.start()
        check(opened.ask(off_grid(scene)), scene)


def test_two_explorables_that_ask_at_once_are_both_answered(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        opened.start()
        found = [scenes.get(opened.roots.nth(k).get_attribute("data-scene")) for k in range(opened.roots.count())]
        free = [k for k, scene in enumerate(found) if off_grid(scene)][:2]
        opened.tab.evaluate(
            "all => all.forEach(([k, v]) => { const root = document.querySelectorAll('.ex-root')[k];"
            " Object.entries(v).forEach(([name, x]) => root.exSet(name, x)); })",
            [[k, off_grid(found[k])] for k in free],
        )
        for k in free:
            check(answer(opened.roots.nth(k), START), found[k])


def wheel_that_needs_scipy(wheel):
    """The library's wheel with `import scipy.special` before each answer."""
    changed, live = io.BytesIO(), "attsvm_lib/explore/live.py"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == live:
                start = b"    arguments = function.arguments(**parameters)\n"
                assert start in text
                text = text.replace(start, b"    import scipy.special\n" + start)
            new.writestr(name, text)
    return changed.getvalue()


@pytest.mark.parametrize("fault", [None, "missing"], ids=["there", "missing"])
def test_scipy_is_loaded_when_a_scene_needs_it_and_its_size_is_said(chromium, html, site_url, fault):
    (wheel,) = (html / "_static" / "python").glob("*.whl")
    with Page(chromium, site_url + FIRST, {"scipy-": fault}) as opened:
        opened.context.route("**/*.whl?v=*", lambda route: route.fulfill(body=wheel_that_needs_scipy(wheel)))
        root, scene = opened.started()
        assert not [url for url in opened.asked if "scipy" in url]
        root.evaluate("root => { root.said = []; root.exPython.heard.add((state, text) => root.said.push(text)); }")
        if fault:
            choose(root, off_grid(scene))
            root.locator(".ex-message", has_text="Not computed: scipy could not be loaded").wait_for(timeout=START)
            opened.wait("on")
        else:
            check(opened.ask(off_grid(scene)), scene)
        assert "SciPy, 20 MB" in root.evaluate("root => root.said")


def test_a_start_can_be_canceled(chromium, site_url):
    with Page(chromium, site_url + FIRST, {"numpy-": "never"}) as opened:
        opened.start(state="starting")
        opened.roots.nth(0).locator(BUTTON, has_text="NumPy").wait_for(timeout=START)
        opened.roots.nth(0).locator(BUTTON).click()
        opened.wait("off")
        assert not opened.message()


def test_a_start_that_was_canceled_early_does_not_go_on(chromium, site_url):
    held = []
    with Page(chromium, site_url + FIRST) as opened:
        opened.context.route("**/python.json", lambda route: held.append(route))
        opened.start(state="starting")
        opened.tab.wait_for_timeout(500)
        opened.roots.nth(0).locator(BUTTON).click()
        opened.wait("off")
        held[0].continue_()
        opened.tab.wait_for_timeout(1000)
        assert opened.roots.nth(0).get_attribute("data-python") == "off"
        assert not opened.message() and not opened.foreign()


def test_what_was_stopped_is_not_computed_again(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root, scene = opened.started()
        root.evaluate("root => { root.exPython.long = 0; root.exPython.worker.postMessage = () => {}; }")
        choose(root, off_grid(scene))
        opened.wait("busy")
        root.locator(BUTTON).click()
        opened.wait("starting")
        opened.wait("on")
        opened.tab.wait_for_timeout(500)
        assert root.evaluate("root => [root.exState().source, root.exPython.waiting.size]") == ["grid", 0]
        check(opened.ask(off_grid(scene)), scene)


def test_leaving_the_page_during_the_start_raises_nothing(chromium, site_url):
    problems = []
    with Page(chromium, site_url + FIRST, {"numpy-": "never"}) as opened:
        opened.tab.on("pageerror", lambda error: problems.append(str(error)))
        opened.start(state="starting")
        opened.tab.goto(site_url + "book/notation.html")
        opened.tab.go_back()
        opened.tab.wait_for_function(READY.format(1))
        assert opened.roots.nth(0).get_attribute("data-python") == "off"
    assert not problems
