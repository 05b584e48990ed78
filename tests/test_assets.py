"""The vendored MathJax is the published one, complete, and no folder makes scripts load on every page."""

import hashlib

import pytest
from local_site import ROOT

MATHJAX = ROOT / "_assets" / "mathjax"
LISTED = dict(reversed(line.split("  ")) for line in (MATHJAX / "SHA256SUMS").read_text().splitlines())
OURS = {"README.md", "SHA256SUMS"}


@pytest.mark.parametrize("name", LISTED)
def test_a_vendored_file_has_its_recorded_checksum(name):
    assert hashlib.sha256((MATHJAX / name).read_bytes()).hexdigest() == LISTED[name]


def test_every_vendored_file_is_listed():
    present = {path.relative_to(MATHJAX).as_posix() for path in MATHJAX.rglob("*") if path.is_file()}
    assert present == set(LISTED) | OURS


def test_script_fonts_and_license_are_there():
    assert {"tex-mml-chtml.js", "LICENSE"} <= set(LISTED)
    assert sum(name.endswith(".woff") for name in LISTED) == 23


def test_no_folder_is_called_static():
    """Jupyter Book loads every script of a folder called _static on every page."""
    assert not (ROOT / "_static").exists()
