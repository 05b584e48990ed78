"""The built book: skipped when it has not been built, except in CI."""

import os

import page_weight
import pytest
import yaml
from local_site import HTML, ROOT, serve

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())


def toc_pages():
    """Names of the pages listed in _toc.yml, without suffix, in reading order."""
    chapters = [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
    return [TOC["root"], *chapters]


PAGES = [f"{name}.html" for name in toc_pages()]
WEIGHTS = pytest.StashKey()
EXTRA_PAGES = ["index.html", "genindex.html", "search.html"]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", PAGES)
    if "any_page" in metafunc.fixturenames:
        metafunc.parametrize("any_page", PAGES + EXTRA_PAGES)


@pytest.fixture(scope="session")
def html():
    """Path of the built book."""
    if not (HTML / "index.html").is_file():
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail("the book has not been built")
        pytest.skip("the book has not been built: run `make book`")
    return HTML


@pytest.fixture(scope="session")
def site_url(html):
    """The built book on localhost, below a path, as a project site would serve it."""
    with serve(html, "/some/path/") as base:
        yield base


def pytest_terminal_summary(terminalreporter, config):
    """Page weights are reported, not only tested."""
    weights = config.stash.get(WEIGHTS, None)
    if weights:
        terminalreporter.section("first visit to a page, everything it loads, gzip")
        terminalreporter.write_line(page_weight.summary(weights))
