"""Without a browser the tests in a page are skipped and say why; in CI the same is an error."""

import os
import subprocess
import sys

import pytest
from local_site import ROOT


@pytest.fixture
def outcome(tmp_path):
    """Runs a one-line browser test where no browser is on the PATH; returns pytest's report."""

    def run(ci):
        (tmp_path / "test_page.py").write_text("def test_page(chromium):\n    pass\n")
        (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
        environment = os.environ | {"PATH": str(tmp_path), "CI": ci, "PYTHONPATH": str(ROOT / "tools")}
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    return run


def test_a_missing_browser_is_a_visible_skip(outcome):
    result = outcome(ci="")
    assert result.returncode == 0, result.stdout
    assert "1 skipped" in result.stdout
    assert "no browser found" in result.stdout


def test_a_missing_browser_is_an_error_in_ci(outcome):
    result = outcome(ci="true")
    assert result.returncode == 1, result.stdout
    assert "no browser found" in result.stdout
    assert "1 error" in result.stdout
