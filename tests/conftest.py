"""Fixtures shared by every test that needs a real browser."""

import os
import shutil

import pytest

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """Path of an installed Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, BROWSER_NAMES)), None)


@pytest.fixture(scope="session")
def chromium():
    """A running Chromium (Playwright `Browser`); a missing one skips on a laptop and fails where CI=true."""
    executable = find_browser()
    if executable is None:
        reason = f"no browser found: none of {', '.join(BROWSER_NAMES)} is on the PATH"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason + ", and CI=true makes that a failure")
        pytest.skip(reason + "; install one (Debian: apt-get install chromium) to run the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
