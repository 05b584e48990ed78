"""Fixtures that tests of several files share."""

import os

import pytest
from hypothesis import HealthCheck, settings
from local_site import BROWSER_NAMES, find_browser, launch

settings.register_profile("any machine", suppress_health_check=[HealthCheck.too_slow])  # one may be busy
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def chromium():
    """A running Chromium (Playwright `Browser`); a missing one skips on a laptop and fails where CI=true."""
    executable = find_browser()
    if executable is None:
        reason = f"no browser found: none of {', '.join(BROWSER_NAMES)} is on the PATH"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason + ", and CI=true makes that a failure")
        pytest.skip(reason + "; install one (Debian: apt-get install chromium) to run the browser tests")
    with launch(executable) as browser:
        yield browser


@pytest.fixture
def no_window():
    """Draw without a display and close every figure afterwards."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")
