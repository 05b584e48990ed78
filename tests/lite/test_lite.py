"""The book's own Jupyter in the browser: a chapter of each part runs from top to bottom, and an explorable answers."""

import os

import browser_jupyter
import pyodide_files
import pytest
from local_site import serve
from python_in_pages import IDLE, answer_from_files, check, off_grid

from attsvm_lib import scenes

CHAPTERS = ("token_selection", "particles")
HOST = "https://cdn.jsdelivr.net/**"
WHOLE = 900_000  # ms for a chapter; one or two minutes on an idle machine
STATE = """() => {
  const cells = [...jupyterapp.shell.currentWidget.content.model.cells].filter((c) => c.type === "code");
  const outputs = cells.flatMap((c) => c.outputs.toJSON());
  const errors = outputs.filter((o) => o.output_type === "error").map((o) => `${o.ename}: ${o.evalue}`);
  return { errors, done: cells.every((c) => c.executionCount && c.executionState === "idle") };
}"""


@pytest.fixture(scope="module")
def lite_url():
    """The site on localhost, below a path as beside the book; without it or Pyodide's files the tests are skipped."""
    if browser_jupyter.built() and pyodide_files.complete():
        with serve(browser_jupyter.SITE, "/some/path/lite/") as url:
            yield url
        return
    reason = "Jupyter in the browser is not built: run `make pyodide lite`"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_from_top_to_bottom(chromium, lite_url, chapter):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.route(HOST, answer_from_files)
    tab, foreign = context.new_page(), []
    tab.on("request", lambda r: foreign.append(r.url))
    tab.goto(f"{lite_url}lab/index.html?path=book/{chapter}.ipynb")
    tab.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=WHOLE)
    tab.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
    tab.wait_for_function(f"() => {{ const s = ({STATE})(); return s.done || s.errors.length; }}", timeout=WHOLE)
    assert not tab.evaluate(STATE)["errors"]
    tab.evaluate("() => jupyterapp.shell.currentWidget.content.scrollToItem(0)")
    root = tab.locator(".ex-root[data-live=true]").first
    root.wait_for(timeout=60_000)
    scene = scenes.get(root.get_attribute("data-scene"))
    root.evaluate("(root, all) => Object.entries(all).forEach(([n, v]) => root.exSet(n, v))", off_grid(scene))
    tab.wait_for_function(IDLE, arg=root.element_handle(), timeout=WHOLE)
    check(root.evaluate("root => root.exState()"), scene)
    assert all(url.startswith(("http://127.0.0.1", HOST[:-2], "data:", "blob:")) for url in foreign)
    context.close()
