"""Python in the page: the library itself answers there, and what goes wrong is said, while stored values go on working.

The public host's answers come from local files (`make pyodide`); nothing else leaves this machine.
"""

import io
import os
import zipfile
from urllib.parse import urlsplit

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

    def __init__(self, browser, url, faults=None, width=1280):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
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

    def note(self, k=0):
        """Why Python does not run, as it is said below the button."""
        return self.roots.nth(k).locator(".ex-python-note").text_content()

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
GO_ON = "The stored values go on working."
UNLOADED = (
    "Python could not be loaded: the network or the address {} cannot be reached, or a file arrived broken. " + GO_ON
)
FAULTS = [
    ({"pyodide.mjs": "down"}, "Failed to fetch dynamically imported module"),
    ({"numpy-": "missing"}, "numpy"),
    ({"numpy-": "corrupt"}, "numpy"),
]


@pytest.mark.parametrize(("faults", "reason"), FAULTS, ids=["host down", "NumPy missing", "NumPy corrupt"])
def test_a_failed_start_says_why_and_the_stored_values_go_on_working(chromium, site_url, faults, reason):
    with Page(chromium, site_url + FIRST, faults) as opened:
        opened.start(state="off")
        plain, detail = opened.note().split(" (")
        assert plain == UNLOADED.format(urlsplit(page_python.PYODIDE).netloc)
        assert reason in detail
        assert opened.roots.nth(0).locator(BUTTON).is_visible()
        assert opened.roots.nth(0).evaluate("root => root.exState().source") == "grid"


def test_on_a_phone_the_reason_stands_right_below_the_button_and_goes_with_the_next_start(chromium, site_url):
    with Page(chromium, site_url + FIRST, {"pyodide.mjs": "down"}, width=360) as opened:
        opened.start(state="off")
        button = opened.roots.nth(0).locator(BUTTON).bounding_box()
        note = opened.roots.nth(0).locator(".ex-python-note")
        below = note.bounding_box()
        assert 0 <= below["y"] - (button["y"] + button["height"]) < 10
        assert button["y"] >= 0 and below["y"] + below["height"] <= 900
        assert note.get_attribute("role") == "status"
        assert note.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 360
        opened.faults["pyodide.mjs"] = "never"
        opened.start(state="starting")
        assert not opened.note()


@pytest.mark.parametrize("name", ["python.json", "*.whl?v=*", "worker.mjs"])
def test_a_missing_file_of_the_book_is_told_from_the_public_host(chromium, site_url, name):
    with Page(chromium, site_url + FIRST) as opened:
        opened.context.route(f"**/{name}", lambda route: route.fulfill(status=404))
        opened.start(state="off")
        plain, *detail = opened.note().split(" (")
        assert plain == UNLOADED.format(urlsplit(site_url).netloc)
        if name != "worker.mjs":  # of a worker's file the browser says nothing
            assert "HTTP 404" in detail[0]


def test_a_library_that_does_not_start_is_told_from_one_that_does_not_arrive(chromium, html, site_url):
    (wheel,) = (html / "_static" / "python").glob("*.whl")
    with Page(chromium, site_url + FIRST) as opened:
        broken = changed_wheel(wheel, b"def answer(", b"raise RuntimeError('not today')\n\n\ndef answer(")
        opened.context.route("**/*.whl?v=*", lambda route: route.fulfill(body=broken))
        opened.start(state="off")
        plain, detail = opened.note().split(" (", 1)
        assert plain == f"Python could not be started. {GO_ON}"
        assert "not today" in detail


def test_a_page_opened_as_a_file_says_that_it_must_be_served(chromium, html):
    with Page(chromium, (html / FIRST).as_uri()) as opened:
        opened.start(state="off")
        assert opened.note().startswith("Python cannot run in a page that was opened as a file: serve the book")
        assert opened.note().endswith(GO_ON)
        assert not [url for url in opened.foreign() if not url.startswith("file:")]


def test_a_worker_that_dies_is_noticed_and_can_be_started_again(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root, scene = opened.started()
        root.evaluate("root => { root.exPython.silent = 500; root.exPython.worker.terminate(); }")
        choose(root, off_grid(scene))
        opened.wait("off")
        assert opened.note() == f"Python stopped: no answer for a minute. {GO_ON}"
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


def changed_wheel(wheel, old, new):
    """The library's wheel with a line of live.py replaced."""
    changed = io.BytesIO()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            text = source.read(name)
            if name == "attsvm_lib/explore/live.py":
                assert old in text
                text = text.replace(old, new)
            target.writestr(name, text)
    return changed.getvalue()


def wheel_that_needs_scipy(wheel):
    """The library's wheel with `import scipy.special` before each answer."""
    start = b"    scene = function(**parameters)\n"
    return changed_wheel(wheel, start, b"    import scipy.special\n" + start)


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
        assert not opened.note()


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
        assert not opened.note() and not opened.foreign()


def mute(root):
    """Python hears nothing more, so that each request takes long, and is said to from the start."""
    root.evaluate("root => { root.exPython.long = 0; root.exPython.worker.postMessage = () => {}; }")


def test_what_was_stopped_is_not_computed_again(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root, scene = opened.started()
        mute(root)
        choose(root, off_grid(scene))
        opened.wait("busy")
        root.locator(BUTTON).click()
        opened.wait("starting")
        opened.wait("on")
        opened.tab.wait_for_timeout(500)
        assert root.evaluate("root => [root.exState().source, root.exPython.waiting.size]") == ["grid", 0]
        check(opened.ask(off_grid(scene)), scene)


def test_it_can_be_stopped_until_the_last_of_several_answers(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root, scene = opened.started()
        mute(root)
        state = """([root, scene, values]) => {
          const { exPython: python } = root;
          for (let k = 0; k < 2; k++) python.request(scene, values).catch(() => {});
          return new Promise((found) => setTimeout(() => {
            const states = [python.state];
            for (const id of [...python.waiting.keys()]) {
              python.settle({ id, kind: "error", text: "" });
              states.push(python.state);
            }
            found(states);
          }, 100));
        }"""
        values = [root.element_handle(), scene.name, {}]
        assert opened.tab.evaluate(state, values) == ["busy", "busy", "on"]


def test_a_double_click_starts_it(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        opened.roots.nth(0).locator(BUTTON).evaluate(
            "e => [1, 2].forEach((detail) => e.dispatchEvent(new MouseEvent('click', { detail })))"
        )
        opened.wait("on")


def test_the_keys_stay_in_the_explorable_when_its_button_goes(chromium, site_url):
    with Page(chromium, site_url + FIRST) as opened:
        root = opened.roots.nth(0)
        root.locator(BUTTON).press("Enter")
        opened.wait("on")
        assert root.evaluate("root => document.activeElement === root.querySelector('.ex-badge')")


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
