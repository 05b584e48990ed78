"""The built book: skipped when it has not been built, except in CI."""

import json
import os
import time

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


@pytest.fixture(scope="session")
def weights(chromium, site_url):
    """What a first visit to each page loads; written to _build/page_weight.json and shown after the tests."""
    measured = page_weight.measure(chromium, site_url, PAGES)
    page_weight.write_report(measured)
    return measured


BEGAN = pytest.StashKey()


def pytest_configure(config):
    config.stash[BEGAN] = time.time()


def pytest_terminal_summary(terminalreporter, config):
    report = page_weight.REPORT
    if report.is_file() and report.stat().st_mtime >= config.stash[BEGAN]:  # measured in this run
        terminalreporter.section("first visit to a page, everything it loads, gzip")
        terminalreporter.write_line(page_weight.summary(json.loads(report.read_text())))
        terminalreporter.write_line(page_weight.site_summary())
