"""The built book: skipped when it has not been built, except in CI."""

import os

import page_weight
import pytest
from local_site import HTML, serve
from site_pages import EXTRA_PAGES, PAGES


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


WEIGHTS = pytest.StashKey()


@pytest.fixture(scope="session")
def weights(chromium, site_url, request):
    """What a first visit to each page loads; written to _build/page_weight.json and shown after the tests."""
    measured = page_weight.measure(chromium, site_url, PAGES)
    page_weight.write_report(measured)
    request.config.stash[WEIGHTS] = measured
    return measured


def pytest_terminal_summary(terminalreporter, config):
    measured = config.stash.get(WEIGHTS, None)
    if measured:
        terminalreporter.section("first visit to a page, everything it loads, gzip")
        terminalreporter.write_line(page_weight.summary(measured))
