"""What a fresh clone relies on: pins, Binder's files, make's messages, and the rule that drops stale executions."""

import os
import re
import shutil
import subprocess

import drop_stale_cache
import pytest
from local_site import ROOT

PIN = re.compile(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*")


def lines(name):
    text = (ROOT / name).read_text().splitlines()
    return [line for line in text if line and not line.startswith("#")]


def make(*arguments):
    command = ["make", "--no-print-directory", "-C", str(ROOT), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_requirements_are_pinned_and_end_with_the_library():
    *pins, last = lines("requirements.txt")
    assert last == "-e ."
    assert all(PIN.fullmatch(pin) for pin in pins)


def test_development_requirements_build_on_them():
    first, *pins = lines("requirements-dev.txt")
    assert first == "-r requirements.txt"
    assert all(PIN.fullmatch(pin) for pin in pins)


def test_binder_reads_the_files_at_the_root():
    assert lines("runtime.txt") == ["python-3.11"]
    assert not (ROOT / ".binder").exists()
    assert not (ROOT / "binder").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_refuses_an_old_python_and_says_what_to_do(tmp_path):
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\nexit 1\n')
    old.chmod(0o755)
    result = make("install", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert result.returncode != 0
    assert "Python 3.11 or newer is needed" in result.stdout
    assert "Python 3.9.2" in result.stdout
    assert not (tmp_path / "venv").exists()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the rule's inputs in an empty place, with one library file and one execution cache."""
    (tmp_path / "attsvm_lib").mkdir()
    (tmp_path / "attsvm_lib" / "data.py").write_text("x = 1\n")
    build = tmp_path / "_build"
    stale = (build / ".jupyter_cache", build / ".doctrees")
    monkeypatch.setattr(drop_stale_cache, "ROOT", tmp_path)
    monkeypatch.setattr(drop_stale_cache, "BUILD", build)
    monkeypatch.setattr(drop_stale_cache, "STAMP", build / ".library_digest")
    monkeypatch.setattr(drop_stale_cache, "STALE", stale)
    drop_stale_cache.main()
    for folder in stale:
        folder.mkdir()
    return tmp_path


def test_an_unchanged_library_keeps_the_execution_cache(project):
    (project / "attsvm_lib" / "__pycache__").mkdir()
    (project / "attsvm_lib" / "__pycache__" / "data.pyc").write_text("")
    drop_stale_cache.main()
    assert all(folder.exists() for folder in drop_stale_cache.STALE)


@pytest.mark.parametrize("change", ["edit", "add", "delete", "pins"])
def test_a_changed_library_drops_the_execution_cache(project, change):
    if change == "edit":
        (project / "attsvm_lib" / "data.py").write_text("x = 2\n")
    elif change == "add":
        (project / "attsvm_lib" / "viewer.js").write_text("")
    elif change == "delete":
        (project / "attsvm_lib" / "data.py").unlink()
    else:
        (project / "requirements.txt").write_text("numpy==2.0.0\n")
    drop_stale_cache.main()
    assert not any(folder.exists() for folder in drop_stale_cache.STALE)
