"""The book's own Jupyter in the browser: a chapter of each part runs from top to bottom, and an explorable answers."""

import os

import browser_jupyter
import page_python
import pyodide_files
import pytest
from local_site import serve
from notebook_in_jupyter import check_first_explorable, errors, printed, run_all
from python_in_pages import answer_from_files

CHAPTERS = [("token_selection", "lab", 1280), ("particles", "notebooks", 360)]  # the view on a narrow screen
HOST = page_python.PYODIDE


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


@pytest.mark.parametrize(("chapter", "view", "width"), CHAPTERS)
def test_a_chapter_runs_from_top_to_bottom(chromium, lite_url, chapter, view, width):
    context = chromium.new_context(viewport={"width": width, "height": 1000})
    context.route(HOST + "**", answer_from_files)
    tab, asked = context.new_page(), []
    tab.on("request", lambda r: asked.append(r.url))
    tab.goto(f"{lite_url}{view}/index.html?path=book/{chapter}.ipynb")
    cells = run_all(tab, f"book/{chapter}.ipynb")
    assert not errors(cells)
    needed = any("cvxpy" in c["source"] for c in cells[1:])  # the first one is the browser's own
    assert ("needs cvxpy" in printed(cells)) == needed
    check_first_explorable(tab)
    assert all(url.startswith(("http://127.0.0.1", HOST, "data:", "blob:")) for url in asked)
    context.close()
